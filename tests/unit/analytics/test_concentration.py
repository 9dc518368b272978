from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstats.analytics.concentration import concentration, distribution, quantile


def test_quantiles_of_fault_case_s10() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2.5
    assert quantile([1, 2, 3, 4], 0.9) == 3.7


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0, 1))
def test_quantile_is_numpys_linear_one(shares: list[float], at: float) -> None:
    assert quantile(sorted(shares), at) == pytest.approx(np.quantile(shares, at))


def test_one_session() -> None:
    spread = distribution([(1, 4)])
    assert (spread.n, spread.median, spread.p90, spread.max) == (1, 0.25, 0.25, 0.25)


def test_no_session() -> None:
    assert distribution([]).median is None
    assert concentration([]).name is None


def test_equal_groups_are_named_in_order_of_name() -> None:
    assert concentration([("b", 5), ("a", 5)]).name == "a"
