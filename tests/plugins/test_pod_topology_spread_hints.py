"""PodTopologySpread: the hints."""

from __future__ import annotations

from attrs import evolve

from plugins_builtin.args import PodTopologySpreadArgs
from plugins_builtin.pod_topology_spread import PodTopologySpread
from schedframe.api import NO_SCHEDULE, SCHEDULE_ANYWAY, Node, NodeSpec, Pod, PodStatus, Taint, Toleration
from schedframe.queue import Action, ClusterEvent, EventResource
from tests.plugins.agreement import StandInHandle
from tests.plugins.events import hint_of
from tests.plugins.spreading import RACK, constraint, make_node, make_pod

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
    for action, nodes in ((Action.ADD, lambda n: (None, n)), (Action.DELETE, lambda n: (n, None))):
        assert node_event(action, *nodes(COMPLETE))
        assert not node_event(action, *nodes(BARE))
        assert node_event(action, *nodes(BARE), FREE), "a pod without constraints takes any"


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
