"""Which variants a run has, and what they are called."""

from __future__ import annotations

import json

import pytest

from dedupstats.errors import UsageError
from dedupstats.policies import all_policies
from dedupstats.simulate.variants import variants


def labels(policies: list[str], *assignments: str) -> list[str]:
    return [variant.label for variant in variants(policies, assignments)]


def test_without_policies_every_revision_of_every_one() -> None:
    found = variants()
    assert {variant.spec.definition.name for variant in found} == set(all_policies())
    assert [variant.label for variant in found][:2] == [
        "docker-agent:v1 (host)",
        "docker-agent:v1 (documented)",
    ]
    headlines = [variant.spec.label for variant in found if variant.is_headline]
    assert len(headlines) == len(set(headlines)) == len({variant.spec.label for variant in found})


def test_presets_are_settings() -> None:
    host, documented = variants(["docker-agent:v2"])
    assert (host.spec.settings["wiring"], host.spec.settings["errors"]) == ("runtime", "host")
    assert (documented.spec.settings["wiring"], documented.spec.settings["errors"]) == (
        "session",
        "documented",
    )
    assert json.loads(host.settings)["wiring"] == "runtime"


@pytest.mark.parametrize(
    ("policies", "assignments", "expected"),
    [
        # a revision without the parameter of a preset has no such preset
        (["rtk:v1"], [], ["rtk:v1"]),
        (["rtk"], [], ["rtk:v2", "rtk:v2 (no handler)"]),
        # presets that a setting makes equal are one
        (["rtk"], ["compaction_handler=true"], ["rtk:v2"]),
        (["rtk"], ["tools=all"], ["rtk:v2,tools=all", "rtk:v2,tools=all (no handler)"]),
        (["safe", "safe"], [], ["safe"]),
        (["rtk:v1", "rtk:v1,min_tokens=50"], [], ["rtk:v1", "rtk:v1,min_tokens=50"]),
        # what is written at the policy goes before --set
        (["rtk:v1,min_tokens=50"], ["min_tokens=60"], ["rtk:v1,min_tokens=50"]),
        (
            ["rtk:v1", "rtk/v2"],
            ["rtk:v1.min_tokens=9"],
            ["rtk:v1,min_tokens=9", "rtk:v2", "rtk:v2 (no handler)"],
        ),
        (["rtk:v1", "safe"], ["min_tokens=9"], ["rtk:v1,min_tokens=9", "safe"]),
        # the value that it has anyway changes no name
        (["rtk:v1"], ["min_tokens=200"], ["rtk:v1"]),
    ],
)
def test_settings(policies: list[str], assignments: list[str], expected: list[str]) -> None:
    assert labels(policies, *assignments) == expected


@pytest.mark.parametrize(
    ("policies", "assignment", "message", "hint"),
    [
        (["docker-agnet"], "", "no policy is called 'docker-agnet'", "did you mean docker-agent?"),
        (["docker-agent:v9"], "", "no revision 'v9'", "v1, v2, v3"),
        (["rtk"], "min_token=5", "no parameter 'min_token'", "did you mean min_tokens"),
        (["rtk"], "min_tokens=-5", "min_tokens cannot be '-5'", "whole numbers from 0"),
        (["rtk"], "tools=some", "tools cannot be 'some'", "hook, all"),
        (["rtk"], "docker-agent.min_bytes=5", "the run has no such policy", "it has: rtk"),
        (["rtk"], "rkt.min_tokens=5", "no policy is called 'rkt'", "did you mean rtk?"),
        (["rtk"], "min_tokens", "key=value", "it has:"),
    ],
)
def test_what_makes_no_sense(policies: list[str], assignment: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        variants(policies, [assignment] if assignment else [])
    assert message in caught.value.message
    assert hint in caught.value.hint
