"""Times of rows: what is looked up in parts is what the calendar says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.sources.claude_code.times import microseconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_every_stamp_of_the_usual_form(time: datetime) -> None:
    time = time.replace(microsecond=time.microsecond // 1000 * 1000)
    stamp = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    expected = (time - EPOCH) // timedelta(microseconds=1)
    # the second time it is known by its hour
    assert microseconds(stamp) == microseconds(stamp) == expected


@pytest.mark.parametrize("end", ["17:60.000Z", "60:11.000Z", "17:11.0000Zx", "17:11.00Z0", " 7:11.000Z"])
def test_a_known_hour_makes_no_time_of_what_is_none(end: str) -> None:
    assert microseconds("2026-03-24T04:17:11.000Z") is not None
    assert microseconds(f"2026-03-24T04:{end}") is None
