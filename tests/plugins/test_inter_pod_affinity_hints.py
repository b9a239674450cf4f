"""InterPodAffinity: the hints."""

from __future__ import annotations

from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from plugins_builtin.args import InterPodAffinityArgs
from plugins_builtin.inter_pod_affinity import InterPodAffinity
from schedframe.api import Affinity, Node, ObjectMeta, Pod, PodAffinity, PodAntiAffinity
from schedframe.queue import Action, ClusterEvent, EventResource

from .affinity_model import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    NODES,
    Cluster,
    clusters,
    node_labels,
    pod_labels,
    pods,
    required_terms,
)
from .affinity_world import far_from, make_node, make_pod, near, nominated
from .agreement import StandInHandle
from .events import hint_of

PLUGIN = InterPodAffinity(InterPodAffinityArgs(), StandInHandle())
WEB = make_pod("web-0", "n", app="web")
DB = make_pod("db-0", "n", app="db")
WANTS = make_pod("waiting", app="api", affinity=near("web"))
AVOIDS = make_pod("waiting", app="api", affinity=far_from("web"))
PLAIN = make_pod("waiting", app="api")


def pod_event(action: Action, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
    """Return the hint for a change of a pod."""
    changed = new if new is not None else old
    assert changed is not None
    itself = changed.uid == pod.uid
    resource = EventResource.UNSCHEDULABLE_POD if itself else EventResource.ASSIGNED_POD
    return hint_of(PLUGIN, ClusterEvent(resource, action), pod, old, new)


def node_event(action: Action, pod: Pod, old: Node | None, new: Node) -> bool:
    """Return the hint for a change of a node."""
    return hint_of(PLUGIN, ClusterEvent(EventResource.NODE, action), pod, old, new)


# ---- pods ------------------------------------------------------------------------------------------------


def test_an_added_pod_that_satisfies_affinity_helps() -> None:
    assert pod_event(Action.ADD, WANTS, None, WEB)
    assert not pod_event(Action.ADD, WANTS, None, DB)
    assert not pod_event(Action.ADD, AVOIDS, None, WEB)
    assert not pod_event(Action.ADD, PLAIN, None, WEB)


def test_deleting_a_conflicting_pod_helps() -> None:
    assert pod_event(Action.DELETE, AVOIDS, WEB, None)
    assert not pod_event(Action.DELETE, AVOIDS, DB, None)
    assert not pod_event(Action.DELETE, WANTS, WEB, None)


def test_deleting_a_pod_with_anti_affinity_helps_those_it_rejected() -> None:
    avoiding = make_pod("avoiding", "n", app="db", affinity=far_from("api"))
    assert pod_event(Action.DELETE, PLAIN, avoiding, None)
    assert not pod_event(Action.DELETE, make_pod("waiting", app="cache"), avoiding, None)


def test_a_label_change_helps_if_it_changes_which_terms_match() -> None:
    assert pod_event(Action.UPDATE_POD_LABEL, WANTS, evolve_labels(WEB, app="db"), WEB)
    assert pod_event(Action.UPDATE_POD_LABEL, AVOIDS, WEB, evolve_labels(WEB, app="db"))
    assert not pod_event(Action.UPDATE_POD_LABEL, WANTS, WEB, evolve_labels(WEB, app="db"))
    assert not pod_event(Action.UPDATE_POD_LABEL, AVOIDS, evolve_labels(WEB, app="db"), WEB)
    assert not pod_event(Action.UPDATE_POD_LABEL, WANTS, WEB, evolve_labels(WEB, app="web", more="x"))


def test_a_label_change_of_the_pod_itself_helps() -> None:
    assert pod_event(Action.UPDATE_POD_LABEL, WANTS, WANTS, evolve_labels(WANTS, app="db"))


def test_pods_without_a_node_help_only_if_nominated() -> None:
    pending = make_pod("web-0", app="web")
    assert not pod_event(Action.ADD, WANTS, None, pending)
    assert not pod_event(Action.DELETE, AVOIDS, pending, None)
    assert pod_event(Action.DELETE, AVOIDS, nominated(pending, "n"), None)


# ---- nodes -----------------------------------------------------------------------------------------------


def test_a_new_node_helps_if_it_has_the_label() -> None:
    zoned, bare = make_node("n", zone="z1"), make_node("n")
    assert node_event(Action.ADD, WANTS, None, zoned)
    assert not node_event(Action.ADD, WANTS, None, bare)
    assert node_event(Action.ADD, AVOIDS, None, bare)
    assert not node_event(Action.ADD, PLAIN, None, zoned)


def test_a_node_that_changes_domain_helps() -> None:
    one, other, bare = make_node("n", zone="z1"), make_node("n", zone="z2"), make_node("n")
    for pod in (WANTS, AVOIDS):
        assert node_event(Action.UPDATE_NODE_LABEL, pod, one, other)
        assert not node_event(Action.UPDATE_NODE_LABEL, pod, one, evolve_node(one, more="x"))
    assert node_event(Action.UPDATE_NODE_LABEL, WANTS, bare, one)
    assert not node_event(Action.UPDATE_NODE_LABEL, WANTS, one, bare)
    assert node_event(Action.UPDATE_NODE_LABEL, AVOIDS, one, bare)
    assert not node_event(Action.UPDATE_NODE_LABEL, AVOIDS, bare, one)


def evolve_labels(pod: Pod, **labels: str) -> Pod:
    """Return the pod with other labels."""
    return evolve(pod, metadata=evolve(pod.metadata, labels=labels))


def evolve_node(node: Node, **labels: str) -> Node:
    """Return the node with more labels."""
    return Node(ObjectMeta(name=node.name, labels={**node.labels, **labels}))


# ---- at random -------------------------------------------------------------------------------------------


def simple(pod: Pod) -> Pod:
    """Return *pod* with at most one required term of either kind, without namespace selectors and label keys.

    The docstring of the module of hints lists the events that pods with more miss.
    """
    near_terms, far_terms = (
        tuple(
            evolve(term, namespace_selector=None, match_label_keys=(), mismatch_label_keys=())
            for term in terms[:1]
        )
        for terms in required_terms(pod)
    )
    affinity = Affinity(
        pod_affinity=PodAffinity(near_terms) if near_terms else None,
        pod_anti_affinity=PodAntiAffinity(far_terms) if far_terms else None,
    )
    return evolve(pod, spec=evolve(pod.spec, affinity=affinity))


simple_pods = pods("p").map(simple)


@st.composite
def simple_clusters(draw: st.DrawFn) -> Cluster:
    """Draw a cluster of such pods."""
    drawn = draw(clusters())
    cluster = Cluster()
    for node in drawn.model.nodes.values():
        cluster.set_node(node.name, node.labels)
    for pod in drawn.model.pods.values():
        cluster.add_pod(simple(pod))
    return cluster


def opened(before: dict[str, str], cluster: Cluster, pod: Pod, causes: tuple[str, ...]) -> bool:
    """Return whether a node is feasible that was rejected before for one of *causes*."""
    after = cluster.model.verdicts(pod)
    return any(not verdict and before.get(name, causes[0]) in causes for name, verdict in after.items())


@given(cluster=simple_clusters(), pod=simple_pods, data=st.data())
def test_the_hint_never_skips_a_change_of_a_pod_that_helps(
    cluster: Cluster, pod: Pod, data: st.DataObject
) -> None:
    model = cluster.model
    before = model.verdicts(pod)
    event = data.draw(st.sampled_from(("add", "delete", "labels")))
    if event == "add" or not model.pods:
        new = simple(data.draw(pods("new", data.draw(st.sampled_from(NODES)))))
        cluster.add_pod(new)
        hint = pod_event(Action.ADD, pod, None, new)
    else:
        old = cluster.remove_pod(data.draw(st.sampled_from(sorted(model.pods))))
        if event == "delete":
            hint = pod_event(Action.DELETE, pod, old, None)
        else:
            new = evolve_labels(old, **data.draw(pod_labels))
            cluster.add_pod(new)
            hint = pod_event(Action.UPDATE_POD_LABEL, pod, old, new)
    # A pod may become the first of its group by a deletion; no hint covers that.
    may_be_first = bool(required_terms(pod)[0]) and all(
        model.matches(term, pod, pod, waiting=True) for term in required_terms(pod)[0]
    )
    assume(not may_be_first or event == "add")
    if opened(before, cluster, pod, (AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY)):
        assert hint


@given(
    cluster=simple_clusters(),
    pod=simple_pods,
    name=st.sampled_from((*NODES, "new")),
    labels=node_labels,
)
def test_the_hint_never_skips_a_change_of_a_node_that_helps(
    cluster: Cluster, pod: Pod, name: str, labels: dict[str, str]
) -> None:
    """Except for the anti-affinity of existing pods, which the hint does not cover."""
    model = cluster.model
    before, old = model.verdicts(pod), model.nodes.get(name)
    cluster.set_node(name, labels)
    new = model.nodes[name]
    action = Action.ADD if old is None else Action.UPDATE_NODE_LABEL
    near_terms, far_terms = required_terms(pod)
    if old is None and not near_terms and not far_terms:
        return
    may_be_first = bool(near_terms) and model.matches(near_terms[0], pod, pod, waiting=True)
    assume(not may_be_first)
    if opened(before, cluster, pod, (AFFINITY, ANTI_AFFINITY)):
        assert node_event(action, pod, old, new)
