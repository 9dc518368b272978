"""What a run replays: policies with their settings, each in every preset that outputs show.

A policy is written `docker-agent`, `docker-agent:v1`, or with settings of its own
`docker-agent:v1,min_bytes=512`, so that one policy can stand beside itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupstats.errors import UsageError
from dedupstats.policies import all_policies, chosen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupstats.policies.spec import Spec


@dataclass(frozen=True, slots=True)
class Variant:
    """One policy of a run: a row of its tables."""

    spec: Spec
    preset: str
    """name of the preset; empty for a policy that has none, or as it is"""
    is_headline: bool
    """the first preset of its policy"""
    is_probe: bool = False
    """replayed for a comparison alone: what it would do if unknown tools only read is not asked"""

    @property
    def label(self) -> str:
        """As tables show it: `docker-agent:v2 (host)`, with the settings that are not the preset's."""
        changed = self._changed()
        name = ",".join([self.spec.label, *changed])
        return f"{name} ({self.preset})" if self.preset else name

    @property
    def settings(self) -> str:
        """Every parameter's value as JSON with sorted keys."""
        return json.dumps(dict(self.spec.settings), sort_keys=True, default=sorted)

    def _changed(self) -> list[str]:
        spec = self.spec
        usual = chosen(spec.label).settings
        for preset in spec.definition.presets:
            if preset.name == self.preset:
                usual = {**usual, **preset.settings}
        return [
            f"{name}={_shown(value)}" for name, value in sorted(spec.settings.items()) if value != usual[name]
        ]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def variants(policies: Sequence[str] = (), assignments: Iterable[str] = ()) -> list[Variant]:
    """The variants of a run, in the order given; without policies every one that is shipped.

    Args:
        policies: As typed after `--policy`: `rtk`, `docker-agent:v1`, `docker-agent:v1,min_bytes=512`.
        assignments: As typed after `--set`: `min_bytes=512` for every policy of the run that has the
            parameter, `rtk.min_tokens=50` or `rtk:v2.min_tokens=50` for one. What is set goes before what a
            preset says; presets that then agree are one.

    Raises:
        UsageError: No such policy, revision or parameter, a value out of range, or an assignment that no
            policy of the run takes.

    Example:
        >>> [variant.label for variant in variants(["docker-agent", "safe"], ["min_bytes=512"])]
        ['docker-agent:v3,min_bytes=512 (host)', 'docker-agent:v3,min_bytes=512 (documented)', 'safe']
    """
    texts = list(policies) or [
        f"{name}:{revision}" if revision else name
        for name, definition in all_policies().items()
        for revision in (definition.revisions or ("",))
    ]
    wanted = [_Assignment.read(text) for text in assignments]
    found: dict[tuple[str, str], Variant] = {}
    for text in texts:
        name, *own = text.split(",")
        spec = chosen(name)
        typed = [assignment.text for assignment in wanted if assignment.take(spec)] + own
        is_headline = True
        for preset in spec.definition.presets:
            if not preset.settings.keys() <= spec.settings.keys():
                continue
            variant = Variant(spec.using(preset.settings).set(typed), preset.name, is_headline)
            if found.setdefault((spec.label, variant.settings), variant) is variant:
                is_headline = False
    for assignment in wanted:
        if not assignment.taken:
            # the policies' own words for what is wrong: they name near parameters and ranges
            for text in () if assignment.policy else texts:
                chosen(text.split(",")[0]).set([assignment.text])
            raise UsageError(
                f"--set {assignment.given}: the run has no such policy", f"it has: {', '.join(texts)}"
            )
    return list(found.values())


@dataclass(slots=True)
class _Assignment:
    """A `--set` and whether a policy took it."""

    given: str
    policy: str
    """`rtk` or `rtk:v2`; empty: every policy that has the parameter"""
    text: str
    taken: bool = False

    @classmethod
    def read(cls, given: str) -> _Assignment:
        key, equals, value = given.partition("=")
        policy, dot, name = key.rpartition(".")
        if policy:
            # an unknown policy is named as such
            chosen(policy)
        return cls(given, policy.strip().replace("/", ":"), f"{name if dot else key}{equals}{value}")

    def take(self, spec: Spec) -> bool:
        """Whether a policy is meant; one that is named must have the parameter."""
        if self.policy:
            if self.policy not in {spec.label, spec.definition.name}:
                return False
        elif self.text.partition("=")[0].strip() not in spec.settings:
            return False
        self.taken = True
        return True
