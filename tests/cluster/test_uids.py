"""Two objects of a kind with one uid, as of a manifest that was copied and renamed, never count as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from schedframe import InMemoryCluster, Simulation, evaluate
from schedframe.errors import InputError, InputErrors
from schedframe.testing import node, pod


def with_uid(obj: Any, uid: str) -> Any:
    """Return a value built by *obj* that has *uid*."""
    value = obj.build() if hasattr(obj, "build") else obj
    return evolve(value, metadata=evolve(value.metadata, uid=uid))


A, B = (with_uid(pod(name).requests(cpu="1"), "u") for name in "ab")
TAKEN = "metadata.uid: uid u of Pod default/b is that of Pod default/a; remove metadata.uid from one of them"


def in_a_list() -> None:
    InMemoryCluster([A, B])


def created() -> None:
    InMemoryCluster([A]).create(B)


def applied() -> None:
    InMemoryCluster([A]).apply(B)


def added() -> None:
    Simulation([A]).add(B)


def added_together() -> None:
    Simulation().add(A, B)


def scheduled() -> None:
    Simulation([node("n")]).schedule([A, B])


def evaluated() -> None:
    evaluate([node("n"), A], B)


def cycled() -> None:
    Simulation([node("n"), A]).cycle(B)


def assumed() -> None:
    Simulation([node("n"), A]).assume(B, "n")


@pytest.mark.parametrize(
    "use", [in_a_list, created, applied, added, added_together, scheduled, evaluated, cycled, assumed]
)
def test_the_uid_of_another_pod_is_refused(use: Callable[[], None]) -> None:
    with pytest.raises(InputError) as caught:
        use()
    assert str(caught.value) == TAKEN


def test_all_are_named_and_nothing_is_added() -> None:
    with Simulation([node("n"), A]) as simulation:
        nodes = with_uid(node("x"), "v"), with_uid(node("y"), "v")
        with pytest.raises(InputErrors) as caught:
            simulation.add(*nodes, B)
        assert [error.problem for error in caught.value.errors] == [
            "uid v of Node y is that of Node x",
            "uid u of Pod default/b is that of Pod default/a",
        ]
        assert [each.name for each in simulation.cluster.list("Node")] == ["n"]


def test_an_object_that_is_refused_replaces_nothing() -> None:
    cluster = InMemoryCluster([A, with_uid(pod("b"), "v")])
    with pytest.raises(InputError, match="that of Pod default/a"):
        cluster.apply(B)
    stored = cluster.get("Pod", "default/b")
    assert stored is not None
    assert stored.uid == "v"
    cluster.check_invariants()


def test_a_uid_is_free_when_its_object_is_gone_and_kinds_do_not_share_them() -> None:
    cluster = InMemoryCluster([A, with_uid(node("n"), "u")])
    cluster.apply(A)
    cluster.delete(A)
    assert cluster.create(B).uid == "u"
    cluster.check_invariants()


def test_uids_that_objects_of_another_cluster_bring_are_not_given_again() -> None:
    with Simulation([node("n").allocatable(cpu="8", pods="10")]) as first:
        first.schedule([pod("a"), pod("b")])
        kept = [*first.cluster.list("Node"), *first.cluster.list("Pod")[1:]]
    with Simulation(kept) as second:
        placed = second.schedule([pod(name) for name in "vwxyz"])
        assert [each.node_name for each in placed] == ["n"] * 5
        assert len({each.uid for each in second.cluster.list("Pod")}) == 6
        second.cluster.check_invariants()


def used(simulation: Simulation) -> int:
    """Return how many pods count on the node."""
    return int(simulation.scheduler.core.cache.table.pod_count[0])


@pytest.mark.parametrize("uid", ["", "u"])
@pytest.mark.parametrize("other", ["", "u"])
def test_a_pod_that_was_assumed_counts_once_when_it_is_created(uid: str, other: str) -> None:
    with Simulation([node("n").allocatable(cpu="2", pods="10")]) as simulation:
        simulation.assume(with_uid(pod("a").requests(cpu="1"), uid), "n")
        (placed, last) = simulation.schedule(
            [with_uid(pod("a").requests(cpu="1"), other), pod("z").requests(cpu="1")]
        )
        assert (placed.node_name, last.node_name, used(simulation)) == ("n", "n", 2)
        assert simulation.remove_pod("a")
        assert used(simulation) == 1
        assert not simulation.remove_pod("a")


def test_the_manifest_of_a_placed_pod_is_not_assumed_beside_it() -> None:
    with Simulation([node("n"), A.with_node_name("n")]) as simulation:
        with pytest.raises(InputError, match="default/a has a node already"):
            simulation.assume(pod("a"), "n")
        assert used(simulation) == 1


def test_a_pod_with_the_uid_of_an_assumed_one_is_refused() -> None:
    with Simulation([node("n")]) as simulation:
        simulation.assume(A, "n")
        for use in (simulation.add, simulation.evaluate, lambda pod: simulation.assume(pod, "n")):
            with pytest.raises(InputError, match=r"that of Pod default/a, which was assumed; remove"):
                use(B)


def test_an_api_server_with_two_pods_of_a_uid_ends_nothing(tmp_path: Path) -> None:
    """Which none has: the pods are counted as one, and all others are scheduled."""
    kubernetes = pytest.importorskip("schedframe.cluster.kubernetes", reason="needs the extra kubernetes")
    from schedframe import Scheduler
    from schedframe.testing.api_server import ApiServer

    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="8", memory="8Gi", pods="10"))
        for each in (A.with_node_name("n"), B.with_node_name("n"), with_uid(pod("c"), "w")):
            server.create(each)
        server.create(with_uid(pod("d"), "w"))
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        with (
            kubernetes.KubernetesCluster.from_kubeconfig(kubeconfig) as cluster,
            Scheduler(cluster) as scheduler,
        ):
            server.create(pod("e").requests(cpu="1"))

            def is_bound() -> bool:
                scheduler.run_until_idle()
                stored = server.get("Pod", "default/e")
                return stored is not None and bool(stored["spec"].get("nodeName"))

            server.wait_for(is_bound)
            for name in "abcd":
                server.delete("Pod", f"default/{name}")
            server.wait_for(lambda: not scheduler.run_until_idle() and len(cluster.list("Pod")) == 1)
            scheduler.run_until_idle()
            scheduler.core.cache.check_invariants()
            scheduler.core.queue.check_invariants()
