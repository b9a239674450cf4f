"""PodTopologySpread: the hints."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import PodTopologySpread
from schedframe.api import (
    DO_NOT_SCHEDULE,
    NO_SCHEDULE,
    SCHEDULE_ANYWAY,
    Node,
    NodeSpec,
    Pod,
    PodStatus,
    Taint,
    Toleration,
)
from schedframe.queue import Action, ClusterEvent, EventResource
from schedframe.state import NodeTable
from tests.plugins.agreement import StandInHandle
from tests.plugins.events import hint_of
from tests.plugins.spreading import (
    HOSTNAME,
    MISSING,
    NAMES,
    RACK,
    cluster,
    constraint,
    make_node,
    make_pod,
    nodes,
    plain,
    pod_labels,
    pods,
    tables,
    verdicts,
)

PLUGIN = PodTopologySpread(PodTopologySpreadArgs(), StandInHandle())
WAITING = make_pod("waiting", constraint())
FREE = make_pod("free")
RUNNING = make_pod("running", node_name="n")
OTHER = make_pod("running", node_name="n", labels={"app": "db"})


def pod_event(action: Action, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    itself = (new or old).uid == pod.uid
    resource = EventResource.UNSCHEDULABLE_POD if itself else EventResource.ASSIGNED_POD
    return hint_of(PLUGIN, ClusterEvent(resource, action), pod, old, new)


def node_event(action: Action, old: Node | None, new: Node | None, pod: Pod = WAITING) -> bool:
    return hint_of(PLUGIN, ClusterEvent(EventResource.NODE, action), pod, old, new)


# ---- pods ------------------------------------------------------------------------------------------------


def test_adding_or_deleting_matching_pods_helps() -> None:
    assert pod_event(Action.ADD, WAITING, None, RUNNING)
    assert pod_event(Action.DELETE, WAITING, RUNNING, None)
    assert not pod_event(Action.ADD, WAITING, None, OTHER)
    assert not pod_event(Action.DELETE, WAITING, OTHER, None)


def test_pods_that_cannot_count_do_not_help() -> None:
    pending = make_pod("pending")
    elsewhere = make_pod("elsewhere", namespace="other", node_name="n")
    assert not pod_event(Action.ADD, WAITING, None, pending)
    assert not pod_event(Action.DELETE, WAITING, elsewhere, None)
    nominated = Pod(pending.metadata, pending.spec, PodStatus(nominated_node_name="n"))
    assert pod_event(Action.DELETE, WAITING, nominated, None)


def test_a_label_change_helps_if_it_changes_a_match() -> None:
    assert pod_event(Action.UPDATE_POD_LABEL, WAITING, RUNNING, OTHER)
    assert pod_event(Action.UPDATE_POD_LABEL, WAITING, OTHER, RUNNING)
    tagged = make_pod("running", node_name="n", labels={"app": "web", "more": "x"})
    assert not pod_event(Action.UPDATE_POD_LABEL, WAITING, RUNNING, tagged)
    assert not pod_event(Action.UPDATE_POD_LABEL, WAITING, RUNNING, RUNNING)


def test_a_label_change_of_the_pod_itself_helps() -> None:
    before = make_pod("waiting", constraint(), labels={"app": "db"})
    assert pod_event(Action.UPDATE_POD_LABEL, WAITING, before, WAITING)


def test_a_toleration_helps_if_taints_are_honored() -> None:
    tolerations = (Toleration(key="x"),)
    for policy, expected in (("Honor", True), ("Ignore", False), ("", False)):
        old = make_pod("waiting", constraint(), constraint(RACK, node_taints_policy=policy))
        new = Pod(old.metadata, evolve(old.spec, tolerations=tolerations))
        assert pod_event(Action.UPDATE_POD_TOLERATION, new, old, new) is expected


def test_only_hard_constraints_count() -> None:
    soft = make_pod("waiting", constraint(when=SCHEDULE_ANYWAY))
    for pod in (soft, FREE):
        assert not pod_event(Action.ADD, pod, None, RUNNING)
        assert not pod_event(Action.UPDATE_POD_LABEL, pod, RUNNING, OTHER)


# ---- nodes -----------------------------------------------------------------------------------------------

COMPLETE = make_node("n", zone="a")
BARE = make_node("n")


def tainted(node: Node) -> Node:
    return Node(node.metadata, NodeSpec(taints=(Taint("t", "", NO_SCHEDULE),)))


def test_adding_or_deleting_nodes_with_all_keys_helps() -> None:
    for action, change in ((Action.ADD, lambda n: (None, n)), (Action.DELETE, lambda n: (n, None))):
        assert node_event(action, *change(COMPLETE))
        assert not node_event(action, *change(BARE))
        assert node_event(action, *change(BARE), FREE), "a pod without constraints takes any"


def test_changes_of_topology_labels_help() -> None:
    change = Action.UPDATE_NODE_LABEL
    assert node_event(change, BARE, COMPLETE)
    assert node_event(change, COMPLETE, BARE)
    assert node_event(change, COMPLETE, make_node("n", zone="b"))
    assert not node_event(change, COMPLETE, make_node("n", zone="a", disk="ssd"))
    assert not node_event(change, BARE, make_node("n", disk="ssd"))


def test_changed_taints_help_on_nodes_with_all_keys() -> None:
    change = Action.UPDATE_NODE_TAINT
    assert node_event(change, COMPLETE, tainted(COMPLETE))
    assert not node_event(change, BARE, tainted(BARE))
    assert node_event(change, BARE, tainted(BARE), FREE)
    cordoned = Node(COMPLETE.metadata, NodeSpec(unschedulable=True))
    assert not node_event(change, cordoned, COMPLETE)


# ---- at random -------------------------------------------------------------------------------------------


def rejected(table: NodeTable, pod: Pod) -> dict[str, str]:
    """Node → reason of its rejection; empty if feasible."""
    hard = plain(pod.spec.topology_spread_constraints, DO_NOT_SCHEDULE, pod)
    names = table.rows().names()
    return dict(zip(names, verdicts(table, pod, hard, names), strict=True))


def opened(before: dict[str, str], after: dict[str, str]) -> bool:
    """Return whether a node is feasible that was not before, or did not exist."""
    return any(not reason and before.get(name, MISSING) for name, reason in after.items())


few = st.integers(0, 3)
waiting_pods = st.builds(
    lambda labels, *constraints: make_pod("p", *constraints, labels=labels),
    pod_labels,
    st.builds(constraint, max_skew=st.integers(1, 2), min_domains=st.sampled_from((None, 2, 4))),
    st.builds(constraint, st.just(HOSTNAME), max_skew=st.integers(1, 3)),
)


@given(table=st.builds(cluster, a=few, b=few, c=few), pod=waiting_pods, data=st.data())
def test_the_hint_never_skips_a_change_of_a_pod_that_helps(
    table: NodeTable, pod: Pod, data: st.DataObject
) -> None:
    before = rejected(table, pod)
    running = [each for row in table.used_rows() for each in table.pods_at(row).values()]
    action = data.draw(st.sampled_from((Action.ADD, Action.DELETE, Action.UPDATE_POD_LABEL)))
    if action is Action.ADD or not running:
        action, old = Action.ADD, None
        new: Pod | None = data.draw(pods("new", data.draw(st.sampled_from(("a1", "b1", "c1")))))
    else:
        old = data.draw(st.sampled_from(running))
        table.remove_pod(old.node_name, old.uid)
        relabelled = evolve(old, metadata=evolve(old.metadata, labels=data.draw(pod_labels)))
        new = relabelled if action is Action.UPDATE_POD_LABEL else None
    if new is not None:
        table.add_pod(new.node_name, new)
    if opened(before, rejected(table, pod)):
        assert pod_event(action, pod, old, new)


@given(table=tables(), pod=pods("p", spread=True), name=st.sampled_from(NAMES), data=st.data())
def test_the_hint_never_skips_a_change_of_a_node_that_helps(
    table: NodeTable, pod: Pod, name: str, data: st.DataObject
) -> None:
    """Only for pods without node affinity: other labels that it refers to help without a hint."""
    pod = Pod(pod.metadata, evolve(pod.spec, affinity=None, node_selector={}))
    before = rejected(table, pod)
    row = table.live_row(name)
    old = None if row is None else table.node_at(row)
    if old is not None and table.num_nodes > 1 and data.draw(st.booleans()):
        table.remove_node(name)
        new, event = None, Action.DELETE
    else:
        new = data.draw(nodes(name))
        table.set_node(new)
        event = Action.ADD if old is None else Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    if opened(before, rejected(table, pod)):
        assert node_event(event, old, new, pod)
