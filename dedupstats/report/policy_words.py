"""What the names of replays mean for people: policies, verdicts, steps (DESIGN.md section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dedupstats.simulate.score import Beside, Step
from dedupstats.simulate.verdicts import Place, Verdict

if TYPE_CHECKING:
    from dedupstats.simulate.variants import Variant

VERDICTS: Final[dict[Verdict, str]] = {
    Verdict.SOUND: "true",
    Verdict.DANGLING: "points at text not visible",
    Verdict.FALSE: "wrong text",
    Verdict.HIDDEN: "hides an effect or failure",
}
PLACES: Final[dict[Place, str]] = {
    Place.IN_SIGHT: "in sight",
    Place.GONE: "gone",
    Place.PARENT: "parent",
    Place.SIBLING: "sibling",
    Place.CHILD: "child",
    Place.OTHER: "other session",
}

BESIDE: Final[dict[Beside, str]] = {
    Beside.OTHER_CALL: "another call printed the earlier copy",
    Beside.TWICE_REMOVED: "the marker points at a marker, the text is in sight elsewhere",
    Beside.CHANGED_BETWEEN: "between the two the call gave other bytes or failed",
    Beside.LATER_DANGLING: "the marker outlives every full copy",
}
"""what is counted beside true elisions"""
UPPER_BOUND: Final = {
    Step.SAME_CALL: "same call, any time (upper bound)",
    Step.BYTES_IN_SESSION: "same bytes, same session (upper bound)",
}
"""what each ladder begins with"""
REMOVED: Final = {
    Step.SAME_BYTES: "other bytes came back",
    Step.SAME_SESSION: "in another session",
    Step.IN_SIGHT: "no longer visible",
    Step.REACHED: "engine not asked",
    Step.ELIGIBLE: "not eligible (effect, toolset, error)",
    Step.THRESHOLD: "too small, large, old",
    Step.CAP: "its ledger is full",
    Step.KNOWN: "not in its ledger",
    Step.SOUND: "not true",
}
"""what each later step takes away"""
UNRULED: Final = "true by no repeat rule"
"""elisions of what repeat rules leave out: stubs that the host wrote, texts that it spilled"""
MARKERS: Final = "markers paid: saved"

PRESETS: Final = {
    "host": "as its host runs it",
    "documented": "as documented",
    "no handler": "no compaction handler",
}
FORGETS: Final = {
    ("docker-agent", "host"): "the ledger is dropped at each turn",
    ("docker-agent", "documented"): "dropped at compaction and session end",
}
"""when an engine of several presets forgets, by policy and preset"""

FORGETS_AND_LONG_NAMES: Final = "forgets at compactions; long tool names"
UNISOLATED: Final = {
    FORGETS_AND_LONG_NAMES: (
        "the ledger is dropped at compactions and starts; nothing is elided that is shorter than its marker, "
        "where a tool's name of 32 bytes or more makes that longer than 256 bytes"
    )
}
"""what the changes are, in full, that no parameter tells apart"""

_NAMES: Final = {"docker-agent": "docker-agent", "rtk": "RTK dedup"}
_REFERENCES: Final = {
    "safe": "safe (upper bound: only reads)",
    "exact": "exact (upper bound: any visible)",
    "ceiling": "ceiling (same call, whatever came back)",
    "keep-all": "keep-all (elides nothing)",
}
_LEDGERS: Final = {"session": "one ledger a session", "context": "one ledger a context"}


def engine(policy: str, revision: str) -> str:
    """The name of an engine.

    Example:
        >>> engine("rtk", "v2")
        'RTK dedup v2'
    """
    return f"{_NAMES.get(policy, policy)} {revision}".rstrip()


def described(variant: Variant, *, is_what_if: bool = False) -> str:
    """A variant in words; of a what-if, only what it is to show.

    Example:
        >>> from dedupstats.simulate.variants import variants
        >>> [described(variant) for variant in variants(["docker-agent:v1", "rtk", "safe"])]
        ... # doctest: +NORMALIZE_WHITESPACE
        ['docker-agent v1, as its host runs it', 'docker-agent v1, as documented',
         'RTK dedup v2, shell results only', 'RTK dedup v2, no compaction handler',
         'safe (upper bound: only reads)']
    """
    spec = variant.spec
    name = spec.definition.name
    if not spec.revision:
        return _REFERENCES.get(name, name)
    called = engine(name, spec.revision)
    tools = spec.settings.get("tools")
    if is_what_if:
        return f"{called}, {'all tools' if tools == 'all' else _LEDGERS[spec.settings['ledger']]}"
    said = PRESETS.get(variant.preset, variant.preset)
    if not said and tools == "hook":
        said = "shell results only"
    return f"{called}, {said}" if said else called
