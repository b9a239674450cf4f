"""Pod affinity by plain loops over pods, and random small clusters to compare it with the plugin.

Source of the rules: the documentation of Kubernetes on inter-pod affinity, and what was measured (see
``tests/conformance/data/README.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, evolve, field
from hypothesis import strategies as st

from schedframe.api import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    WeightedPodAffinityTerm,
    label_selector_matches,
)
from schedframe.state import NodeTable, ObjectStore

Labels = Mapping[str, str]

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


# ---- rules -------------------------------------------------------------------------------------------------


def full_selector(term: PodAffinityTerm, owner: Pod) -> LabelSelector | None:
    """Return the selector with matchLabelKeys and mismatchLabelKeys of its owner merged in."""
    selector = term.label_selector
    if selector is None:
        return None
    extra = [
        LabelSelectorRequirement(key, operator, (owner.labels[key],))
        for keys, operator in ((term.match_label_keys, "In"), (term.mismatch_label_keys, "NotIn"))
        for key in keys
        if key in owner.labels
    ]
    return evolve(selector, match_expressions=(*selector.match_expressions, *extra))


@define(eq=False)
class Model:
    """Everything that the rules depend on."""

    nodes: dict[str, Node] = field(factory=dict)
    pods: dict[str, Pod] = field(factory=dict)
    """By uid, with their nodes, which need not exist."""
    namespaces: dict[str, Labels] = field(factory=dict)
    hard_weight: int = 1
    ignore_preferred: bool = False

    def matches(self, term: PodAffinityTerm, owner: Pod, other: Pod, *, waiting: bool) -> bool:
        """Return whether *term* of *owner* (*waiting*: the incoming pod) matches *other*."""
        selector = term.namespace_selector
        if selector is None and not term.namespaces:
            there = other.namespace == owner.namespace
        else:
            labels = self.namespaces.get(other.namespace)
            there = other.namespace in term.namespaces
            if selector is not None:
                # Terms of waiting pods select existing namespaces and, as measured, all of them if the
                # selector matches the empty set of labels.
                known = labels is not None or not waiting
                there |= known and label_selector_matches(selector, labels or {})
                there |= waiting and label_selector_matches(selector, {})
        return there and label_selector_matches(full_selector(term, owner), other.labels)

    def running(self) -> Iterator[tuple[Pod, Node]]:
        """Iterate over the pods on nodes that exist."""
        for pod in self.pods.values():
            if pod.node_name in self.nodes:
                yield pod, self.nodes[pod.node_name]

    def verdicts(self, pod: Pod) -> dict[str, str]:
        """Node → reason for its rejection; empty if feasible."""
        return {name: self._verdict(pod, node) for name, node in self.nodes.items()}

    def _verdict(self, pod: Pod, node: Node) -> str:
        near, far = required_terms(pod)
        if near and not self._satisfies(pod, near, node):
            return AFFINITY
        neighbours = list(self.running())
        for term in far:
            if any(
                same_domain(term.topology_key, node, place) and self.matches(term, pod, other, waiting=True)
                for other, place in neighbours
            ):
                return ANTI_AFFINITY
        for other, place in neighbours:
            for term in required_terms(other)[1]:
                if same_domain(term.topology_key, node, place) and self.matches(
                    term, other, pod, waiting=False
                ):
                    return EXISTING_ANTI_AFFINITY
        return ""

    def _satisfies(self, pod: Pod, near: Iterable[PodAffinityTerm], node: Node) -> bool:
        near = list(near)
        if any(term.topology_key not in node.labels for term in near):
            return False

        def matched(other: Pod) -> bool:
            return all(self.matches(term, pod, other, waiting=True) for term in near)

        matching = [place for other, place in self.running() if matched(other)]
        if all(any(same_domain(term.topology_key, node, place) for place in matching) for term in near):
            return True
        somewhere = any(term.topology_key in place.labels for term in near for place in matching)
        return matched(pod) and not somewhere

    def filter_is_skipped(self, pod: Pod) -> bool:
        """Return whether no required term applies to the pod."""
        if any(required_terms(pod)):
            return False
        return not any(
            term.topology_key in place.labels and self.matches(term, other, pod, waiting=False)
            for other, place in self.running()
            for term in required_terms(other)[1]
        )

    def scores(self, pod: Pod) -> dict[str, int] | None:
        """Node → sum of weights, before normalisation; ``None`` if no term has anything to say."""
        own = weighted_terms(pod)
        if not own and self.ignore_preferred:
            return None
        found: list[tuple[str, str, int]] = []
        for other, place in self.running():
            said = [(weight, term) for weight, term in own if self.matches(term, pod, other, waiting=True)]
            theirs = weighted_terms(other)
            if self.hard_weight:
                theirs += [(self.hard_weight, term) for term in required_terms(other)[0]]
            said += [(w, term) for w, term in theirs if self.matches(term, other, pod, waiting=False)]
            found += [
                (term.topology_key, place.labels[term.topology_key], weight)
                for weight, term in said
                if term.topology_key in place.labels
            ]
        if not found:
            return None
        return {
            name: sum(weight for key, value, weight in found if node.labels.get(key) == value)
            for name, node in self.nodes.items()
        }


def normalized(raw: Mapping[str, int]) -> dict[str, int]:
    """Raw scores stretched to 0 … 100."""
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * ((score - low) / (high - low))) for name, score in raw.items()}


def same_domain(key: str, one: Node, other: Node) -> bool:
    """Return whether both nodes have that label with equal values."""
    return key in one.labels and one.labels.get(key) == other.labels.get(key)


def required_terms(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    """Return required affinity and anti-affinity terms."""
    affinity = pod.spec.affinity or Affinity()
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    return near.required, far.required


def weighted_terms(pod: Pod) -> list[tuple[int, PodAffinityTerm]]:
    """Return preferred terms with weights; those of anti-affinity are negative."""
    affinity = pod.spec.affinity or Affinity()
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAntiAffinity()
    found = [(each.weight, each.term) for each in near.preferred]
    return found + [(-each.weight, each.term) for each in far.preferred]


# ---- clusters ----------------------------------------------------------------------------------------------

NODES = ("n0", "n1", "n2", "n3", "n4")
KEYS = ("zone", "rack", "host")
NAMESPACES = ("default", "other", "unknown")

node_labels = st.fixed_dictionaries(
    {}, optional={"zone": st.sampled_from(("z1", "z2")), "rack": st.sampled_from(("r1", "r2", "r3"))}
)
pod_labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(("web", "db")), "tier": st.sampled_from(("1", "2"))}
)
namespace_labels = st.fixed_dictionaries({}, optional={"team": st.sampled_from(("red", "blue"))})


def _selectors(key: str, values: tuple[str, ...]) -> st.SearchStrategy[LabelSelector]:
    some = st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(tuple)
    expressions = st.one_of(
        st.builds(LabelSelectorRequirement, st.just(key), st.sampled_from(("In", "NotIn")), some),
        st.builds(LabelSelectorRequirement, st.just(key), st.sampled_from(("Exists", "DoesNotExist"))),
    )
    return st.one_of(
        st.builds(LabelSelector, st.sampled_from(values).map(lambda value: {key: value})),
        st.builds(LabelSelector, st.just({}), expressions.map(lambda expression: (expression,))),
        st.just(LabelSelector()),
    )


terms = st.builds(
    PodAffinityTerm,
    label_selector=_selectors("app", ("web", "db")) | _selectors("app", ("web", "db")) | st.none(),
    topology_key=st.sampled_from(KEYS),
    namespaces=st.sampled_from(((), (), (), ("other",), ("default", "unknown"))),
    namespace_selector=st.none() | st.none() | _selectors("team", ("red", "blue")),
    match_label_keys=st.sampled_from(((), (), (), ("tier",))),
    mismatch_label_keys=st.sampled_from(((), (), (), ("tier",))),
)
_required = st.lists(terms, max_size=2).map(tuple)
_preferred = st.lists(
    st.builds(WeightedPodAffinityTerm, st.sampled_from((1, 1, 2, 50, 100)), terms), max_size=2
).map(tuple)
affinities = st.builds(
    Affinity,
    pod_affinity=st.none() | st.builds(PodAffinity, _required, _preferred),
    pod_anti_affinity=st.none() | st.builds(PodAntiAffinity, _required, _preferred),
)


@st.composite
def pods(draw: st.DrawFn, uid: str, node_name: str = "", *, terms: bool = True) -> Pod:
    """Draw a pod with labels and maybe terms."""
    affinity = draw(st.none() | affinities) if terms else None
    metadata = ObjectMeta(
        name=uid,
        namespace=draw(st.sampled_from(NAMESPACES)),
        uid=uid,
        labels=draw(pod_labels),
        deletion_timestamp=draw(st.sampled_from((None, None, 5.0))),
    )
    return Pod(metadata, PodSpec(affinity=affinity, node_name=node_name))


@define(eq=False)
class Cluster:
    """A node table with its objects, and the model of it; every change applies to both."""

    table: NodeTable = field(factory=NodeTable)
    objects: ObjectStore = field(factory=ObjectStore)
    model: Model = field(factory=Model)

    def set_node(self, name: str, labels: Labels) -> None:
        """Add a node or change its labels; each is its own host."""
        node = Node(ObjectMeta(name=name, uid=name, labels={**labels, "host": name}))
        self.table.set_node(node)
        self.model.nodes[name] = node

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay."""
        self.table.remove_node(name)
        del self.model.nodes[name]

    def add_pod(self, pod: Pod) -> None:
        """Add a pod to its node."""
        self.table.add_pod(pod.node_name, pod)
        self.model.pods[pod.uid] = pod

    def remove_pod(self, uid: str) -> Pod:
        """Remove a pod."""
        pod = self.model.pods.pop(uid)
        self.table.remove_pod(pod.node_name, uid)
        return pod

    def set_namespace(self, name: str, labels: Labels) -> None:
        """Add a namespace or change its labels."""
        self.objects.set(Namespace(ObjectMeta(name=name, labels=labels)))
        self.model.namespaces[name] = labels

    def copy(self) -> Cluster:
        """Return an equal cluster, built from scratch."""
        fresh = Cluster()
        for name, labels in self.model.namespaces.items():
            fresh.set_namespace(name, labels)
        for node in self.model.nodes.values():
            fresh.table.set_node(node)
        fresh.model.nodes |= self.model.nodes
        for pod in self.model.pods.values():
            fresh.add_pod(pod)
        return fresh


@st.composite
def clusters(draw: st.DrawFn, names: tuple[str, ...] = NODES, most: int = 6) -> Cluster:
    """Draw a cluster, with rows that were freed and reused."""
    cluster = Cluster()
    for name in ("default", "other"):
        if draw(st.booleans()):
            cluster.set_namespace(name, draw(namespace_labels))
    for name in names:
        cluster.set_node(name, draw(node_labels))
    for i in range(draw(st.integers(0, most))):
        cluster.add_pod(draw(pods(f"running-{i}", draw(st.sampled_from(names)))))
    change(draw, cluster)
    return cluster


def change(draw: Any, cluster: Cluster) -> None:
    """Remove pods, remove nodes, relabel nodes."""
    running = sorted(cluster.model.pods)
    for uid in draw(st.lists(st.sampled_from(running), max_size=2, unique=True)) if running else ():
        cluster.remove_pod(uid)
    present = sorted(cluster.model.nodes)
    for name in draw(st.lists(st.sampled_from(present), max_size=2, unique=True)):
        if draw(st.booleans()) and len(cluster.model.nodes) > 1:
            cluster.remove_node(name)
        else:
            cluster.set_node(name, draw(node_labels))
