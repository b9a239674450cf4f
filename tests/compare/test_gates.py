"""Gates: their form, what they compare, and when an interval decides."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InputError
from schedframe.compare import Gate, check_gates
from schedframe.compare.gates import COVERAGE, order_below
from schedframe.traces import Figures


class One:
    """A run with one measure."""

    def __init__(self, value: float) -> None:
        self.summary = Figures({"wait_p99": value, "utilisation[cpu]": value}, {"wait_p99": "s"})
        self.pods = None

    def digest(self) -> str:
        return ""


def failed(condition: str, *pairs: tuple[float, float]) -> bool:
    return check_gates([condition], [(One(a), One(b)) for a, b in pairs]).failed  # type: ignore[misc]  # as far as used


@pytest.mark.parametrize(
    ("text", "kind", "limit"),
    [
        ("wait_p99 > 1.05x", "times", 1.05),
        ("wait_p99>=+3", "change", 3.0),
        (" utilisation[cpu] < -0.02 ", "change", -0.02),
        ("utilisation[nvidia.com/gpu] <= 0.6", "value", 0.6),
    ],
)
def test_forms(text: str, kind: str, limit: float) -> None:
    gate = Gate.parse(text)
    assert (gate.kind, gate.limit) == (kind, limit)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wait_p99",
        "wait_p99 > x",
        "wait_p99 == 3",
        "wait_p99 > 5%",
        "__import__('os') > 1",
        "wait_p99 > +1x",
        "wait > 1e3",
    ],
)
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="is no condition; write it like"):
        Gate.parse(text)


@pytest.mark.parametrize(
    ("condition", "pair", "expected"),
    [
        ("wait_p99 > 1.05x", (100, 106), True),
        ("wait_p99 > 1.05x", (100, 105), False),
        ("wait_p99 >= 1.05x", (100, 105), True),
        ("wait_p99 > 1.05x", (0, 0), False),
        ("wait_p99 > 1.05x", (0, 1), True),
        ("wait_p99 > +3", (100, 104), True),
        ("wait_p99 < -3", (100, 98), False),
        ("utilisation[cpu] < 0.6", (0.9, 0.5), True),
    ],
)
def test_one_pair_is_decided_by_its_value(condition: str, pair: tuple[float, float], expected: bool) -> None:
    assert failed(condition, pair) == expected
    (result,) = check_gates([condition], [(One(pair[0]), One(pair[1]))])  # type: ignore[misc]  # as far as used
    assert result.remark == "1 pair: no interval, decided by the median"


def test_with_five_pairs_the_interval_decides() -> None:
    worse = [(100.0, 110.0)] * 5
    assert failed("wait_p99 > 1.05x", *worse)
    assert not failed("wait_p99 > 1.05x", *worse[:4], (100.0, 101.0))
    (result,) = check_gates(["wait_p99 > 1.05x"], [(One(a), One(b)) for a, b in worse])  # type: ignore[misc]  # as far as used
    assert (result.median, result.low, result.high, result.pairs, result.remark) == (1.1, 1.1, 1.1, 5, "")
    assert failed("wait_p99 > 1.05x", *worse, *worse, (100.0, 101.0))  # one of eleven is left out


@given(st.integers(5, 200))
def test_the_interval_covers_the_median(count: int) -> None:
    def covered(left_out: int) -> float:
        return 1 - 2 * sum(math.comb(count, i) for i in range(left_out + 1)) / 2**count

    below = order_below(count)
    assert covered(below) >= COVERAGE
    assert covered(below + 1) < COVERAGE


def test_unknown_measures_name_a_similar_one() -> None:
    with pytest.raises(InputError, match=r"there is no measure wait_p90 in a run; did you mean wait_p99\?"):
        failed("wait_p90 > 1x", (1, 1))
    with pytest.raises(InputError, match="pairs: there is none"):
        check_gates(["wait_p99 > 1"], [])


def test_results_are_a_table() -> None:
    results = check_gates(["wait_p99 > 1.05x"], [(One(1), One(2))])  # type: ignore[misc]  # as far as used
    assert "failed" in str(results)
    assert repr(results) == "GateResults(len=1, failed=True)"
