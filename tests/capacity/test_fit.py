"""How many more fit: equal to placing one pod after the other by hand, for every kind of pod."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from random import Random
from typing import Any

import pytest

from schedframe.capacity import fit
from schedframe.capacity.templates import template_of
from schedframe.errors import InputError
from schedframe.fork import Fork
from schedframe.testing import node, pod

from ..controllers.charts import chart
from ..controllers.storage_manifests import WAITS, claim_spec, storage_class
from ..controllers.storage_manifests import pod as pod_with_claims
from ..fork.worlds import pod_manifest, random_fork
from ..profiles import scaled

MOST = 15


def one_by_one(fork: Fork, names: list[Any], shares: list[int]) -> tuple[int, Counter[str]]:
    """Return rounds and pods by node, each pod created and scheduled by itself."""
    with fork.fork() as copy:
        templates = [template_of(copy, each) for each in names]
        copy.schedule()
        rounds, nodes = 0, Counter[str]()
        with copy.scheduler.without_preemption():
            while rounds < MOST:
                placed = []
                for template, share in zip(templates, shares, strict=True):
                    for _ in range(share):
                        placed += copy.schedule(template.more(copy, 1))
                        if placed[-1].node_name is None:
                            return rounds, nodes
                rounds += 1
                nodes.update(str(each.node_name) for each in placed)
        return rounds, nodes


def check_equal(fork: Fork, names: list[Any], shares: list[int], mix: dict[str, int] | None = None) -> None:
    answer = fit(fork, names, mix=mix, most=MOST)
    assert (answer.rounds, Counter(answer.nodes)) == one_by_one(fork, names, shares)
    assert (answer.stopped_by is None) == (answer.rounds == MOST)


@pytest.mark.parametrize("options", [{}, {"score_all_nodes": False}])
def test_fit_is_placing_one_by_one(options: dict[str, Any]) -> None:
    for seed in range(scaled(6)):
        rng = Random(seed)
        with random_fork(seed, **options) as fork:
            check_equal(fork, [pod_manifest("more", rng)], [1])
            check_equal(
                fork,
                [pod_manifest("web", rng), pod_manifest("db", rng)],
                [3, 1],
                {"web": 3, "default/db": 1},
            )


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_the_largest_batch_changes_no_answer(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """Below, at and above the number of pods that fit."""
    cluster = [node("a", cpu=5), node("b", cpu=6)]
    whole = fit(cluster, pod("p").requests(cpu=1))
    monkeypatch.setattr(import_module("schedframe.capacity.fit"), "BATCH", batch)
    steps: list[int] = []
    answer = fit(cluster, pod("p").requests(cpu=1), on_round=steps.append)
    assert (answer.fits, answer.nodes) == (whole.fits, whole.nodes)
    assert answer.rounds == 11
    assert max(after - before for before, after in zip([0, *steps], steps, strict=False)) == batch


def test_workloads_with_claims_volumes_and_ports() -> None:
    for seed in range(scaled(5)):
        with Fork.of(chart(seed, full=False), strict=False) as fork:
            fork.schedule()
            for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
                for owner in fork.cluster.list(kind)[:1]:
                    if owner.metadata.controller is None:
                        check_equal(fork, [f"{kind.lower()}/{owner.key}"], [1])


def local_disk(name: str, node_name: str) -> dict[str, Any]:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


def test_each_copy_has_claims_of_its_own() -> None:
    disks = [local_disk(f"disk{i}", f"n{i % 2}") for i in range(3)]
    local = storage_class("local", "kubernetes.io/no-provisioner", WAITS)
    nodes = [node(name, cpu=8).labels({"kubernetes.io/hostname": name}) for name in ("n0", "n1")]
    answer = fit([*nodes, local, *disks], pod_with_claims("db", ephemeral=claim_spec("local", "10Gi")))
    assert answer.fits == {"default/db": 3}
    assert answer.nodes == {"n0": 2, "n1": 1}


def test_a_mix_is_rounds_in_order_and_an_incomplete_one_is_undone() -> None:
    cluster = [node("a", cpu=10), node("b", cpu=1)]
    web, db = pod("web").requests(cpu="1"), pod("db").requests(cpu="2")
    answer = fit(cluster, [web, db], mix={"web": 3, "db": 1})
    assert answer.fits == {"default/web": 6, "default/db": 2}
    assert answer.rounds == 2
    assert sum(answer.nodes.values()) == 8
    assert answer.stopped_by is not None
    assert answer.stopped_by.pod == "default/web"
    assert fit(cluster, [web, db]).fits == {"default/web": 3, "default/db": 3}


def test_what_stops_the_next_one_has_numbers_and_the_smallest_change() -> None:
    answer = fit([node("a", cpu=4)], pod("web").requests(cpu="1500m"))
    assert answer.fits == {"default/web": 2}
    stop = answer.stopped_by
    assert stop is not None
    assert stop.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert "needs 1.5 cpu, most free 1 on a" in str(stop)
    assert stop.change is not None
    assert stop.change.description == "lower the requested cpu from 1.5 to 1"
    assert answer.to_dict()["stoppedBy"]["change"]["kind"] == "lower-request"


def test_pods_make_room_for_themselves_only_if_asked() -> None:
    low = [pod(f"low{i}").requests(cpu="1").on_node("a") for i in range(2)]
    high = pod("high").requests(cpu="1").priority(10)
    cluster = [node("a", cpu=3), *low]
    assert fit(cluster, high).fits == {"default/high": 1}
    asked = fit(cluster, high, preempt=True)
    assert asked.fits == {"default/high": 3}
    assert sorted(asked.preempted) == ["default/low0", "default/low1"]


def test_a_round_does_not_take_the_place_of_an_earlier_one() -> None:
    web, db = pod("web").requests(cpu="1"), pod("db").requests(cpu="1").priority(10)
    answer = fit([node("a", cpu=3)], [web, db], preempt=True)
    assert (answer.rounds, answer.preempted) == (1, ())


def test_pods_that_wait_come_first_and_one_that_is_named_is_counted() -> None:
    cluster = [node("a", cpu=4), pod("named").requests(cpu="1"), pod("other").requests(cpu="1")]
    assert fit(cluster, "named").fits == {"default/named": 3}
    assert fit(cluster, "named", after=False).fits == {"default/named": 4}


def test_most_ends_it_and_nothing_stops_it() -> None:
    answer = fit([node("a", cpu=4)], pod("web").requests(cpu="1"), most=2)
    assert (answer.rounds, answer.stopped_by) == (2, None)


def test_the_table_has_a_row_for_each_node() -> None:
    answer = fit([node("a", cpu=2), node("b", cpu=1)], pod("web").requests(cpu="1"))
    assert str(answer) == "node  default/web\na     2\nb     1"
    assert answer.to_dataframe().rows() == [("a", 2), ("b", 1)]


def test_the_cluster_stays_as_it_is() -> None:
    with Fork.of([node("a", cpu=2)]) as fork:
        fit(fork, pod("web").requests(cpu="1"))
        assert not fork.diff()
        assert fork.cluster.list("Pod") == []


@pytest.mark.parametrize(
    ("names", "mix", "problem"),
    [
        ([], None, "nothing is named"),
        (["nothing"], None, "no pod and no workload is named nothing"),
        (["deployment/nothing"], None, "no pod belongs to a Deployment nothing"),
        (["web", "default/web"], None, "default/web is named 2 times"),
        (["web"], {"web": 1, "db": 1}, "db is not among the pods"),
        (["web"], {"db": 1}, "no number from 1 for default/web"),
    ],
)
def test_mistakes(names: list[str], mix: dict[str, int] | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        fit([node("a"), pod("web").on_node("a")], names, mix=mix)


def test_a_stateful_set_of_a_running_cluster_gets_claims_for_each_replica() -> None:
    nodes = [node(name, cpu=8).labels({"kubernetes.io/hostname": name}) for name in ("n0", "n1")]
    disks = [local_disk(f"disk{i}", f"n{i % 2}") for i in range(4)]
    template = {"metadata": {"name": "data"}, "spec": claim_spec("local", "10Gi")}
    selected = {"app": "db"}
    stateful = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": {"containers": [{"name": "c"}]}},
            "volumeClaimTemplates": [template],
        },
    }
    local = storage_class("local", "kubernetes.io/no-provisioner", WAITS)
    with Fork.of([*nodes, local, *disks, stateful]) as fork:
        fork.schedule()
        assert fit(fork, "sts/db").fits == {"default/db": 3}
        assert fit(fork.cluster, "sts/db").fits == {"default/db": 3}
