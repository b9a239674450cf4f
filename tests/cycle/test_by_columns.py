"""Whether all rows of a class are refreshed, or those that were touched."""

from __future__ import annotations

import pytest

from schedframe.cycle.equivalence.evaluate.columnar import Costs


def ways(
    costs: Costs, times: int, *, all_rows: int, some: int, touched: int = 3, nodes: int = 1000
) -> list[bool]:
    """Which way was taken each time, given how long each takes."""
    taken = []
    for _ in range(times):
        way = costs.some_are_cheaper(touched, nodes)
        costs.note(some if way else all_rows, some=way)
        taken.append(way)
    return taken


@pytest.mark.parametrize(
    ("all_rows", "some", "cheaper"), [(100_000, 900_000, False), (900_000, 100_000, True)]
)
def test_the_cheaper_way_is_taken_but_now_and_then(all_rows: int, some: int, cheaper: bool) -> None:
    taken = ways(Costs(), 640, all_rows=all_rows, some=some)
    assert taken[:2] == [False, True]
    assert 620 <= taken.count(cheaper) < 640


def test_what_becomes_dearer_is_left() -> None:
    costs = Costs()
    assert ways(costs, 60, all_rows=300_000, some=100_000)[-1]
    assert not ways(costs, 60, all_rows=300_000, some=900_000)[-1]


def test_many_touched_rows_are_not_picked_out() -> None:
    assert not any(ways(Costs(), 100, all_rows=900_000, some=1, touched=500))
