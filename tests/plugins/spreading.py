"""Random clusters, and the algorithm of the reference by plain loops over nodes and pods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from hypothesis import strategies as st

from schedframe.api import (
    DO_NOT_SCHEDULE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    SCHEDULE_ANYWAY,
    Affinity,
    CompiledSelector,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    ObjectMeta,
    Pod,
    PodSpec,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    compile_label_selector,
    find_untolerated_taint,
    required_node_affinity,
)
from schedframe.state import NodeTable

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
RACK = "rack"
KEYS = (ZONE, HOSTNAME, RACK)
NAMES = tuple(f"n{i}" for i in range(7))
TAINTED = Taint("dedicated", "x", NO_SCHEDULE)

MISSING, SKEWED = "missing", "skewed"


# ---- building --------------------------------------------------------------------------------------------


def make_node(name: str, taints: Iterable[Taint] = (), **labels: str) -> Node:
    """Return a node with a hostname; ``zone`` and ``rack`` by keyword."""
    keys = {"zone": ZONE, "hostname": HOSTNAME}
    named = {HOSTNAME: name} | {keys.get(key, key): value for key, value in labels.items()}
    return Node(ObjectMeta(name=name, uid=name, labels=named), NodeSpec(taints=tuple(taints)))


def make_pod(
    name: str,
    *constraints: TopologySpreadConstraint,
    labels: Mapping[str, str] | None = None,
    namespace: str = "default",
    terminating: bool = False,
    **spec: Any,
) -> Pod:
    """Return a pod, by default labelled ``app: web``."""
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=name,
        labels={"app": "web"} if labels is None else labels,
        deletion_timestamp=1.0 if terminating else None,
    )
    return Pod(metadata, PodSpec(topology_spread_constraints=constraints, **spec))


def constraint(
    key: str = ZONE,
    max_skew: int = 1,
    when: str = DO_NOT_SCHEDULE,
    selector: LabelSelector | None = LabelSelector({"app": "web"}),  # noqa: B008 - a value
    **more: Any,
) -> TopologySpreadConstraint:
    """Return a constraint, by default DoNotSchedule on zones for pods labelled ``app: web``."""
    return TopologySpreadConstraint(max_skew, key, when, selector, **more)


def cluster(**zones: int) -> NodeTable:
    """Return a table with a node ``<zone>1`` for each zone, with that many pods labelled ``app: web``."""
    table = NodeTable()
    for zone, pods in zones.items():
        table.set_node(make_node(f"{zone}1", zone=zone))
        run(table, f"{zone}1", pods)
    return table


def run(table: NodeTable, node: str, count: int, **more: Any) -> None:
    for _ in range(count):
        pod = make_pod(f"pod-{table.row_log.version}", node_name=node, **more)
        table.add_pod(node, pod)


# ---- strategies ------------------------------------------------------------------------------------------

pod_labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(("web", "db")), "tier": st.sampled_from(("1", "2"))}
)
_selectors = st.one_of(
    st.builds(LabelSelector, st.just({"app": "web"})),
    st.builds(LabelSelector, pod_labels),
    st.none(),
    st.builds(
        LabelSelector,
        st.just({}),
        st.builds(LabelSelectorRequirement, st.just("app"), st.sampled_from(("Exists", "DoesNotExist"))).map(
            lambda each: (each,)
        ),
    ),
)
_policies = st.sampled_from(("", "Honor", "Ignore"))
_affinities = st.none() | st.sampled_from((("a",), ("a", "b"), ("nowhere",))).map(
    lambda zones: Affinity(
        NodeAffinity(NodeSelector((NodeSelectorTerm((NodeSelectorRequirement(ZONE, "In", zones),)),)))
    )
)


def constraints(action: str) -> st.SearchStrategy[TopologySpreadConstraint]:
    """Draw constraints with that action, also with a max_skew that the API server refuses."""
    return st.builds(
        TopologySpreadConstraint,
        max_skew=st.sampled_from((1, 1, 1, 2, 3, 0, -1)),
        topology_key=st.sampled_from(KEYS),
        when_unsatisfiable=st.just(action),
        label_selector=_selectors,
        min_domains=st.none() | st.sampled_from((0, 1, 2, 3, 9)),
        node_affinity_policy=_policies,
        node_taints_policy=_policies,
        match_label_keys=st.sampled_from(((), (), ("tier",), ("tier", "none"))),
    )


@st.composite
def pods(draw: st.DrawFn, uid: str, node_name: str = "", spread: bool = False) -> Pod:
    """Draw a pod, running or (*spread*) with constraints."""
    hard = draw(st.lists(constraints(DO_NOT_SCHEDULE), max_size=3)) if spread else []
    soft = draw(st.lists(constraints(SCHEDULE_ANYWAY), max_size=3)) if spread else []
    pod = make_pod(
        uid,
        *draw(st.permutations(hard + soft)),
        labels=draw(pod_labels),
        namespace=draw(st.sampled_from(("default", "default", "other"))),
        terminating=not spread and draw(st.integers(0, 4)) == 0,
        node_name=node_name,
    )
    if not spread:
        return pod
    spec = evolve(
        pod.spec,
        affinity=draw(_affinities),
        node_selector=draw(st.sampled_from(({}, {}, {RACK: "r1"}))),
        tolerations=draw(st.sampled_from(((), (Toleration(key="dedicated", operator="Exists"),)))),
    )
    return Pod(pod.metadata, spec)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Draw a node that may lack any label, or have it with an empty value."""
    labels = draw(
        st.fixed_dictionaries(
            {}, optional={ZONE: st.sampled_from(("a", "b", "c", "")), RACK: st.sampled_from(("r1", "r2"))}
        )
    )
    if draw(st.integers(0, 5)):
        labels[HOSTNAME] = draw(st.sampled_from((name, name, name, "shared")))
    taints = draw(
        st.sampled_from(((), (), (TAINTED,), (Taint("soft", "", PREFER_NO_SCHEDULE),), (TAINTED, TAINTED)))
    )
    return Node(ObjectMeta(name=name, uid=name, labels=labels), NodeSpec(taints=taints))


