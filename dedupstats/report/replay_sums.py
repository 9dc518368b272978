"""What outputs of replays share: sums and orders of elisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupstats.report.text import short_paths
from dedupstats.simulate.score import NOTHING, total
from dedupstats.simulate.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupstats.analytics.replays import Replays
    from dedupstats.simulate.score import Group, Tally
    from dedupstats.simulate.variants import Variant


def claimed(group: Group) -> Tally:
    """All elisions of a group: what the policy itself would claim."""
    return total(group.values())


def untrue(group: Group) -> Tally:
    """Those that are not sound."""
    return total(tally for verdict, tally in group.items() if verdict is not Verdict.SOUND)


def cap(variant: Variant) -> int | None:
    """The most entries that a ledger of the policy can have; None without a limit."""
    name = variant.spec.definition.capped_by
    return variant.spec.settings.get(name) if name else None


def most_first(reasons: dict[str, int]) -> list[tuple[str, int]]:
    """Reasons with their results, most first."""
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def largest_first(groups: Mapping[Any, Group]) -> list[tuple[Any, Group]]:
    """Names with their elisions, those that save most first."""
    return sorted(
        groups.items(),
        key=lambda pair: (-pair[1].get(Verdict.SOUND, NOTHING).net_tokens, -claimed(pair[1]).tokens, pair[0]),
    )


def short_sessions(found: Replays) -> dict[int, tuple[str, str | None]]:
    """Id and project of each session by key; projects with the last part of their path, or more."""
    short = short_paths(named.project for named in found.sessions.values() if named.project)
    return {
        key: (named.session_id, named.project and short[named.project])
        for key, named in found.sessions.items()
    }
