"""The call key against 252 texts canonicalised by Go's own encoding/json."""

import gzip
import json
from pathlib import Path

import pytest

from dedupstats.sources import go_json

VECTORS = Path(__file__).with_name("go-json.jsonl.gz")


def vectors() -> list[tuple[str, str]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    return [(row["args_json"], row["canonical"]) for row in rows]


def test_no_vector_is_lost() -> None:
    assert len(vectors()) == 252


@pytest.mark.parametrize(("arguments", "expected"), vectors())
def test_canonical_text(arguments: str, expected: str) -> None:
    assert go_json.canonical(arguments) == expected
    assert go_json.canonical(arguments.encode()) == expected


@pytest.mark.parametrize(("arguments", "expected"), vectors())
def test_slow_path_alone(arguments: str, expected: str) -> None:
    try:
        written = go_json.go_json(go_json.parse(arguments)).decode()
    except ValueError:
        written = "null"
    assert written == expected