@st.composite
def tables(draw: st.DrawFn) -> NodeTable:
    """Draw a table of at least one node, whose groups were built at any time in its history."""
    table = NodeTable()
    early = draw(st.booleans())
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        table.set_node(draw(nodes(name)))
    if early:
        table.label_groups.groups()
    for i in range(draw(st.integers(0, 12))):
        pod = draw(pods(f"running-{i}", draw(st.sampled_from(NAMES))))
        table.add_pod(pod.node_name, pod)
    change(draw, table)
    if not table.num_nodes:
        table.set_node(draw(nodes(NAMES[0])))
    return table


def change(draw: st.DrawFn, table: NodeTable) -> None:
    """Add and remove pods, add, remove and replace nodes."""
    running = [pod for row in table.used_rows() for pod in table.pods_at(row).values()]
    for pod in draw(st.lists(st.sampled_from(running), max_size=3, unique_by=id)) if running else ():
        table.remove_pod(pod.node_name, pod.uid)
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)):
        table.remove_node(name)
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)):
        table.set_node(draw(nodes(name)))
    for _ in range(draw(st.integers(0, 2))):
        pod = draw(pods(f"late-{table.row_log.version}", draw(st.sampled_from(NAMES))))
        table.add_pod(pod.node_name, pod)


# ---- the algorithm ---------------------------------------------------------------------------------------


@frozen
class Plain:
    """One constraint, evaluated by loops."""

    key: str
    max_skew: int
    min_domains: int
    selector: CompiledSelector
    by_affinity: bool
    by_taints: bool


def plain(
    written: Iterable[TopologySpreadConstraint],
    action: str,
    pod: Pod,
    selector: CompiledSelector | None = None,
) -> list[Plain]:
    """Return the constraints with that action; *selector* replaces their own."""
    return [
        Plain(
            each.topology_key,
            each.max_skew,
            1 if each.min_domains is None else each.min_domains,
            _selector(each, pod.labels) if selector is None else selector,
            each.node_affinity_policy != "Ignore",
            each.node_taints_policy == "Honor",
        )
        for each in written
        if each.when_unsatisfiable == action
    ]


def _selector(each: TopologySpreadConstraint, labels: Mapping[str, str]) -> CompiledSelector:
    selector = compile_label_selector(each.label_selector)
    if selector.requirements is None:
        return selector
    own = [Requirement(key, "In", (labels[key],)) for key in each.match_label_keys if key in labels]
    return CompiledSelector([*own, *selector.requirements])


