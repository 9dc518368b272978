"""How names are shown: numbers give nothing away and stay the same within a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import docker_agent, rtk

from dedupstats import import_paths
from dedupstats.report.names import Names
from dedupstats.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dedupstats.store import Store

ID = "0123abcd-0000-4000-8000-000000000001"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """RTK's rows of two working directories, the later one first by name."""
    commands = [
        rtk.Command("2026-03-02T09:00:00+00:00", "git log", "rtk git log", 9, 3, project_path="/home/u/a"),
        rtk.Command("2026-03-01T09:00:00+00:00", "./x.sh", "rtk ./x.sh", 9, 3, project_path="/home/u/z"),
    ]
    with open_store(":memory:") as opened:
        import_paths(opened, [rtk.write_history(tmp_path / "history.db", commands=commands)])
        yield opened


def test_numbers_go_by_the_first_time_and_new_names_get_the_next(store: Store) -> None:
    names = Names.of(store, anonymize=True, full_paths=True)
    assert names.mode == "numbered"
    assert names.project("/home/u/a") == "project-2"
    assert names.project("/home/u/z") == "project-1"
    assert names.project("/home/u/new") == "project-3"
    assert names.project("/home/u/a") == "project-2"
    assert names.project("") == names.project(None) == "unknown"
    assert (names.path("/b.jsonl"), names.path("/a.jsonl"), names.path("/b.jsonl")) == (
        "file-1",
        "file-2",
        "file-1",
    )
    assert names.reason(f"answers a call of {ID}") == "answers a call of session-1"
    assert names.session(ID) == "session-1"


def test_reasons_give_nothing_away(store: Store, tmp_path: Path) -> None:
    """Ids that are no UUIDs, known or not, and what is quoted from a log."""
    named = "ticket: 12 of ACME"
    made = docker_agent.session(named, [{"message": {"message": []}}, *docker_agent.read("c", "a", "x", 1)])
    docker_agent.database(tmp_path / "session.db", 10, made)
    import_paths(store, [tmp_path / "session.db"])
    names = Names.of(store, anonymize=True, full_paths=False)
    ((reason,),) = store.query("select reason from skipped")
    assert names.reason(reason) == "session session-1: message is no JSON object"
    assert names.reason("session a: b: not a JSON object") == "session session-2: not a JSON object"
    assert names.reason("session a b cannot be read (x)") == "session session-3 cannot be read (x)"
    assert names.reason("session a") == "session session-4"
    assert names.reason("commands: timestamp is 'ACME', no time") == "commands: timestamp is '…', no time"
    shown = Names.of(store, anonymize=False, full_paths=False)
    assert shown.reason(reason) == reason


def test_filters_are_resolved_before_they_are_named(store: Store) -> None:
    names = Names.of(store, anonymize=True, full_paths=False, projects=("a", "/home/u/a", "nowhere"))
    assert names.filters(("a", "/home/u/a", "nowhere")) == ("project-2", "project-3")
    assert Names.of(store, anonymize=False, full_paths=False).filters(("a",)) == ("a",)


def test_commands_are_named_by_rtks_own_words(store: Store) -> None:
    for options, name in (
        ({"anonymize": False, "full_paths": False}, "rtk (other)"),
        ({"anonymize": True, "full_paths": True}, "rtk (other)"),
        ({"anonymize": False, "full_paths": True}, "rtk ./x.sh"),
    ):
        names = Names.of(store, **options)
        assert (names.rtk("rtk ./x.sh"), names.rtk("rtk git")) == (name, "rtk git")
