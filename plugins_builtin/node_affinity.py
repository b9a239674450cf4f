"""NodeAffinity: filter by node selector and required affinity, score by preferred affinity."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import (
    Action,
    ClusterEvent,
    Depends,
    EventRegistration,
    EventResource,
    HintReads,
    InputError,
    Node,
    NodeInfo,
    Normalization,
    Pod,
    PodSpec,
    PreFilterResult,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.api import (
    FIELD_NAME,
    IN,
    CompiledNodeSelector,
    CompiledPreferredTerms,
    NodeSelector,
    NodeSelectorTerm,
    RequiredNodeAffinity,
    compile_node_selector,
    compile_preferred_terms,
    required_node_affinity,
)

from ._node_selection import add_preferences, rows_required, rows_selected
from .args import NodeAffinityArgs

ERR_REASON_POD = "node(s) didn't match Pod's node affinity/selector"
ERR_REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
ERR_REASON_CONFLICT = "pod affinity terms conflict"
_POD = Status.unresolvable(ERR_REASON_POD)
_ENFORCED = Status.unresolvable(ERR_REASON_ENFORCED)
_CONFLICT = Status.unresolvable(ERR_REASON_CONFLICT)

_COMPILED: Final = object()  # key in PodSpec.memo


@frozen
class _CompiledAffinity:
    """Node selector and node affinity of a spec, compiled; fields that the spec lacks are ``None``."""

    required: RequiredNodeAffinity | None = None
    candidates: PreFilterResult | Status | None = None
    """Nodes that the required terms name; :data:`_CONFLICT` if no node can satisfy them."""
    preferred: CompiledPreferredTerms | None = None
    preferred_error: str = ""
    signature: Hashable = ()


_NO_AFFINITY: Final = _CompiledAffinity()


@define(eq=False)
class NodeAffinity:
    """Apply ``node_selector`` and node affinity of the pod, and ``added_affinity`` of the arguments.

    Terms are compiled once per spec and cached on it, so nothing passes through the cycle state, and filter
    and score work without pre_filter and pre_score.
    """

    args: NodeAffinityArgs
    _added: CompiledNodeSelector | None = field(init=False, default=None)
    _added_preferred: CompiledPreferredTerms | None = field(init=False, default=None)

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    normalization: ClassVar[Normalization] = Normalization.BY_MAX

    def __attrs_post_init__(self) -> None:
        affinity = self.args.added_affinity
        if affinity is None:
            return
        if affinity.required is not None:
            self._added = compile_node_selector(affinity.required)
            _refuse("required", self._added.error)
        if affinity.preferred:
            self._added_preferred = compile_preferred_terms(affinity.preferred)
            _refuse("preferred", self._added_preferred.error)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return node selector and node affinity as plain tuples."""
        return _compiled(pod.spec).signature

    # ---- filter ------------------------------------------------------------------------------------------

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | PreFilterResult | None:
        """Skip a pod without requirements; return the nodes if every required term names some."""
        affinity = _compiled(pod.spec)
        if affinity.required is None and self._added is None:
            return Status.skip()
        return affinity.candidates

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        """Reject a node that does not match the added affinity or the requirements of the pod."""
        node = node_info.node
        if not node_info.has_node:
            return None
        if self._added is not None and not self._added.matches(node):
            return _ENFORCED
        required = _compiled(pod.spec).required
        return None if required is None or required.matches(node) else _POD

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        """As :meth:`filter`; O(rows) for each requirement."""
        required = _compiled(pod.spec).required
        accepted = None if required is None else rows_required(required, rows)
        if self._added is None:
            if accepted is None or accepted.all():
                return None
            return RowVerdicts.where(~accepted, _POD)
        codes = np.zeros(len(rows), np.int8)
        if accepted is not None:
            codes[~accepted] = 2
        codes[~rows_selected(self._added, rows)] = 1
        return RowVerdicts(codes, (_ENFORCED, _POD))

    # ---- score -------------------------------------------------------------------------------------------

    @hookimpl
    def pre_score(self, pod: Pod) -> Status | None:
        """Skip if neither pod nor arguments have preferred terms; an error if they cannot be parsed."""
        affinity = _compiled(pod.spec)
        if affinity.preferred_error:
            return Status.from_error(affinity.preferred_error)
        if affinity.preferred is None and self._added_preferred is None:
            return Status.skip()
        return None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return the sum of the weights of all preferred terms that match.

        Raises InputError for terms that cannot be parsed, for which pre_score returns an error before.
        """
        if not node_info.has_node:
            return 0
        return sum(terms.score(node_info.node) for terms in self._preferences(pod))

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each requirement."""
        scores = np.zeros(len(rows), np.int64)
        for terms in self._preferences(pod):
            add_preferences(scores, terms, rows)
        return scores

    def _preferences(self, pod: Pod) -> list[CompiledPreferredTerms]:
        affinity = _compiled(pod.spec)
        if affinity.preferred_error:
            raise InputError("", affinity.preferred_error)
        return [terms for terms in (self._added_preferred, affinity.preferred) if terms is not None]

    # ---- queue -------------------------------------------------------------------------------------------

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nodes that are added or relabelled."""
        event = ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (EventRegistration(event, self.node_changed, HintReads.CLASS),)

    def node_changed(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Hint: the node matches, and did not match the pod's own requirements before.

        Raises InputError if a term of the pod cannot be parsed.
        """
        if self._added is not None and not self._added.matches(new):
            return False
        required = required_node_affinity(pod.spec)
        return _matches(required, new) and (old is None or not _matches(required, old))