def verdicts(table: NodeTable, pod: Pod, hard: Sequence[Plain], names: Iterable[str]) -> list[str]:
    """Return the reason of rejection of each node of *names*; empty if feasible."""
    domains = []
    for each in hard:
        counts: dict[str, int] = {}
        for node in _nodes(table):
            if all(other.key in node.labels for other in hard) and _counts(each, pod, node):
                value = node.labels[each.key]
                counts[value] = counts.get(value, 0) + _matching(table, node, each, pod)
        domains.append(counts)
    return [_verdict(_node(table, name), pod, hard, domains) for name in names]


def _verdict(node: Node, pod: Pod, hard: Sequence[Plain], domains: Sequence[Mapping[str, int]]) -> str:
    for each, counts in zip(hard, domains, strict=True):
        if each.key not in node.labels:
            return MISSING
        lowest = min(counts.values(), default=2**31 - 1)
        if len(counts) < each.min_domains:
            lowest = 0
        itself = each.selector.matches(pod.labels)
        if counts.get(node.labels[each.key], 0) + itself - lowest > each.max_skew:
            return SKEWED
    return ""


def raw_scores(
    table: NodeTable, pod: Pod, soft: Sequence[Plain], names: Sequence[str], all_keys: bool
) -> dict[str, int | None]:
    """Return the raw scores of the feasible nodes *names*; ``None`` for an ignored one."""
    chosen = [_node(table, name) for name in names]
    if all_keys:
        chosen = [node for node in chosen if all(each.key in node.labels for each in soft)]
    found: dict[str, int | None] = dict.fromkeys(names)
    for node in chosen:
        score = 0.0
        for each in soft:
            size = len(chosen)
            if each.key != HOSTNAME:
                size = len({one.labels.get(each.key, "") for one in chosen})
            if each.key in node.labels:
                count = _score_count(table, pod, soft, each, node, all_keys)
                score += float(count) * math.log(float(size + 2)) + float(each.max_skew - 1)
        found[node.name] = _round(score)
    return found


def _score_count(
    table: NodeTable, pod: Pod, soft: Sequence[Plain], each: Plain, node: Node, all_keys: bool
) -> int:
    if each.key == HOSTNAME:
        return _matching(table, node, each, pod)
    return sum(
        _matching(table, other, each, pod)
        for other in _nodes(table)
        if other.labels.get(each.key, "") == node.labels[each.key]
        and (not all_keys or all(one.key in other.labels for one in soft))
        and _counts(each, pod, other)
    )


def normalized(raw: Mapping[str, int | None]) -> dict[str, int]:
    """Return normalized scores."""
    counted = [score for score in raw.values() if score is not None]
    highest, lowest = max([0, *counted]), min(counted, default=0)
    return {
        name: 0
        if score is None
        else 100
        if highest == 0
        else int(math.copysign(abs(100 * (highest + lowest - score)) // highest, highest + lowest - score))
        for name, score in raw.items()
    }


def _round(score: float) -> int:
    whole = math.trunc(score)
    return whole + int(math.copysign(1, score)) if abs(score - whole) >= 0.5 else whole


def _nodes(table: NodeTable) -> list[Node]:
    return [_node(table, name) for name in table.rows().names()]


def _node(table: NodeTable, name: str) -> Node:
    row = table.live_row(name)
    assert row is not None
    node = table.node_at(row)
    assert node is not None
    return node


def _counts(each: Plain, pod: Pod, node: Node) -> bool:
    if each.by_affinity and not required_node_affinity(pod.spec).matches(node):
        return False
    if not each.by_taints:
        return True
    return find_untolerated_taint(node.spec.taints, pod.spec.tolerations, ("NoSchedule", "NoExecute")) is None


def _matching(table: NodeTable, node: Node, each: Plain, pod: Pod) -> int:
    row = table.row_of(node.name)
    assert row is not None
    if not each.selector.requirements:
        return 0
    return sum(
        other.namespace == pod.namespace and not other.is_terminating and each.selector.matches(other.labels)
        for other in table.pods_at(row).values()
    )
