"""Proposals about taints, cordons, labels and the selection of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from ..._base.value import record
from ...api import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_IN,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
    compile_node_selector,
    parse_integer,
)
from ...api.fieldcodecs import LABEL_HOSTNAME
from ...api.node import TAINT_UNSCHEDULABLE, Node
from ..change import Change, ChangeKind
from ..selection import MissingLabel, expression_text, missing_labels, satisfies
from .case import Case

Labels = dict[str, str | None]
"""Label → value to set, ``None`` to remove it."""


def propose(case: Case) -> Iterator[Change]:
    """Propose tolerations, fewer taints, uncordoned nodes, relaxed selection of nodes, labels."""
    for near in case.near:
        node = near.info.node
        if node is None:
            continue
        yield from _taints(case.pod, node)
        if node.spec.unschedulable:
            yield _uncordoned(node)
        yield from _labels(case.pod, node)
    for missing in missing_labels(case.pod, case.cluster.list("Node")):
        if isinstance(missing, MissingLabel):
            yield from _corrected(case.pod, missing)


def taint_text(taint: Taint) -> str:
    """Return *taint* in the notation of kubectl."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _taints(pod: Pod, node: Node) -> Iterator[Change]:
    hard = [taint for taint in node.spec.taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
    bad = [taint for taint in hard if not any(each.tolerates(taint) for each in pod.spec.tolerations)]
    if not bad:
        return
    names = ", ".join(taint_text(taint) for taint in bad)
    plural = "s" * (len(bad) > 1)
    own = [taint for taint in bad if taint.key != TAINT_UNSCHEDULABLE or not node.spec.unschedulable]
    if own:
        new = tuple(Toleration(t.key, "Equal" if t.value else "Exists", t.value, t.effect) for t in bad)
        after = evolve(pod, spec=evolve(pod.spec, tolerations=(*pod.spec.tolerations, *new)))
        text = f"tolerate the taint{plural} {names}"
        yield Change(ChangeKind.TOLERATE_TAINT, text, len(bad), pod=after)
        left = tuple(taint for taint in node.spec.taints if taint not in bad)
        untainted = evolve(node, spec=evolve(node.spec, taints=left))
        text = f"remove the taint{plural} {names} from node {node.name}"
        yield Change(ChangeKind.REMOVE_TAINT, text, len(bad), objects=(untainted,))


def _uncordoned(node: Node) -> Change:
    taints = tuple(taint for taint in node.spec.taints if taint.key != TAINT_UNSCHEDULABLE)
    after = evolve(node, spec=evolve(node.spec, unschedulable=False, taints=taints))
    return Change(ChangeKind.UNCORDON, f"uncordon node {node.name}", objects=(after,))


# ---- selectors and labels ----------------------------------------------------------------------------------


def _labels(pod: Pod, node: Node) -> Iterator[Change]:
    selector = pod.spec.node_selector
    missing = {key: value for key, value in selector.items() if node.labels.get(key) != value}
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is not None and compile_node_selector(required).matches(node):
        required = None
    if required is None:
        if missing:
            yield _relaxed(pod, missing)
            yield from _labelled(node, dict(missing))
        return
    for i, term in enumerate(required.terms):
        failing = [each for each in term.match_expressions if not satisfies(node, each)]
        left = tuple(each for each in term.match_expressions if each not in failing)
        fields = all(_field_holds(each, node) for each in term.match_fields)
        if left or (term.match_fields and fields):
            kept = evolve(term, match_expressions=left, match_fields=term.match_fields if fields else ())
            yield _relaxed(pod, missing, _with_term(required, i, kept))
        if fields:
            labels: Labels = dict(missing)
            for each in failing:
                labels |= _satisfying(each, node)
            yield from _labelled(node, labels)
    yield _relaxed(pod, missing, _without_affinity(required))


def _field_holds(each: NodeSelectorRequirement, node: Node) -> bool:
    return compile_node_selector(NodeSelector((NodeSelectorTerm((), (each,)),))).matches(node)


def _satisfying(each: NodeSelectorRequirement, node: Node) -> Labels:
    """Return labels with which the node satisfies the expression, none if they cannot be derived."""
    if each.operator == IN and each.values:
        return {each.key: each.values[0]}
    if each.operator == EXISTS:
        return {each.key: ""}
    if each.operator in (NOT_IN, DOES_NOT_EXIST):
        return {each.key: None}
    number = parse_integer(each.values[0]) if each.operator in (GT, LT) and each.values else None
    if number is not None:
        return {each.key: str(number + (1 if each.operator == GT else -1))}
    return {}


_GIVEN: Final = (
    LABEL_HOSTNAME,
    "beta.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/",
)
"""Labels, or beginnings of labels, that kubelet and cloud providers set: they say what a node is."""


def _is_given(label: str) -> bool:
    return label.startswith(_GIVEN)


def _labelled(node: Node, labels: Labels) -> Iterator[Change]:
    """Propose *labels* for the node."""
    if not labels or any(map(_is_given, labels)):
        return
    now = {**node.labels, **{key: value for key, value in labels.items() if value is not None}}
    now = {key: value for key, value in now.items() if labels.get(key, "") is not None}
    after = evolve(node, metadata=evolve(node.metadata, labels=now))
    set_to = [f"{key}={value}" for key, value in labels.items() if value is not None]
    removed = [key for key, value in labels.items() if value is None]
    parts = [f"label node {node.name} with {', '.join(set_to)}"] if set_to else []
    parts += [f"remove the label {', '.join(removed)} from node {node.name}"] if removed else []
    yield Change(ChangeKind.LABEL_NODE, " and ".join(parts), len(labels), objects=(after,))


def _corrected(pod: Pod, missing: MissingLabel) -> Iterator[Change]:
    """Propose the similar label or value that nodes have."""
    old, value = missing.expression, missing.meant_value
    if missing.meant_key:
        new = evolve(old, key=missing.meant_key)
    elif value:
        new = evolve(old, values=(value,))
    else:
        return
    spec = pod.spec
    if missing.in_selector:
        selector = {key: value for key, value in spec.node_selector.items() if key != old.key}
        spec = evolve(spec, node_selector={**selector, new.key: new.values[0]})
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if spec.affinity is not None and affinity is not None and affinity.required is not None:
        terms = tuple(
            evolve(
                term, match_expressions=tuple(new if each == old else each for each in term.match_expressions)
            )
            for term in affinity.required.terms
        )
        node_affinity = evolve(affinity, required=NodeSelector(terms))
        spec = evolve(spec, affinity=evolve(spec.affinity, node_affinity=node_affinity))
    text = f"select {expression_text(new)} instead of {expression_text(old)}"
    yield Change(ChangeKind.CORRECT_LABEL, text, pod=evolve(pod, spec=spec))


@record(frozen=True, eq=False)
class _AffinityEdit:
    """A change of the required node affinity."""

    required: NodeSelector | None
    """The required affinity after the change."""
    dropped: tuple[str, ...]
    """The keys of dropped expressions, in order and with repetitions."""

    @property
    def keys(self) -> list[str]:
        """The dropped keys without repetitions."""
        return list(dict.fromkeys(self.dropped))


def _without_affinity(required: NodeSelector) -> _AffinityEdit:
    keys = [each.key for term in required.terms for each in (*term.match_expressions, *term.match_fields)]
    return _AffinityEdit(None, tuple(keys))


def _with_term(required: NodeSelector, index: int, term: NodeSelectorTerm) -> _AffinityEdit:
    """Replace the term at *index* by *term*, which has fewer expressions."""
    terms = list(required.terms)
    old = terms[index]
    keys = [each.key for each in old.match_expressions if each not in term.match_expressions]
    keys += [each.key for each in old.match_fields if each not in term.match_fields]
    terms[index] = term
    return _AffinityEdit(NodeSelector(tuple(terms)), tuple(keys))


def _relaxed(pod: Pod, missing: Mapping[str, str], affinity_edit: _AffinityEdit | None = None) -> Change:
    """Propose to drop *missing* labels of the node selector, and to change the required affinity."""
    spec = pod.spec
    steps, parts = len(missing), []
    if missing:
        parts.append(f"drop {', '.join(f'{k}={v}' for k, v in missing.items())} from the node selector")
    after = evolve(spec, node_selector={k: v for k, v in spec.node_selector.items() if k not in missing})
    if affinity_edit is not None:
        assert spec.affinity is not None
        assert spec.affinity.node_affinity is not None
        node_affinity = evolve(spec.affinity.node_affinity, required=affinity_edit.required)
        after = evolve(after, affinity=evolve(spec.affinity, node_affinity=node_affinity))
        keys = affinity_edit.keys
        for_keys = f" for {', '.join(keys)}" if keys else ""
        parts.append(f"drop the required node affinity{for_keys}")
        steps += max(1, len(affinity_edit.dropped))
    changed = evolve(pod, spec=after)
    return Change(ChangeKind.RELAX_NODE_SELECTION, " and ".join(parts), steps, pod=changed)
