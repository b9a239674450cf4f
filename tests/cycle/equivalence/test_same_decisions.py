"""The equivalence cache changes the speed and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedframe import Pod
from schedframe.cycle.equivalence import columns, node_columns, policy
from schedframe.cycle.search import tie_breaking as ties
from schedframe.state import policy as state_policy

from .. import workload
from ..build import make_node
from .cached_plugins import PLUGINS
from .comparison import Triplets, lowered, renamed


def _act(worlds: Triplets, random: Random, templates: list[Pod], nodes: int, pods: int, images: bool) -> None:
    """One change of the cluster, the time or the queue."""
    name, host = f"p{random.randrange(pods)}", f"n{random.randrange(nodes)}"
    chance = random.random()
    if chance < 0.45:
        pod, name = random.choice(templates), f"p{next(worlds.numbers) % pods}"
        nominated = random.choice(("", "", "", "", host, "nowhere"))
        worlds.create(renamed(pod, name, nominated_node_name=nominated))
    elif chance < 0.6:
        worlds.delete(name)
    elif chance < 0.65:
        worlds.relabel(name, {"app": random.choice("abc"), "zone": random.choice("ab")})
    elif chance < 0.8:
        worlds.put_node(workload.node(random, host, images=images))
    elif chance < 0.88:
        worlds.drop_node(make_node(host))
    elif chance < 0.92:
        for i in range(nodes):
            worlds.put_node(workload.node(random, f"n{i}", images=images))
    elif chance < 0.95:
        for i in range(pods):
            worlds.delete(f"p{i}")
    else:
        worlds.pass_time(random.choice((1.0, 5.0, 12.0, 301.0)))


class Way(NamedTuple):
    """Thresholds of the cache, lowered so that small clusters take every path of large ones."""

    rowwise_rows: int
    """Dirty rows that are evaluated one by one; with more, they are gathered from the columns."""
    gather_cost: int = 0
    """Cost of gathering one row, in scanned rows; the higher, the sooner all rows are scanned."""
    eager_classes: int = 0
    """Classes that are made for their first pod."""
    portion: int = 1 << 14
    """Rows that are filtered at a time when a class is built."""
    groups: int = 24
    """Groups of rows with equal scores whose best rows are followed, at most."""
    smallest_shift: int = 1
    """Blocks of groups have two to that power rows."""
    first_visits: int = 2
    """Pods of a class before it gets a state index."""
    row_states: int = 4096
    """Row states, at most."""
    built_states: int = 48
    known_states: int = 8192
    matrix_rows: int = 0
    """Rows of the largest table with a score matrix, or passes over the totals."""
    rows_per_class: int = 1 << 20
    """Rows of the table for each class, up to which there is a score matrix."""
    matrix_slots: int = 32
    """Slots of the score matrix."""
    answers: int = 4096
    """Row states whose answers one memo keeps."""
    pending_rows: int = 16
    """Dirty rows for each slot that are evaluated for all slots; with more, columns are evaluated."""
    draws: int = 16
    """Random rows are drawn until one is tied if at least one in this number of rows is tied."""


WAYS = (
    Way(48, 1 << 30, 16, first_visits=1 << 30),
    Way(0, first_visits=1 << 30, draws=2),
    Way(0, 1 << 30, 2, portion=3, draws=0),
    Way(48, first_visits=1 << 30, draws=0),
    Way(48, portion=1, row_states=6),
    Way(48, groups=2, smallest_shift=6, first_visits=1, draws=0),
    Way(48, first_visits=1, built_states=1, draws=2),
    Way(0, first_visits=1, known_states=4, draws=0),
    Way(48, matrix_rows=4096),
    Way(48, first_visits=1, matrix_rows=30, matrix_slots=2, answers=3, draws=2),
    Way(
        0,
        first_visits=1,
        matrix_rows=8,
        rows_per_class=3,
        matrix_slots=3,
        answers=1,
        pending_rows=1,
        draws=0,
    ),
    Way(48, first_visits=1, matrix_rows=4096, pending_rows=0),
)


@contextmanager
def catching_up(way: Way) -> Iterator[None]:
    """Lower the thresholds to those of *way*."""
    with pytest.MonkeyPatch.context() as patch:
        lowered(
            patch,
            rowwise_rows=way.rowwise_rows,
            gather_cost=way.gather_cost,
            eager_classes=way.eager_classes,
            groups=way.groups,
            retry_after=3,
            first_visits=way.first_visits,
            rows_per_state=1 if way.built_states > 1 else 1 << 20,
            answers=min(way.known_states, way.answers),
            pass_rows=way.matrix_rows,
            rows_per_class=way.rows_per_class,
            matrix_max_classes=way.matrix_slots,
            matrix_min_classes=2,
            pending_rows=way.pending_rows,
            miss_visits=1,
        )
        patch.setattr(policy, "SMALLEST_BLOCK", 1 << way.smallest_shift)
        patch.setattr(state_policy, "SMALLEST_STATE_BLOCK", 1 << way.smallest_shift)
        patch.setattr(state_policy, "PORTION", 16)
        patch.setattr(state_policy, "ROW_STATES", way.row_states)
        patch.setattr(state_policy, "ROWS_PER_STATE", 1)
        patch.setattr(ties, "MOST_DRAWS", way.draws)
        for module in (columns, node_columns):
            patch.setattr(module, "PORTION", way.portion)
        yield


@given(
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from(WAYS),
    steps=st.integers(10, 60),
    plugins=st.sets(st.sampled_from(sorted(PLUGINS))).map(sorted),
    alone=st.booleans(),
    images=st.booleans(),
)
@example(seed=0, way=WAYS[0], steps=60, plugins=sorted(PLUGINS), alone=False, images=True)
@example(seed=1, way=WAYS[1], steps=60, plugins=[], alone=True, images=False)
@example(seed=2, way=WAYS[2], steps=60, plugins=["Local", "Peak"], alone=True, images=False)
@example(seed=3, way=WAYS[0], steps=60, plugins=["Columns"], alone=True, images=False)
@example(seed=4, way=WAYS[3], steps=60, plugins=[], alone=True, images=False)
@example(seed=5, way=WAYS[4], steps=60, plugins=["Peak"], alone=True, images=True)
@example(seed=6, way=WAYS[0], steps=60, plugins=[], alone=False, images=False)
def test_no_decision_changes(
    seed: int, way: Way, steps: int, plugins: list[str], alone: bool, images: bool
) -> None:
    """Placements, messages, blame, draws, faults and calls are the same step by step."""
    with catching_up(way):
        _compare(seed, steps, plugins, alone, images)


@given(
    seed=st.integers(0, 2**32 - 1),
    way=st.sampled_from((WAYS[0], WAYS[3], WAYS[5])),
    plugins=st.sampled_from((["Groups"], ["Groups", "Local"], ["Groups", "Local", "Peak"])),
)
def test_no_decision_changes_where_rows_are_scored_by_group(seed: int, way: Way, plugins: list[str]) -> None:
    """Few things happen between two cycles: so groups are followed."""
    random = Random(seed)
    templates = [workload.template(random, f"t{i}", others=False) for i in range(2)]
    with catching_up(way):
        worlds = Triplets(plugins, True, seed % 3)
        for i in range(10):
            worlds.put_node(make_node(f"n{i}", cpu=random.choice((2, 4, 4, 8))))
        for _ in range(40):
            chance, name = random.random(), f"p{random.randrange(16)}"
            if chance < 0.75:
                pod = random.choice(templates)
                worlds.create(renamed(pod, f"p{next(worlds.numbers) % 16}"))
            elif chance < 0.9:
                worlds.delete(name)
            else:
                worlds.put_node(workload.node(random, f"n{random.randrange(12)}", images=False))
            worlds.step()
        worlds.run()


def _compare(seed: int, steps: int, plugins: list[str], alone: bool, images: bool) -> None:
    random = Random(seed)
    worlds = Triplets(plugins, alone, seed % 3)
    templates = [
        workload.template(random, f"t{i}", others=not alone) for i in range(random.choice((1, 3, 5)))
    ]
    for i in range(random.choice((2, 4, 10))):
        worlds.put_node(workload.node(random, f"n{i}", images=images))
    for _ in range(steps):
        _act(worlds, random, templates, nodes=12, pods=16, images=images)
        for _ in range(random.choice((0, 1, 1, 3))):
            worlds.step()
        if random.random() < 0.1:
            worlds.check()
    worlds.run()
