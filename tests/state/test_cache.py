"""What the state machine does not show by itself: texts, returned values, small print."""

from __future__ import annotations

import pytest

from schedframe.api import Affinity, HostPort, PodAffinity, PodStatus
from schedframe.errors import InvariantError
from schedframe.state import Cache, compare

from .build import make_node, make_pod


@pytest.fixture
def cache() -> Cache:
    cache = Cache(assume_ttl=30.0)
    cache.set_nodes([make_node("n0"), make_node("n1")])
    return cache


def test_an_assumption_expires_only_after_binding_finished(cache: Cache) -> None:
    pod = make_pod("p", "n0", {"cpu": 5})
    cache.assume_pod(pod)
    assert cache.next_deadline() is None
    assert [*cache.expire(1e9)] == []
    cache.finish_binding(pod, 100.0)
    assert cache.next_deadline() == 130.0
    assert [*cache.expire(129.9)] == []
    assert [*cache.expire(130.0)] == [pod]
    assert cache.table.requested("cpu")[0] == 0
    assert cache.next_deadline() is None


def test_a_confirmed_pod_does_not_expire(cache: Cache) -> None:
    pod = make_pod("p", "n0")
    cache.assume_pod(pod)
    cache.finish_binding(pod, 100.0)
    cache.add_pod(pod)
    cache.finish_binding(pod, 100.0)
    assert cache.next_deadline() is None
    assert not cache.forget_pod(pod)
    assert cache.get_pod(pod.uid) is pod


def test_confirmation_on_another_node_moves_the_pod(cache: Cache) -> None:
    pod = make_pod("p", "n0", {"cpu": 5})
    cache.assume_pod(pod)
    cache.add_pod(pod.with_node_name("n1"))
    assert cache.table.requested("cpu")[:2].tolist() == [0, 5]


def test_confirmation_as_assumed_touches_no_row(cache: Cache) -> None:
    pod = make_pod("p", "n0", {"cpu": 5}, labels={"app": "web"})
    cache.assume_pod(pod)
    version = cache.table.row_log.version
    cache.add_pod(make_pod("p", "n0", {"cpu": 5}, labels={"app": "web"}, status=PodStatus(phase="Running")))
    assert cache.table.row_log.version == version


@pytest.mark.parametrize(
    "changed",
    [
        make_pod("p", "n0", {"cpu": 6}),
        make_pod("p", "n0", {"cpu": 5}, labels={"app": "db"}),
        make_pod("p", "n0", {"cpu": 5}, deletion_timestamp=1.0),
        make_pod("p", "n0", {"cpu": 5}, ports=[HostPort("0.0.0.0", "TCP", 80)]),
        make_pod("p", "n0", {"cpu": 5}, affinity=Affinity(pod_affinity=PodAffinity())),
    ],
)
def test_whatever_plugins_count_touches_the_row(cache: Cache, changed: object) -> None:
    cache.add_pod(make_pod("p", "n0", {"cpu": 5}))
    version = cache.table.row_log.version
    cache.update_pod(changed)  # type: ignore[arg-type]  # parametrize hides the type
    assert cache.table.row_log.version > version
    cache.check_invariants()


def test_assuming_twice_names_the_pod(cache: Cache) -> None:
    cache.assume_pod(make_pod("p", "n0"))
    with pytest.raises(InvariantError, match=r"default/p \(uid-p\) is in the cache already"):
        cache.assume_pod(make_pod("p", "n1"))


def test_order_is_kept_only_with_the_option() -> None:
    plain, ordered = Cache(), Cache(ordered=True)
    for cache in (plain, ordered):
        cache.set_nodes([make_node("n0"), make_node("n1")])
        cache.remove_node("n0")
    assert plain.order.names() == []
    assert ordered.order.names() == ["n1"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c.table.add_pod("n1", make_pod("q", "n1")),
        lambda c: c.table.remove_pod("n0", "uid-p"),
        lambda c: setattr(next(c.pods()), "node_name", "n1"),
        lambda c: setattr(next(c.pods()), "pod", make_pod("p", "n0")),
        lambda c: setattr(next(c.pods()), "deadline", 5.0),
        lambda c: c.order.remove("n0"),
    ],
)
def test_damage_is_found(damage: object) -> None:
    cache = Cache(ordered=True)
    cache.set_nodes([make_node("n0"), make_node("n1")])
    cache.add_pod(make_pod("p", "n0"))
    cache.check_invariants()
    assert callable(damage)
    damage(cache)
    with pytest.raises(InvariantError):
        cache.check_invariants()


# ---- comparer ----------------------------------------------------------------------------------------------


def test_comparison_names_what_differs() -> None:
    cache = Cache()
    cache.set_nodes([make_node("n0"), make_node("extra")])
    for name, node in (("same", "n0"), ("moved", "n0"), ("gone", "n0"), ("ended", "n0")):
        cache.add_pod(make_pod(name, node))
    cache.assume_pod(make_pod("assumed", "n0"))
    cluster = [
        make_pod("same", "n0"),
        make_pod("moved", "n1"),
        make_pod("new", "n1"),
        make_pod("pending"),
        make_pod("ended", "n0", status=PodStatus(phase="Succeeded")),
        make_pod("never-seen", "n0", status=PodStatus(phase="Failed")),
    ]
    found = compare(cache, [make_node("n0"), make_node("n1")], cluster)
    assert found
    assert found.missed_nodes == ("n1",)
    assert found.redundant_nodes == ("extra",)
    assert found.missed_pods == ("default/new (uid-new)",)
    assert found.redundant_pods == ("default/ended (uid-ended)", "default/gone (uid-gone)")
    assert found.misplaced_pods == ("default/moved (uid-moved)",)


def test_nothing_differs_in_an_empty_cluster() -> None:
    assert not compare(Cache(), [], [])
