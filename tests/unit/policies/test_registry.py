"""Choosing a policy and its settings, and what is said when that fails."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

import dedupstats.policies
from dedupstats.errors import UsageError
from dedupstats.policies import POLICIES, all_policies, chosen
from dedupstats.policies.bounds import KEEP_ALL


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("docker-agent", "docker-agent:v3"),
        ("docker-agent:v2", "docker-agent:v2"),
        ("docker-agent/v1", "docker-agent:v1"),
        ("rtk", "rtk:v2"),
        (" ceiling ", "ceiling"),
    ],
)
def test_names(text: str, label: str) -> None:
    assert chosen(text).label == label


@pytest.mark.parametrize(
    ("name", "assignments", "message", "hint"),
    [
        (
            "docker_agent",
            [],
            "no policy is called 'docker_agent'",
            "did you mean docker-agent? there are: docker-agent, rtk",
        ),
        ("zzz", [], "no policy is called 'zzz'", "there are: docker-agent, rtk"),
        ("", [], "no policy is called ''", "there are:"),
        ("rtk:v3", [], "rtk has no revision 'v3'", "its revisions: v1, v2"),
        ("safe:v1", [], "safe has no revision 'v1'", "its revisions: none"),
        ("rtk", ["min_token=1"], "rtk:v2 has no parameter 'min_token'", "did you mean min_tokens"),
        (
            "rtk:v1",
            ["recency_window=1"],
            "rtk:v1 has no parameter recency_window",
            "it has: enabled, min_tokens",
        ),
        ("safe", ["x=1"], "safe has no parameter 'x'", "it has none"),
        ("rtk", ["min_tokens"], "--set wants key=value, not 'min_tokens'", "it has: enabled"),
        ("rtk", ["min_tokens=-1"], "min_tokens cannot be '-1'", "its range is whole numbers from 0"),
        ("rtk", ["min_tokens=2.5"], "min_tokens cannot be '2.5'", "its range is whole numbers from 0"),
        ("rtk", ["min_tokens=" + "9" * 5_000], "min_tokens cannot be", "its range is whole numbers from 0"),
        ("rtk", ["enabled=maybe"], "enabled cannot be 'maybe'", "its range is true, false"),
        (
            "docker-agent",
            ["max_sessions=0"],
            "max_sessions cannot be '0'",
            "its range is whole numbers from 1",
        ),
        ("docker-agent", ["wiring=no"], "wiring cannot be 'no'", "its range is transform, session, runtime"),
    ],
)
def test_what_is_wrong_is_named(name: str, assignments: list[str], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen(name).set(assignments)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_settings_as_typed() -> None:
    spec = chosen("docker-agent:v2").set(
        ["min_bytes=51_200", "wiring = runtime", "categories=git,lsp", "min_bytes=1"]
    )
    assert spec.settings == {
        **chosen("docker-agent:v2").settings,
        "min_bytes": 1,
        "wiring": "runtime",
        "categories": frozenset({"git", "lsp"}),
    }
    assert chosen("rtk").set(["enabled=False"]).settings["enabled"] is False


def test_settings_as_recorded() -> None:
    """A parameter of another revision is ignored, as the original does; one of none is an error."""
    assert chosen("rtk:v1").using({"recency_window": 5}).settings == chosen("rtk:v1").settings
    assert chosen("rtk:v2").using({"recency_window": 5}).settings["recency_window"] == 5
    with pytest.raises(UsageError, match="no parameter 'window'"):
        chosen("rtk:v1").using({"window": 5})


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("rtk", {"min_tokens": True}),
        ("rtk", {"min_tokens": "5"}),
        ("rtk", {"min_tokens": 5.0}),
        ("rtk", {"enabled": 1}),
        ("rtk", {"ledger": None}),
        ("rtk", {"ledger": ["session"]}),
        ("docker-agent", {"categories": "git"}),
        ("docker-agent", {"categories": [1]}),
    ],
)
def test_recorded_settings_have_their_types(name: str, params: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cannot be"):
        chosen(name).using(params)


def test_parameters_are_declared_whole() -> None:
    for name, definition in all_policies().items():
        assert definition.name == name
        for parameter in definition.parameters:
            assert set(parameter.defaults) <= set(definition.revisions), parameter.name
            assert parameter.help
            assert parameter.source, parameter.name
            for default in parameter.defaults.values():
                given = sorted(default) if isinstance(default, frozenset) else default
                assert parameter.value(given) == default


def test_real_defaults() -> None:
    """The thresholds of docker-agent.md 0.1 and rtk.md 1.10."""
    docker = {revision: chosen(f"docker-agent:{revision}").settings for revision in ("v1", "v2", "v3")}
    assert [docker[revision]["min_bytes"] for revision in docker] == [256, 0, 0]
    assert {settings["max_keys"] for settings in docker.values()} == {4_096}
    assert docker["v2"]["max_sessions"] == docker["v3"]["max_sessions"] == 256
    assert "max_sessions" not in docker["v1"]
    assert (docker["v3"]["max_result_bytes"], docker["v3"]["max_result_lines"]) == (51_200, 2_000)
    assert docker["v2"]["categories"] ^ docker["v3"]["categories"] == {"rag", "knowledge"}
    rtk = chosen("rtk").settings
    assert (rtk["min_tokens"], rtk["recency_window"], rtk["idle_hours"]) == (200, 100, 48)


def test_policies_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point brings a policy; it cannot take the name of one of ours."""
    points = [
        EntryPoint("mine", "dedupstats.policies.bounds:KEEP_ALL", "dedupstats.policies"),
        EntryPoint("rtk", "dedupstats.policies.bounds:KEEP_ALL", "dedupstats.policies"),
    ]
    monkeypatch.setattr(
        dedupstats.policies, "entry_points", lambda group: points if "policies" in group else []
    )
    found = all_policies.__wrapped__()
    assert list(found) == [*POLICIES, "mine"]
    assert found["mine"] is KEEP_ALL
    assert found["rtk"] is not KEEP_ALL
