"""Nine Claude Code sessions in three projects, each the story of one thing that such logs do."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from samples.ids import Ids
from samples.stories_other import (
    fork_branch,
    fork_trunk,
    label_batch,
    label_batch_again,
    windows,
)
from samples.stories_shop import cart, migration, review, second_thoughts
from samples.transcript import Host, Transcript, forked, resumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from samples.stories_other import HookedCommand

SHOP = Host("2.1.81", "/srv/tansy", cache="5m", output="growing")
SHOP_NEW = Host("2.1.136", "/srv/tansy", start=21_800)
SHOP_MIDDLE = Host("2.1.97", "/srv/tansy", branch="checkout")
LABELS_OLD = Host("1.0.35", "/srv/labels", model="claude-sonnet-4-20250514", output="placeholder")
LABELS = Host("2.1.41", "/srv/labels", model="claude-opus-4-5-20251101", cache="5m")
SITE = Host("2.1.214", "C:\\work\\tansy-site", branch="spring-🌱", model="claude-opus-4-8", start=24_300)

FOLDERS = {
    "/srv/tansy": "-srv-tansy",
    "/srv/labels": "-srv-labels",
    "C:\\work\\tansy-site": "C--work-tansy-site",
}
"""project folders by working directory: every character but letters and digits became a hyphen"""


def _november(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def _told(name: str, host: Host, start: datetime, story: Callable[[Transcript], None]) -> Transcript:
    """A session of its own."""
    ids = Ids(f"claude_code/{name}")
    transcript = Transcript(ids, host, ids.uuid(), start)
    story(transcript)
    return transcript


def build() -> tuple[dict[str, str], list[HookedCommand]]:
    """All files by path below `claude_code/`, and the commands that RTK's hook rewrote."""
    hooked: list[HookedCommand] = []
    batch = _told("labels", LABELS_OLD, _november(2, 9, 12), label_batch)
    batch_again = resumed(batch, Ids("claude_code/labels again").uuid(), LABELS_OLD, _november(3, 8, 40))
    label_batch_again(batch_again)
    trunk = _told("printer", LABELS, _november(5, 14, 3), fork_trunk)
    branch = forked(trunk, Ids("claude_code/printer fork").uuid(), _november(5, 16, 30))
    fork_branch(branch)
    transcripts = [
        _told("cart", SHOP, _november(9, 8, 5), cart),
        _told("review", SHOP, _november(10, 13, 20), review),
        _told("second thoughts", SHOP_MIDDLE, _november(12, 10, 0), second_thoughts),
        _told("migration", SHOP_NEW, _november(16, 9, 30), migration),
        _told("windows", SITE, _november(18, 15, 45), partial(windows, hooked=hooked)),
        batch,
        batch_again,
        trunk,
        branch,
    ]
    files = {}
    for transcript in transcripts:
        folder = f"projects/{FOLDERS[transcript.host.cwd]}"
        files[f"{folder}/{transcript.session}.jsonl"] = transcript.text()
        files |= {f"{folder}/{name}": text for name, text in transcript.files.items()}
    return files, hooked
