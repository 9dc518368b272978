"""The list of policies: the table of contents of what dedupstats can replay.

A new policy is a line here, or an entry point in the group `dedupstats.policies` of another package; either
names a `Definition`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dedupstats.errors import UsageError
from dedupstats.policies.spec import nearest, spec_of

if TYPE_CHECKING:
    from dedupstats.policies.spec import Definition, Spec

POLICIES = {
    "docker-agent": "dedupstats.policies.docker_agent:DOCKER_AGENT",
    "rtk": "dedupstats.policies.rtk:RTK",
    "keep-all": "dedupstats.policies.bounds:KEEP_ALL",
    "ceiling": "dedupstats.policies.bounds:CEILING",
    "exact": "dedupstats.policies.bounds:EXACT",
    "safe": "dedupstats.policies.bounds:SAFE",
}


@cache
def all_policies() -> dict[str, Definition]:
    """Every policy by name, our own first; foreign ones through their entry points."""
    found: dict[str, Definition] = {}
    for name, target in POLICIES.items():
        module, _, variable = target.partition(":")
        found[name] = getattr(import_module(module), variable)
    for point in entry_points(group="dedupstats.policies"):
        found.setdefault(point.name, point.load())
    return found


def chosen(text: str) -> Spec:
    """The policy that a text names: `rtk` (the newest revision), `docker-agent:v2` or `docker-agent/v2`.

    Raises:
        UsageError: There is no such policy or revision.

    Example:
        >>> chosen("docker-agent").label, chosen("rtk/v1").label
        ('docker-agent:v3', 'rtk:v1')
    """
    name, _, revision = text.strip().replace("/", ":").partition(":")
    known = all_policies()
    if name not in known:
        raise UsageError(
            f"no policy is called {name!r}", nearest(name, known) + f"there are: {', '.join(known)}"
        )
    return spec_of(known[name], revision)