def _refuse(kind: str, error: str) -> None:
    if error:
        path = f"addedAffinity.{kind}DuringSchedulingIgnoredDuringExecution"
        raise InputError(path, error, "correct the expression")


def _matches(required: RequiredNodeAffinity, node: Node) -> bool:
    if required.matches(node):
        return True
    if required.error and required.labels.matches(node.labels):
        raise InputError("", required.error)
    return False


# ---- compiled affinity -----------------------------------------------------------------------------------


def _compiled(spec: PodSpec) -> _CompiledAffinity:
    """Return the compiled affinity of *spec*, cached on it."""
    if spec.affinity is None and not spec.node_selector:
        return _NO_AFFINITY
    memo = spec.memo
    affinity: _CompiledAffinity | None = memo.get(_COMPILED)
    if affinity is None:
        affinity = memo[_COMPILED] = _compile(spec)
    return affinity


def _compile(spec: PodSpec) -> _CompiledAffinity:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    terms = affinity.preferred if affinity is not None else ()
    if required is None and not terms and not spec.node_selector:
        return _NO_AFFINITY
    preferred = compile_preferred_terms(terms) if terms else None
    return _CompiledAffinity(
        required_node_affinity(spec) if required is not None or spec.node_selector else None,
        None if required is None else _candidates(required),
        preferred,
        "" if preferred is None else preferred.error,
        (
            tuple(sorted(spec.node_selector.items())),
            None if required is None else tuple(map(_term_signature, required.terms)),
            tuple((term.weight, _term_signature(term.preference)) for term in terms),
        ),
    )


def _candidates(required: NodeSelector) -> PreFilterResult | Status | None:
    """Return the nodes that the terms name; ``None`` if a term has no ``metadata.name In …``.

    Terms are alternatives; all expressions of one term must hold.
    """
    names: frozenset[str] = frozenset()
    for term in required.terms:
        of_term: frozenset[str] | None = None
        for expression in term.match_fields:
            if expression.key == FIELD_NAME and expression.operator == IN:
                values = frozenset(expression.values)
                of_term = values if of_term is None else of_term & values
        if of_term is None:
            return None
        names |= of_term
    if not required.terms:
        return None
    return PreFilterResult(names) if names else _CONFLICT


def _term_signature(term: NodeSelectorTerm) -> tuple[Any, ...]:
    """Return the term as tuples of strings, which hash many times faster than objects."""
    return (
        tuple((each.key, each.operator, each.values) for each in term.match_expressions),
        tuple((each.key, each.operator, each.values) for each in term.match_fields),
    )
