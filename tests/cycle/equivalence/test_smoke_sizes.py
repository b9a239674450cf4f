"""Tables that grow, shrink, empty and refill on either side of every threshold, verified pod by pod."""

from __future__ import annotations

from random import Random

import pytest

from schedframe.cycle import Tuning
from schedframe.cycle.equivalence import policy

from ..build import World, make_node, make_pod
from .comparison import lowered, renamed
from .up_to_date import assert_up_to_date

SIZES = ("100m", "200m", "300m", "500m")
LOW = {
    "pass_rows": 12,
    "rows_per_class": 4,
    "matrix_max_classes": 3,
    "matrix_min_classes": 2,
    "pending_rows": 3,
    "rowwise_rows": 3,
    "gather_cost": 2,
    "answers": 6,
    "eager_classes": 2,
    "index_only_classes": 3,
    "first_visits": 2,
    "score_keys": 2,
    "retry_after": 4,
}
HIGH = {
    "pass_rows": 1 << 20,
    "rows_per_class": 1 << 20,
    "pending_rows": 1 << 20,
    "rowwise_rows": 1 << 20,
}
SETTINGS = [LOW, HIGH, {}, *({name: value} for name, value in LOW.items())]


@pytest.mark.parametrize("limits", SETTINGS, ids=lambda limits: "-".join(limits)[:40] or "as they are")
def test_tables_grow_shrink_empty_and_refill(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    lowered(monkeypatch, **limits)
    monkeypatch.setattr(policy, "SMALLEST_BLOCK", 4)
    world, random = World(options={"tuning": Tuning(verify=1.0)}), Random(1)
    templates = [make_pod(f"t{i}", cpu=size) for i, size in enumerate(SIZES)]
    made = nodes = 0

    def schedule(pods: int) -> None:
        nonlocal made
        for _ in range(pods):
            made += 1
            world.cluster.create(renamed(random.choice(templates), f"p{made}"))
            if random.random() < 0.3:
                world.scheduler.run_until_idle()
        world.scheduler.run_until_idle()
        fast = world.scheduler.core.search.fast
        assert fast is not None
        for eq_class in fast.cache.classes():
            assert_up_to_date(eq_class)

    def resize(wanted: int) -> None:
        nonlocal nodes
        while nodes < wanted:
            world.cluster.create(make_node(f"n{nodes}", cpu=2))
            nodes += 1
        while nodes > wanted:
            nodes -= 1
            for pod in world.cluster.list("Pod"):
                if pod.node_name == f"n{nodes}":
                    world.cluster.delete("Pod", pod.key)
            world.cluster.delete("Node", f"n{nodes}")

    for size in (4, 11, 14, 70, 13, 1, 0, 12):
        resize(size)
        schedule(12)
        for pod in [pod for pod in world.cluster.list("Pod") if pod.node_name][::2]:
            world.cluster.delete("Pod", pod.key)
        world.clock.advance(30.0)
        schedule(6)
    assert [status.message for status, _ in world.faults] == []
