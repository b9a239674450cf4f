"""Questions to a fork of objects and manifests."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from schedframe import Node, NotFound, Pod
from schedframe.errors import InputError
from schedframe.fork import Fork, Outcome
from schedframe.testing import node, pod

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}


def nodes(count: int) -> list[Node]:
    return [node(f"n{i}", cpu=4) for i in range(count)]


def web(fork: Fork) -> list[Pod]:
    return [each for each in fork.cluster.list("Pod") if each.labels.get("app") == "web"]


def test_more_pods_and_fewer_nodes() -> None:
    with Fork.of([*nodes(3), WEB]) as fork:
        assert all(each.node_name for each in fork.schedule())
        placed = {each.key: each.node_name for each in web(fork)}
        with fork.trial():
            waiting = fork.remove_node("n0")
            assert {each.key for each in waiting} == {key for key, name in placed.items() if name == "n0"}
            fork.schedule()
            assert {each.pod.key for each in fork.diff().placed} == set(placed)
            fork.scale("deployment/web", 12)
            fork.schedule()
            assert (len(fork.diff().placed), len(fork.diff().pending)) == (8, 4)
            assert "Insufficient cpu" in fork.diff().pending[0].why
            assert fork.diff().nodes == ("n0",)
        assert {each.key: each.node_name for each in web(fork)} == placed


def test_a_trial_that_is_kept_stays_until_the_one_around_it_ends() -> None:
    with Fork.of(nodes(1)) as fork:
        with fork.trial():
            with fork.trial() as inner:
                fork.schedule([pod("a")])
                inner.keep()
            assert fork.cluster.get("Pod", "default/a") is not None
        assert fork.cluster.get("Pod", "default/a") is None
        with fork.trial() as trial:
            fork.schedule([pod("b")])
            trial.keep()
        assert [str(each) for each in fork.diff().pods] == ["default/b on n0"]


def test_an_answer_changes_nothing() -> None:
    with Fork.of([*nodes(2), pod("old").on_node("n0")]) as fork:
        fit = fork.would_fit(pod("p").requests(cpu=1))
        assert fit
        assert str(fit) == f"default/p fits on {fit.node_name}"
        large = fork.would_fit(pod("large").requests(cpu=9))
        assert not large
        assert large.message == "0/2 nodes are available: 2 Insufficient cpu."
        assert not fork.diff()


def test_questions_about_some_pods_leave_others_waiting() -> None:
    with Fork.of([*nodes(1), pod("a"), pod("b")]) as fork:
        a = fork.cluster.get("Pod", "default/a")
        assert a is not None
        assert [each.node_name for each in fork.schedule([a])] == ["n0"]
        (change,) = fork.diff().pending
        assert (change.pod.name, change.outcome) == ("b", Outcome.PENDING)
        assert [each.node_name for each in fork.schedule()] == ["n0"]


def test_pods_that_lose_their_node() -> None:
    owned = {"apiVersion": "apps/v1", "name": "r", "uid": "u", "controller": True}
    manifests: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [{**owned, "kind": kind}] if kind else []},
            "spec": {"nodeName": "n0", "containers": [{"name": "c"}]},
        }
        for name, kind in (("replica", "ReplicaSet"), ("daemon", "DaemonSet"), ("bare", ""))
    ]
    with Fork.of([*nodes(2), *manifests]) as fork:
        with fork.trial():
            assert [each.name for each in fork.remove_node("n0")] == ["replica"]
            assert {each.pod.name for each in fork.diff().removed} == {"daemon", "bare"}
        with fork.trial():
            assert [each.name for each in fork.drain("n0")] == ["replica"]
            assert {each.pod.name for each in fork.diff().removed} == {"bare"}
            assert fork.schedule()[0].node_name == "n1"
            assert [str(each) for each in fork.diff().moved] == ["default/replica moves from n0 to n1"]
        with fork.trial():
            assert fork.remove_node("n0", pods="delete") == ()
            assert len(fork.diff().removed) == 3
        assert fork.evict("default/bare") is None
        evicted = fork.evict("default/replica")
        assert evicted is not None
        assert evicted.name == "replica"


def test_fewer_pods() -> None:
    with Fork.of([*nodes(2), WEB]) as fork:
        fork.schedule()
        before = [each.node_name for each in web(fork)]
        fork.scale("deploy/web", 2)
        assert len(web(fork)) == 2
        assert before.count("n0") >= [each.node_name for each in web(fork)].count("n0")


def test_a_cordoned_node_takes_no_pods() -> None:
    with Fork.of(nodes(1)) as fork:
        fork.cordon("n0")
        assert not fork.would_fit(pod("p"))
        fork.cordon("n0", on=False)
        assert fork.would_fit(pod("p"))


def test_an_object_is_replaced() -> None:
    with Fork.of(nodes(1)) as fork:
        fork.update(node("n0", cpu=1))
        assert not fork.would_fit(pod("p").requests(cpu=2))
        with pytest.raises(NotFound, match="Node other is not there"):
            fork.update(node("other"))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda fork: fork.remove_node("x"), NotFound, "x"),
        (lambda fork: fork.remove_node("n0", pods="kill"), InputError, "give 'reschedule' or 'delete'"),
        (lambda fork: fork.cordon("x"), NotFound, "x"),
        (lambda fork: fork.evict("default/x"), NotFound, "x"),
        (lambda fork: fork.scale("web", 3), InputError, "names no workload"),
        (lambda fork: fork.scale("deployment/web", 3), InputError, "there is no Deployment web"),
        (lambda fork: fork.scale("deployment/web", -1), InputError, "from 0"),
        (lambda fork: fork.schedule([node("x")]), InputError, "not a pod"),
    ],
)
def test_mistakes(ask: Any, error: type[Exception], message: str) -> None:
    with Fork.of(nodes(1)) as fork:
        with pytest.raises(error, match=message):
            ask(fork)
        assert not fork.diff()


def test_a_pod_with_a_finalizer_is_gone_at_once() -> None:
    slow = pod("slow").on_node("n0").build()
    slow = evolve(slow, metadata=slow.metadata.with_finalizers(("example.com/slow",)))
    with Fork.of([*nodes(1), slow]) as fork:
        with fork.trial():
            fork.remove("Pod", "default/slow")
            assert fork.cluster.get("Pod", "default/slow") is None
        fork.cluster.delete("Pod", "default/slow")
        assert fork.cluster.get("Pod", "default/slow") is not None  # marked
        fork.remove("Pod", "default/slow")
        assert fork.cluster.get("Pod", "default/slow") is None
