"""`dedupstats decide`: what an engine decides on recorded events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.policies.spec import Spec
    from dedupstats.simulate.vectors import Vector


def decide(
    events: Annotated[
        Path,
        typer.Argument(metavar="EVENTS", help="Vectors or bare events, plain or gzip; - is stdin."),
    ],
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The policy for bare events: docker-agent:v2, rtk, ceiling."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of that policy; can be repeated."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare with the recorded decisions; the first difference exits 1."),
    ] = False,
) -> None:
    """What an engine decides on recorded events: one JSON object per result.

    A line is a vector (engine, params, events, expect), which starts empty and names its own engine, or one
    event for the engine of --policy, which sees all lines. Without a revision the newest one decides.
    docs/REFERENCE.md lists policies and parameters; tests/conformance holds recorded vectors.

    Example: dedupstats decide --policy docker-agent:v1 --set min_bytes=512 events.jsonl
    """
    from dedupstats.simulate.vectors import read

    spec = _spec(policy, setting or [])
    vectors = _noted(read(_data(events), "stdin" if str(events) == "-" else str(events), spec), spec)
    if check:
        _check(vectors)
    else:
        for vector in vectors:
            for answer in vector.answers:
                typer.echo(json.dumps(answer))


def _spec(policy: str | None, settings: list[str]) -> Spec | None:
    from dedupstats.errors import UsageError
    from dedupstats.policies import chosen

    if policy is not None:
        return chosen(policy).set(settings)
    if settings:
        raise UsageError("--set needs --policy", "vectors hold their parameters themselves")
    return None


def _data(events: Path) -> bytes:
    from dedupstats.errors import DedupstatsError
    from dedupstats.paths import plain_file
    from dedupstats.simulate.vectors import LONGEST

    try:
        if str(events) == "-":
            return sys.stdin.buffer.read(LONGEST + 1)
        with plain_file(events, "name a file, or - for what is piped in").open("rb") as file:
            return file.read(LONGEST + 1)
    except OSError as error:
        raise DedupstatsError(f"cannot read {events}: {error.strerror}") from None


def _noted(vectors: Iterator[Vector], spec: Spec | None) -> Iterator[Vector]:
    """The vectors; a word on stderr if the policy that was given decides nothing."""
    is_unused = spec is not None
    for vector in vectors:
        if is_unused and not vector.is_bare:
            is_unused = False
            typer.echo(
                "vectors name their own engine and parameters: --policy and --set are not used", err=True
            )
        yield vector


def _check(vectors: Iterator[Vector]) -> None:
    from dedupstats.errors import GateError
    from dedupstats.simulate.vectors import check

    found = check(vectors)
    if found.difference is None:
        typer.echo(f"{found.vectors} vectors, {found.decisions} decisions, all equal")
        return
    typer.echo(f"expected: {json.dumps(found.difference.expected)}")
    typer.echo(f"decided:  {json.dumps(found.difference.answer)}")
    raise GateError(
        f"first difference at {found.difference.where}",
        f"{found.vectors} vectors and {found.decisions} decisions before it are equal",
    )
