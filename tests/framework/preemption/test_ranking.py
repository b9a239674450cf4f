"""The order in which nodes are preferred: each criterion where all before it are equal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.framework import Candidate
from schedframe.framework.preemption import CRITERIA, importance, rank
from schedframe.framework.preemption.candidates import standing

from .support import running

LOWEST, HIGHEST = -(2**31), 2**31 - 1


def candidate(name: str, *victims: tuple[int, float | None], violations: int = 0) -> Candidate:
    """Victims as (priority, start); the most important first, as in every candidate."""
    pods = [running(f"{name}{i}", name, 1, p, start=s) for i, (p, s) in enumerate(victims)]
    return Candidate(name, tuple(sorted(pods, key=importance)), violations)


BETTER_AND_WORSE = {
    "violations": (
        candidate("a", (9, 0), (9, 0), violations=0),
        candidate("b", (0, 5), violations=1),
    ),
    "highest priority": (
        candidate("a", (1, 0), (1, 0), (1, 0)),
        candidate("b", (2, 5)),
    ),
    "sum of priorities": (
        candidate("a", (5, 0), (-(2**31), 0), (-(2**31), 0)),
        candidate("b", (5, 5), (1, 5)),
    ),
    "number": (
        candidate("a", (5, 0), (1, 0)),
        candidate("b", (5, 5), (1 - 2**31, 5), (0, 5)),
    ),
    "latest start": (
        candidate("a", (5, 2), (3, 0)),
        candidate("b", (5, 1), (3, 9)),
    ),
}


@pytest.mark.parametrize("name", BETTER_AND_WORSE)
def test_each_criterion(name: str) -> None:
    better, worse = BETTER_AND_WORSE[name]
    criterion = CRITERIA[list(BETTER_AND_WORSE).index(name)]
    for order in ((better, worse), (worse, better)):
        ranking = rank(order)
        assert ranking.best == (better,)
        assert ranking.lost == {"b": criterion}
        assert ranking.decided_by is criterion
        assert min(order, key=standing) is better


def test_more_victims_never_sum_up_to_less() -> None:
    # With priorities below zero a plain sum would prefer to remove more of them.
    few, many = candidate("few", (-5, 0)), candidate("many", (-5, 0), (-6, 0))
    assert rank([many, few]).best == (few,)


def test_priorities_at_the_limits() -> None:
    low, high = candidate("low", (LOWEST, 0)), candidate("high", (HIGHEST, 0), (HIGHEST, 0))
    assert rank([high, low]).best == (low,)
    more = candidate("more", *[(HIGHEST, 0)] * 3)
    assert rank([more, high]).best == (high,)


def test_earliest_start_among_the_most_important_victims_counts() -> None:
    # Of equal priority 5: the earliest of a is 3, that of b is 2; pods of priority 1 play no role.
    a, b = candidate("a", (5, 9), (5, 3), (1, 0)), candidate("b", (5, 99), (5, 2), (1, 98))
    assert rank([a, b]).best == (a,)


def test_a_victim_that_has_not_started_is_the_youngest() -> None:
    started, not_yet = candidate("started", (0, 100)), candidate("not-yet", (0, None))
    assert rank([started, not_yet]).best == (not_yet,)


def test_equal_candidates_stay_in_the_order_given() -> None:
    a, b, worse = candidate("a", (0, 1)), candidate("b", (0, 1)), candidate("c", (1, 1))
    ranking = rank([worse, b, a])
    assert ranking.best == (b, a)
    assert set(ranking.lost) == {"c"}


def test_one_candidate_was_decided_by_nothing() -> None:
    assert rank([candidate("a", (0, 0))]).decided_by is None
    assert rank([]).best == ()


Victims = list[tuple[int, float | None]]
VICTIMS = st.lists(st.tuples(st.integers(-2, 2), st.sampled_from([None, 0, 1, 2])), min_size=1, max_size=4)


@given(st.lists(st.tuples(VICTIMS, st.integers(0, 2)), max_size=5))
def test_ruling_out_one_by_one_is_comparing_all_at_once(
    given_: list[tuple[list[tuple[int, float | None]], int]],
) -> None:
    found = [
        candidate(f"n{i}", *victims, violations=violations) for i, (victims, violations) in enumerate(given_)
    ]
    ranking = rank(found)
    best = min((standing(one) for one in found), default=None)
    assert list(ranking.best) == [one for one in found if standing(one) == best]
    assert {one.node_name for one in found} == {one.node_name for one in ranking.best} | set(ranking.lost)


@given(VICTIMS)
def test_importance_is_priority_then_age(victims: Victims) -> None:
    pods = candidate("n", *victims).victims
    for first, second in pairwise(pods):
        assert first.priority >= second.priority
        if first.priority == second.priority and second.status.start_time is not None:
            assert first.status.start_time is not None
            assert first.status.start_time <= second.status.start_time
