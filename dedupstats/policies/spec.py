"""A policy as it is registered, and the choice of one: name, revision, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from dedupstats.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dedupstats.policies.base import Policy, Stage
    from dedupstats.policies.parameters import Parameter

Settings = Mapping[str, Any]
"""a `parameters.Value` for each parameter that the revision has"""


@dataclass(frozen=True, slots=True)
class Preset:
    """A variant of a policy that every output shows: settings that belong together."""

    name: str
    """one or two words behind the policy's name; empty for the policy as it is"""
    settings: Settings
    """those that differ from the defaults; a revision that lacks one of them has no such preset"""


@dataclass(frozen=True, slots=True)
class Definition:
    """A policy as it is registered."""

    name: str
    """`docker-agent`: the word in tables and options"""
    title: str
    """one line: what it is, without a full stop"""
    build: Callable[[str, Settings], Policy]
    """makes a policy object that knows nothing yet, from a revision and its settings"""
    parameters: tuple[Parameter, ...] = ()
    revisions: tuple[str, ...] = ()
    """oldest first; none for what is not somebody's code"""
    presets: tuple[Preset, ...] = (Preset("", {}),)
    """the headline first"""
    keyed_by: Literal["call", "bytes"] = "call"
    """what makes an earlier result a candidate: the same call, or the same bytes of any call; results that
    share neither this nor a cap do not touch each other"""
    says_same_arguments: bool = False
    """the marker claims that the arguments are those of the anchor"""
    capped_by: str = ""
    """name of the parameter that is the most entries of a ledger; empty: there is no such limit"""
    ledgers_capped_by: str = ""
    """name of the parameter that is the most ledgers of a process; empty likewise"""
    reasons: Mapping[str, Stage] = field(default_factory=dict)
    """at which stage each reason shows a result; `repeat` elides and is not listed"""


@dataclass(frozen=True, slots=True)
class Spec:
    """A chosen policy: what a run is made of."""

    definition: Definition
    revision: str
    """empty if the policy has no revisions"""
    settings: Settings

    @property
    def label(self) -> str:
        """The name and revision, as outputs show them: `docker-agent:v2`."""
        return f"{self.definition.name}:{self.revision}" if self.revision else self.definition.name

    def policy(self) -> Policy:
        """A new object, which shares nothing with others of the same spec."""
        return self.definition.build(self.revision, self.settings)

    def set(self, assignments: Iterable[str]) -> Spec:
        """This policy with settings as a person types them.

        Args:
            assignments: `min_bytes=512`; of several for one parameter the last counts.

        Raises:
            UsageError: A parameter that this revision does not have, or a value out of its range.
        """
        settings = dict(self.settings)
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise UsageError(f"--set wants key=value, not {assignment!r}", self._known())
            parameter = self._parameter(name.strip())
            if self.revision not in parameter.defaults:
                raise UsageError(f"{self.label} has no parameter {parameter.name}", self._known())
            settings[parameter.name] = parameter.value(parameter.read(text.strip()))
        return replace(self, settings=settings)

    def using(self, params: Mapping[str, Any]) -> Spec:
        """This policy with settings as recorded decisions hold them.

        A parameter that only another revision has is left out: the original ignores it too.

        Raises:
            UsageError: A parameter that no revision has, or a value out of its range.
        """
        settings = dict(self.settings)
        for name, given in params.items():
            parameter = self._parameter(name)
            value = parameter.value(given)
            if self.revision in parameter.defaults:
                settings[name] = value
        return replace(self, settings=settings)

    def _parameter(self, name: str) -> Parameter:
        for parameter in self.definition.parameters:
            if parameter.name == name:
                return parameter
        raise UsageError(
            f"{self.label} has no parameter {name!r}", nearest(name, self.settings) + self._known()
        )

    def _known(self) -> str:
        return f"it has: {', '.join(self.settings)}" if self.settings else "it has none"


def nearest(word: str, words: Iterable[str]) -> str:
    """A question that names the nearest of some words, or nothing."""
    found = get_close_matches(word, list(words), n=2)
    return f"did you mean {' or '.join(found)}? " if found else ""


def spec_of(definition: Definition, revision: str) -> Spec:
    """A policy with the settings that the real code has; without a revision the newest.

    Raises:
        UsageError: There is no such revision.
    """
    if not revision and definition.revisions:
        revision = definition.revisions[-1]
    elif revision and revision not in definition.revisions:
        listed = ", ".join(definition.revisions) or "none"
        raise UsageError(f"{definition.name} has no revision {revision!r}", f"its revisions: {listed}")
    settings = {
        parameter.name: parameter.defaults[revision]
        for parameter in definition.parameters
        if revision in parameter.defaults
    }
    return Spec(definition, revision, settings)
