"""Groups from their first member to their last: quorum, all or nothing, waiting without a hot loop."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from schedframe import Scheduler
from schedframe.api import POD_GROUP_SCHEDULED
from schedframe.cycle import Tuning
from schedframe.queue import GroupQueue, Pool, PriorityQueue
from schedframe.state import GroupCache
from tests.configurations import configuration

from .helpers import GANGS, TOPOLOGY, ZONE, group, node, nodes_of, pod, pools, scheduler_of, zoned

CODE_OF_GROUPS = (
    "/schedframe/cycle/pod_groups/",
    "/queue/group",
    "/state/group_members",
    "/framework/placing",
    "/framework/placements",
    "/framework/preemption/groups",
    "/plugins_builtin/pod_groups/",
)

EACH_GROUP = Tuning(wait_together=False)


def condition(cluster, name="g"):  # type: ignore[no-untyped-def]
    found = cluster.get("PodGroup", f"default/{name}")
    assert found is not None
    return found.status.condition(POD_GROUP_SCHEDULED)


def test_without_the_gate_nothing_of_groups_is_made() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), gates={"GenericWorkload": False})
    assert type(scheduler.core.queue) is PriorityQueue
    assert not isinstance(scheduler.core.cache, GroupCache)
    cluster.create(pod("p", "g"))
    scheduler.run_until_idle()
    assert nodes_of(cluster) == {"p": "n"}


def test_without_the_gate_no_code_of_groups_runs() -> None:
    """Not for a pod that is placed, not for one that waits, preempts, is updated or goes."""
    low = pod("low", cpu=1, nodeName="n0", priority=-1)
    cluster, scheduler, clock = scheduler_of(
        node("n0", cpu=2), low, gates={"GenericWorkload": False}, plugins={}
    )
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename.replace("\\", "/")
        if event == "call" and any(part in path for part in CODE_OF_GROUPS):
            called.add(path)

    sys.setprofile(note)
    try:
        for name, cpu, priority in (("a", 1, 0), ("large", 9, 0), ("urgent", 2, 10)):
            cluster.create(pod(name, "g", cpu=cpu, priority=priority))
            scheduler.run_until_idle()
        for name in ("a", "large", "urgent"):
            if cluster.get("Pod", f"default/{name}") is not None:
                cluster.delete("Pod", f"default/{name}")
        clock.advance(400)
        scheduler.run_until_idle()
    finally:
        sys.setprofile(None)
    assert not called


def test_claims_that_the_members_should_share_are_refused_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    claims = {"resourceClaims": [{"name": "link", "resourceClaimTemplateName": "t"}]}
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 1, **claims))
    cluster.create(pod("a", "g"))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"a"}
    (record,) = [each for each in caplog.records if "claims are not shared" in each.message]
    assert "default/g" in record.message
    assert "link" in record.message


def test_a_gang_waits_for_its_quorum_and_is_then_placed_together() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 3))
    for name in "ab":
        cluster.create(pod(name, "g"))
        scheduler.run_until_idle()
    assert set(pools(scheduler).values()) == {Pool.GATED}
    cluster.create(pod("c", "g"))
    assert scheduler.run_until_idle() == 1
    assert nodes_of(cluster) == dict.fromkeys("abc", "n")
    assert condition(cluster).status == "True"


def test_a_gang_that_does_not_fit_binds_no_member() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=2), group("g", 3))
    for name in "abc":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    assert nodes_of(cluster) == {}
    assert condition(cluster).message == "pod group is unschedulable"
    assert not scheduler.core.cache.states
    scheduler.core.cache.check_invariants()


def test_a_failed_gang_is_not_tried_again_before_its_backoff_is_over() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), group("g", 3), tuning=EACH_GROUP)
    for name in "abc":
        cluster.create(pod(name, "g"))
    assert scheduler.run_until_idle() == 1
    assert scheduler.run_until_idle() == 0
    clock.advance(3)
    assert scheduler.run_until_idle() == 1
    assert scheduler.run_until_idle() == 0


def test_a_gang_is_searched_again_only_if_something_changed() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), group("g", 3), tuning=EACH_GROUP)
    assert scheduler.groups is not None
    for name in "abc":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    for _ in range(20):
        clock.advance(20)  # longer than the longest backoff of a group of three
        scheduler.run_until_idle()
    assert scheduler.groups.searches == 1
    attempts = {each.attempts for each in scheduler.pending()}
    assert attempts == {21}
    cluster.create(node("more", cpu=1))
    scheduler.run_until_idle()
    assert scheduler.groups.searches == 2
    assert len(nodes_of(cluster)) == 3


def longest_wait(scheduler, clock, seconds: int) -> float:  # type: ignore[no-untyped-def]
    """Return the longest backoff of a pod after attempts over *seconds* seconds."""
    for _ in range(seconds // 20):
        clock.advance(20)
        scheduler.run_until_idle()
    return max(each.wake_at - each.since for each in scheduler.pending() if each.wake_at is not None)


@pytest.mark.parametrize(("members", "longest"), [(1, 10), (4, 20), (16, 40)])
def test_the_longest_backoff_grows_with_the_square_root_of_the_size(members: int, longest: int) -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), group("g", members), tuning=EACH_GROUP)
    for i in range(members):
        cluster.create(pod(f"p{i}", "g", cpu=3))
    assert longest <= longest_wait(scheduler, clock, 400) <= longest + 1


def test_a_group_that_no_event_can_wake_backs_off_no_longer_than_a_pod() -> None:
    cluster, scheduler, clock = scheduler_of(node("n"), group("g", 16, ZONE), gates=TOPOLOGY)
    for i in range(16):
        cluster.create(pod(f"p{i}", "g", cpu=0.1))
    assert longest_wait(scheduler, clock, 400) <= 11
    assert condition(cluster).message == "no feasible placements found"
    cluster.create(zoned("labelled", "a"))
    clock.advance(11)
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 16


def test_an_event_that_helps_ends_the_wait_at_once_and_others_do_not() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=2), group("g", 3), pod("lone", cpu=2, nodeName="n"))
    assert scheduler.groups is not None
    for name in "abc":
        cluster.create(pod(name, "g", cpu=0.5))
    scheduler.run_until_idle()
    cluster.create({"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}})
    assert scheduler.run_until_idle() == 0
    cluster.delete("Pod", "default/lone")
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 3


def test_many_waiting_gangs_do_not_make_each_other_search_again() -> None:
    cluster, scheduler, clock = scheduler_of(
        node("n", cpu=1), *(group(f"g{i}", 2) for i in range(5)), tuning=EACH_GROUP
    )
    assert scheduler.groups is not None
    for i in range(5):
        for name in "ab":
            cluster.create(pod(f"{name}{i}", f"g{i}"))
    scheduler.run_until_idle()
    for _ in range(5):
        clock.advance(12)
        scheduler.run_until_idle()
    assert scheduler.groups.searches == 5


def test_members_that_run_count_for_the_quorum() -> None:
    cluster, scheduler, _ = scheduler_of(
        node("n", cpu=4), group("g", 3), pod("a", "g", nodeName="n"), pod("b", "g", nodeName="n")
    )
    cluster.create(pod("c", "g"))
    scheduler.run_until_idle()
    assert nodes_of(cluster)["c"] == "n"


def test_a_group_without_its_object_waits_for_it() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"))
    cluster.create(pod("a", "g"))
    scheduler.run_until_idle()
    assert pools(scheduler) == {"a": Pool.GATED}
    cluster.create(group("g"))
    scheduler.run_until_idle()
    assert nodes_of(cluster) == {"a": "n"}


def test_a_later_minimum_that_is_lower_opens_the_gate() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 3))
    for name in "ab":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    assert not nodes_of(cluster)
    cluster.apply(group("g", 2))
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 2


def test_a_member_that_cannot_run_does_not_keep_a_quorum_waiting() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=4), group("g", 2))
    for name, cpu in (("a", 1), ("big", 9), ("b", 1)):
        cluster.create(pod(name, "g", cpu=cpu))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"a", "b"}
    assert pools(scheduler) == {"big": Pool.BACKOFF}


def test_nothing_is_evicted_for_a_gang_that_cannot_run_even_then() -> None:
    low = [pod(f"low{i}", cpu=2, nodeName=f"n{i}", priority=1) for i in range(2)]
    cluster, scheduler, _ = scheduler_of(node("n0", cpu=2), node("n1", cpu=2), group("g", 3), *low)
    for i in range(3):
        cluster.create(pod(f"high{i}", "g", cpu=2, priority=10))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"low0", "low1"}


def test_victims_go_for_a_gang_that_can_run_then() -> None:
    low = [pod(f"low{i}", cpu=2, nodeName=f"n{i}", priority=1) for i in range(2)]
    cluster, scheduler, clock = scheduler_of(node("n0", cpu=2), node("n1", cpu=2), group("g", 2), *low)
    for i in range(2):
        cluster.create(pod(f"high{i}", "g", cpu=2, priority=10))
    scheduler.run_until_idle()
    for _ in range(5):
        clock.advance(12)
        scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"high0", "high1"}


@pytest.mark.parametrize("alike", [True, False])
def test_a_topology_constraint_keeps_a_gang_in_one_domain(alike: bool) -> None:
    nodes = [zoned(f"{zone}{i}", zone, cpu=2 if zone == "a" else 4) for zone in "abc" for i in range(3)]
    cluster, scheduler, _ = scheduler_of(*nodes, group("g", 6, ZONE), gates=TOPOLOGY)
    for i in range(6):
        cluster.create(pod(f"p{i}", "g", cpu=2 if alike else 1.5 + i / 10))
    scheduler.run_until_idle()
    placed = nodes_of(cluster)
    assert len(placed) == 6
    assert len({name[0] for name in placed.values()}) == 1


def test_a_gang_that_fits_in_no_single_domain_waits() -> None:
    nodes = [zoned(f"{zone}{i}", zone, cpu=2) for zone in "ab" for i in range(2)]
    cluster, scheduler, _ = scheduler_of(*nodes, group("g", 3, ZONE), gates=TOPOLOGY)
    for i in range(3):
        cluster.create(pod(f"p{i}", "g", cpu=2))
    scheduler.run_until_idle()
    assert not nodes_of(cluster)
    assert condition(cluster).message.startswith("0/2 placements are available")


def test_pods_without_a_group_are_scheduled_as_ever() -> None:
    cluster, scheduler, _ = scheduler_of(node("n"), group("g", 9))
    cluster.create(pod("member", "g"))
    for i in range(3):
        cluster.create(pod(f"lone{i}"))
    scheduler.run_until_idle()
    assert set(nodes_of(cluster)) == {"lone0", "lone1", "lone2"}
    queue = scheduler.core.queue
    assert isinstance(queue, GroupQueue)
    queue.check_invariants()


def test_gates_that_depend_on_others_are_refused_alone() -> None:
    with pytest.raises(Exception, match="depends on GenericWorkload"):
        scheduler_of(node("n"), gates={"GangScheduling": True})
    assert GANGS["GenericWorkload"]


def test_outcomes_of_groups_that_are_gone_are_dropped() -> None:
    cluster, scheduler, _ = scheduler_of(node("n", cpu=1))
    cycle = scheduler.groups
    assert cycle is not None
    kept = []
    for number in range(200):
        name = f"g{number}"
        cluster.create(group(name, 2))
        for member in "ab":
            cluster.create(pod(f"{name}-{member}", name))
        scheduler.run_until_idle()
        kept.append(len(cycle._known))
        for member in "ab":
            cluster.delete("Pod", f"default/{name}-{member}")
        cluster.delete("PodGroup", f"default/{name}")
    assert kept[0] == 1
    assert max(kept) <= 3


def test_after_a_restart_the_members_that_are_bound_count() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=2), group("g", 4))
    for name in "ab":
        cluster.create(pod(name, "g", nodeName="n"))
    for name in "cd":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    scheduler.close()
    cluster.create(node("more"))
    with Scheduler(cluster, clock=clock, seed=1, feature_gates=GANGS) as again:
        again.run_until_idle()
    assert len(nodes_of(cluster)) == 4


def test_a_group_that_waits_is_tried_with_a_new_configuration() -> None:
    cluster, scheduler, _ = scheduler_of(zoned("n", "a"), group("g", 2))
    for name in "ab":
        cluster.create(pod(name, "g", nodeSelector={ZONE: "b"}))
    scheduler.run_until_idle()
    assert not nodes_of(cluster)
    disabled = {"filter": {"disabled": [{"name": "NodeAffinity"}]}}
    disabled |= {"preFilter": {"disabled": [{"name": "NodeAffinity"}]}}
    scheduler.reload(configuration({"plugins": disabled}))
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 2


def test_a_minimum_that_is_raised_while_the_group_waits_counts_at_the_next_attempt() -> None:
    cluster, scheduler, clock = scheduler_of(node("n", cpu=1), group("g", 2))
    for name in "abc":
        cluster.create(pod(name, "g"))
    scheduler.run_until_idle()
    cluster.apply(group("g", 4))
    cluster.create(node("more", cpu=8))
    clock.advance(400)
    scheduler.run_until_idle()
    assert not nodes_of(cluster)
    assert set(pools(scheduler).values()) == {Pool.GATED}
    cluster.create(pod("d", "g"))
    scheduler.run_until_idle()
    assert len(nodes_of(cluster)) == 4
