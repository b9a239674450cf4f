"""Each measure is what the page says: compared with plain loops over random runs."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InputError
from schedframe.runs.fragmentation import INSTANTS
from schedframe.runs.owners import jain
from schedframe.traces import ColumnTable

from .plain import Plain
from .worlds import SECOND, World, worlds

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "measures.md"


def plain_of(world: World) -> Plain:
    return Plain(world.run.trace, world.events, world.run.end, world.waited_for)


def windows(world: World, data: st.DataObject) -> tuple[int, int]:
    end = world.run.end
    if end < 2 or data.draw(st.booleans()):
        return 0, end
    start = data.draw(st.integers(0, end - 1))
    return start, data.draw(st.integers(start + 1, end))


def summary_of(world: World, start: int, stop: int) -> dict[str, float]:
    run = world.run if (start, stop) == (0, world.run.end) else world.run.between(f"{start}us", f"{stop}us")
    assert run.window == (start, stop)
    return dict(run.summary.values)


@given(worlds(), st.data())
def test_measures_of_pods(world: World, data: st.DataObject) -> None:
    start, stop = windows(world, data)
    found, expected = summary_of(world, start, stop), plain_of(world).of_pods(start, stop)
    assert {name: found.get(name) for name in expected} == pytest.approx(expected)
    assert not {name for name in found if name.startswith(("wait", "slowdown"))} - expected.keys()


@given(worlds(), st.data())
def test_measures_over_time(world: World, data: st.DataObject) -> None:
    start, stop = windows(world, data)
    found, expected = summary_of(world, start, stop), plain_of(world).over_time(start, stop)
    assert {name: found.get(name) for name in expected} == pytest.approx(expected)


@given(worlds())
def test_free_amounts_that_nothing_can_use(world: World) -> None:
    plain, end = plain_of(world), world.run.end
    for index, resource in enumerate(world.run.trace.resources):
        moments = [(2 * each + 1) * end // (2 * INSTANTS) for each in range(INSTANTS)]
        pairs = [pair for each in moments if (pair := plain.shares(each, index)) is not None]
        for place, name in enumerate(("fragmentation", "stranded")):
            found = world.run.summary.values.get(f"{name}[{resource}]")
            expected = math.fsum(pair[place] for pair in pairs) / len(pairs) if pairs else None
            assert found == pytest.approx(expected)


@given(worlds())
def test_shares_of_owners(world: World) -> None:
    plain, run = plain_of(world), world.run
    trace = run.trace
    capacity = [
        sum(plain._room(node, index) * (b - a) for node, a, b, *_ in plain.ups)
        for index in range(len(trace.resources))
    ]
    for owner, pods, share, wait, slowdown in run.owners.rows():
        mine = [pod for pod in plain.submit if trace.pods.decoded("owner")[pod] == owner]
        used = [
            sum(plain._request(pod, index) * (b - a) for pod, a, b, *_ in plain.stints if pod in mine)
            for index in range(len(trace.resources))
        ]
        assert pods == len(mine)
        assert share == pytest.approx(
            max((u / c for u, c in zip(used, capacity, strict=True) if c), default=0.0)
        )
        waits = [plain.wait(pod) for pod in mine if pod not in plain.rejected]
        slow = [each for pod in mine if (each := plain.slowdown(pod)) is not None]
        assert wait == pytest.approx(sum(waits) / len(waits) / SECOND if waits else math.nan, nan_ok=True)
        assert slowdown == pytest.approx(sum(slow) / len(slow) if slow else math.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("values", "expected"), [([1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([], 1.0), ([0, 0], 1.0)]
)
def test_the_index_of_jain(values: list[float], expected: float) -> None:
    assert jain(values) == pytest.approx(expected)


@given(worlds())
def test_runs_are_legal_and_equal_to_themselves(world: World) -> None:
    world.run.check_invariants()
    assert world.run.digest() == world.run.digest()
    assert set(world.run.samples.columns) >= {"time", "waiting", "running", "nodes"}


@given(worlds())
def test_samples_are_states_at_the_end_of_an_instant(world: World) -> None:
    plain, samples = plain_of(world), world.run.sampled("1s")
    for time, waiting, running, nodes, *amounts in samples.rows():
        assert isinstance(time, int)
        expected = [
            sum(a <= time and (time < b or closed is None) for _, a, b, _, closed in spans)
            for spans in (plain.waits, plain.stints, plain.ups)
        ]
        assert [waiting, running, nodes] == expected
        there = [pod for pod, a, b, _, closed in plain.stints if a <= time and (time < b or closed is None)]
        assert amounts[::2] == [
            sum(plain._request(pod, r) for pod in there) for r in range(len(world.run.trace.resources))
        ]


@given(worlds())
def test_tables_of_pods_and_nodes(world: World) -> None:
    plain, run = plain_of(world), world.run
    rows = {row["pod"]: row for row in as_dicts(run.pods)}
    assert rows.keys() == plain.submit.keys()
    for pod, row in rows.items():
        assert row["start"] == plain.start.get(pod)
        assert row["end"] == plain.ended.get(pod)
        assert row["waited_for"] == world.waited_for.get(pod)
        assert row["starts"] == sum(span[0] == pod for span in plain.stints)
    for row in as_dicts(run.nodes):
        spans = [span for span in plain.ups if span[0] == row["node"]]
        assert row["up"] == sum(b - a for _, a, b, *_ in spans)
        stints = [(a, b) for _, a, b, node, _ in plain.stints if node == row["node"]]
        moments = sorted({t for stint in stints for t in stint})
        busy = sum(b - a for a, b in itertools.pairwise(moments) if any(s <= a and b <= e for s, e in stints))
        assert (row["busy"], row["pods"]) == (busy, len(stints))


def as_dicts(table: ColumnTable) -> list[dict[str, object]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows()]


@given(worlds())
def test_each_measure_is_on_the_page(world: World) -> None:
    page = PAGE.read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z_0-9]+)(?:\[\w+\])?`", page))
    assert {name.partition("[")[0] for name in world.run.summary} <= documented


@given(worlds())
def test_a_window_outside_of_the_run_is_refused(world: World) -> None:
    with pytest.raises(InputError, match="is no window"):
        world.run.between("5s", "5s")
    with pytest.raises(InputError, match="is no window"):
        world.run.between(0, f"{world.run.end + 1}us")
