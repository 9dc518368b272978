"""Every file is claimed by the source that it is of, and by no other; other agents' logs are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import docker_agent, rtk
from support.claude import Transcript
from support.snapshot import duplicates, unbalanced

from dedupstats import import_paths, open_store
from dedupstats.errors import UnreadableUnitError
from dedupstats.sources import SOURCES, all_sources
from dedupstats.sources.probe import BOM, WAL_SUFFIX, Probe

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "sample_data"
CORPUS = ROOT.parent / "shared" / "corpus"
FOLDERS = {"claude_code": "claude_code", "docker-agent": "docker_agent", "rtk": "rtk"}
"""folders of the corpus that hold logs of sources that we have"""
NO_LOGS = {".md", ".tsv", ".py", ".pyc"}

OTHERS = {
    "codex": '{"timestamp":"2026-03-01T09:00:00Z","type":"session_meta","payload":{"id":"a","cwd":"/w"}}\n'
    '{"timestamp":"2026-03-01T09:00:01Z","type":"response_item","payload":{"type":"message","role":"user"}}\n',
    "gemini": '{"sessionId":"a","projectHash":"b","messages":[{"id":"1","type":"user","content":"hi"}]}',
    "qwen": '{"uuid":"u1","parentUuid":null,"sessionId":"a","type":"user","cwd":"/w","version":"0.1",'
    '"timestamp":"2026-03-01T09:00:00Z","message":{"role":"user","parts":[{"text":"hi"}]}}\n',
    "pi": '{"type":"session","id":"a","timestamp":"2026-03-01T09:00:00Z","cwd":"/w"}\n'
    '{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hi"}}\n',
    "chat": '[{"role":"user","content":"hi"},{"role":"tool","tool_call_id":"t1","content":"abc"}]',
    "trajectory": '{"id":"a","messages":[{"role":"user","content":"hi"}]}',
    "prompts": '{"display":"fix it","timestamp":1,"project":"/home/u/p"}\n',
    "statistics": '{"version":1,"dailyActivity":[],"sessionId":"a"}',
    "empty": "",
    "text": "user: hi\n",
    "numbers": "1\n2\n",
}
"""Logs of others in a line or two, made up after their formats."""


def claims(path: Path) -> list[str]:
    """Names of all sources that claim a file."""
    with Probe(str(path), path.stat().st_size) as probe:
        return [source.name for source in all_sources() if source.claim(probe) is not None]


def files_in(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in NO_LOGS and not path.name.endswith(WAL_SUFFIX)
    )


def samples() -> list[tuple[str, Path]]:
    return [(source, path) for source in SOURCES for path in files_in(SAMPLES / source)]


@pytest.mark.parametrize(("source", "path"), samples(), ids=lambda value: getattr(value, "name", value))
def test_a_sample_is_claimed_by_its_own_source_alone(source: str, path: Path) -> None:
    assert claims(path) == [source]


@pytest.mark.parametrize("name", OTHERS)
def test_logs_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    for suffix in (".jsonl", ".json"):
        path = tmp_path / f"x{suffix}"
        path.write_text(OTHERS[name])
        assert claims(path) == []


@pytest.mark.parametrize("suffix", ["", ".txt", ".jsonl", ".json", ".db", ".bak"])
def test_content_counts_not_the_name(tmp_path: Path, suffix: str) -> None:
    transcript = Transcript()
    transcript.read("t1", "a", "abc")
    made = {
        "claude_code": transcript.write(tmp_path / f"t{suffix}"),
        "docker_agent": docker_agent.database(tmp_path / f"d{suffix}", 38, docker_agent.session("d", [])),
        "rtk": rtk.write_history(tmp_path / f"r{suffix}"),
    }
    exported = docker_agent.export(
        tmp_path / f"e{suffix}", docker_agent.session("d", docker_agent.read("c", "a", "x", 1))
    )
    assert {source: claims(path) for source, path in made.items()} == {source: [source] for source in made}
    assert claims(exported) == ["docker_agent"]


def test_a_byte_order_mark_hides_nothing(tmp_path: Path) -> None:
    transcript = Transcript()
    transcript.read("t1", "a", "abc")
    path = transcript.write(tmp_path / "s1.jsonl")
    path.write_bytes(BOM + path.read_bytes())
    exported = docker_agent.export(
        tmp_path / "e.json", docker_agent.session("d", docker_agent.read("c", "a", "x", 1))
    )
    exported.write_bytes(BOM + exported.read_bytes())
    assert (claims(path), claims(exported)) == (["claude_code"], ["docker_agent"])


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no corpus in {CORPUS}")
def test_every_file_of_the_corpus() -> None:
    wrong, damaged, unclaimed = [], [], []
    for path in (path for folder in sorted(CORPUS.iterdir()) if folder.is_dir() for path in files_in(folder)):
        folder = path.relative_to(CORPUS).parts[0]
        is_log = folder in FOLDERS and path.suffix in {".jsonl", ".json", ".db"} and path.stat().st_size
        expected = [FOLDERS[folder]] if is_log else []
        try:
            found = claims(path)
        except UnreadableUnitError:
            damaged.append(path.name)
            continue
        if not found and expected:
            unclaimed.append(path.name)
        elif found != expected:
            wrong.append((str(path), found))
    assert wrong == []
    assert damaged == ["corrupt-truncated.db"]
    # its first bytes, by which a database is known, are broken
    assert unclaimed == ["corrupt-header.db"]


@pytest.mark.parametrize("folder", [SAMPLES, CORPUS], ids=["samples", "corpus"])
def test_keys_are_unique_and_records_add_up(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    with open_store(":memory:") as store:
        for _ in range(2):
            summary = import_paths(store, [folder], force=True)
            assert duplicates(store) == {}
            assert unbalanced(store) == []
            assert summary.records == summary.used + summary.copies + summary.ignored + summary.skipped
            assert store.query(
                "select sum(records), sum(used), sum(copies), sum(ignored), sum(skipped) from file"
            ) == [(summary.records, summary.used, summary.copies, summary.ignored, summary.skipped)]
