"""Pods that a plugin may tell apart do not wait together."""

from __future__ import annotations

from attrs import evolve

from schedframe import InMemoryCluster, NodeInfo, Pod, Scheduler, Status, VirtualClock, hookimpl

from .build import make_node, make_pod
from .waiting_worlds import Pair


class OnlySevens:
    """Reads what equal pods do not have in common, in a filter that is not cached."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Pass pods whose names end with a seven."""
        return None if pod.name.endswith("7") else Status.unschedulable("no seven")


def test_a_filter_by_node_that_is_not_cached_is_called_for_each_pod() -> None:
    clock = VirtualClock()
    cluster = InMemoryCluster(clock=clock)
    with Scheduler(cluster, clock=clock, seed=1, plugins=[OnlySevens]) as scheduler:
        for number in range(3):
            cluster.create(make_node(f"n{number}", cpu=9))
        # The first two are placed: no other plugin has anything to say about these pods from then on.
        template = make_pod("template", cpu=1)
        for name in ("p7", "p17", "p1", "p2", "p27", "p3", "p37", "p4", "p47"):
            cluster.create(evolve(template, metadata=evolve(template.metadata, name=name, uid=name)))
        scheduler.run_until_idle()
        placed = [pod.name for pod in cluster.list(Pod.KIND) if pod.node_name]
    assert placed == ["p7", "p17", "p27", "p37", "p47"]


def test_a_pod_whose_labels_changed_while_it_waited_is_of_another_class() -> None:
    pair = Pair()
    pair.create([make_node("n0", cpu=1), make_pod("one", uid="one", cpu=2)])
    pair.run()

    def relabel(cluster: InMemoryCluster) -> None:
        pod = cluster.get(Pod.KIND, "default/one")
        assert pod is not None
        cluster.update(evolve(pod, metadata=evolve(pod.metadata, labels={"app": "new"})))

    pair.apply(relabel)
    pair.run()
    pair.create([make_pod("two", uid="two", cpu=2)])
    pair.run()
    pair.close()
