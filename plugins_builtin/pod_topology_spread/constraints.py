"""Spread constraints compiled for one pod: the selector, and the nodes whose pods count.

Invariant: equal subsets of nodes have equal keys, so constraints of many pods share their counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Final
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import InputError, Node, NodeTable, Pod, PodSpec, Rows
from schedframe.api import (
    IN,
    CompiledSelector,
    RequiredNodeAffinity,
    Requirement,
    TopologySpreadConstraint,
    compile_label_selector,
    find_untolerated_taint,
    required_node_affinity,
)
from schedframe.state import CountColumn, NodeSubset

from .._matching_pods import count_column
from .._node_selection import rows_required
from .._taints import HARD_EFFECTS, TolerationSignature, toleration_signature, untolerated_rows

HONOR: Final = "Honor"


@define(eq=False)
class Constraint:
    """One constraint for pods of *namespace* with certain labels, affinity and tolerations."""

    topology_key: str
    max_skew: int
    min_domains: int
    honors_taints: bool
    selector: CompiledSelector
    namespace: str
    self_match: int
    """1 if the selector matches the pod itself, else 0."""
    subset: NodeSubset | None
    """The nodes whose pods and domains count; ``None`` means all with the topology key."""

    # Weak, because constraints live as long as the pods that have them.
    _column: ReferenceType[CountColumn] | None = field(default=None, init=False, repr=False)

    def column(self, table: NodeTable) -> CountColumn:
        """Return the number of matching pods per row."""
        column = None if self._column is None else self._column()
        if column is None or column.dropped or column.groups.table is not table:
            column = count_column(table, self.namespace, self.selector)
            self._column = ref(column)
        return column

    def domain_of(self, node: Node) -> str | None:
        """Return the domain in which pods of *node* count; ``None`` if they do not count."""
        value = node.labels.get(self.topology_key)
        return value if value is None or self.subset is None or self.subset.accepts(node) else None


Constraints = tuple[Constraint, ...]


def compile_constraints(
    declared: Iterable[TopologySpreadConstraint],
    action: str,
    pod: Pod,
    selector: CompiledSelector | None = None,
    *,
    all_keys: bool = True,
) -> Constraints:
    """Return the constraints whose ``when_unsatisfiable`` is *action*, compiled for *pod*.

    *selector* replaces their own selectors. With *all_keys*, only nodes with the topology keys of all these
    constraints count. Raises :class:`InputError` for a selector that cannot be parsed.
    """
    selected = [(index, each) for index, each in enumerate(declared) if each.when_unsatisfiable == action]
    if not selected:
        return ()
    keys = {each.topology_key for _, each in selected} if all_keys else frozenset[str]()
    compiled = []
    for index, each in selected:
        matching = _selector_of(each, index, pod.labels) if selector is None else selector
        compiled.append(
            Constraint(
                each.topology_key,
                each.max_skew,
                1 if each.min_domains is None else each.min_domains,
                each.node_taints_policy == HONOR,
                matching,
                pod.namespace,
                int(matching.matches(pod.labels)),
                _subset(each, keys, pod.spec),
            )
        )
    return tuple(compiled)


def _selector_of(
    constraint: TopologySpreadConstraint, index: int, labels: Mapping[str, str]
) -> CompiledSelector:
    """Return the selector, with the pod's own values of ``match_label_keys`` that it has."""
    try:
        selector = compile_label_selector(constraint.label_selector)
    except InputError as error:
        raise error.at(f"spec.topologySpreadConstraints[{index}].labelSelector") from None
    keys = constraint.match_label_keys
    if not keys or selector.requirements is None:
        return selector
    own = [Requirement(key, IN, (labels[key],)) for key in keys if key in labels]
    return CompiledSelector([*own, *selector.requirements]) if own else selector


# ---- nodes that count ------------------------------------------------------------------------------------


@frozen(cache_hash=True)
class _SubsetKey:
    """Requirements for a node to count. Equal keys select the same nodes."""

    keys: tuple[str, ...]
    """Other topology keys that the node must have."""
    affinity: RequiredNodeAffinity | None
    taints: TolerationSignature | None
    """Tolerations of the pod; ``None`` if taints do not matter."""


def _subset(constraint: TopologySpreadConstraint, keys: Iterable[str], spec: PodSpec) -> NodeSubset | None:
    others = tuple(sorted(key for key in keys if key != constraint.topology_key))
    affinity = required_of(spec) if constraint.node_affinity_policy in ("", HONOR) else None
    taints = toleration_signature(spec) if constraint.node_taints_policy == HONOR else None
    if not others and affinity is None and taints is None:
        return None
    key = _SubsetKey(others, affinity, taints)
    return node_subset(key, others, affinity, spec if taints is not None else None)


def required_of(spec: PodSpec) -> RequiredNodeAffinity | None:
    """Return node selector and required affinity; ``None`` if the pod has neither."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if not spec.node_selector and (affinity is None or affinity.required is None):
        return None
    return required_node_affinity(spec)


def node_subset(
    key: Hashable, keys: tuple[str, ...], affinity: RequiredNodeAffinity | None, tolerating: PodSpec | None
) -> NodeSubset:
    """Return the nodes with all labels *keys* that match *affinity* and that *tolerating* tolerates.

    Affinity terms that cannot be parsed match no node; they are no error here.
    """

    def accepts(node: Node) -> bool:
        if not all(each in node.labels for each in keys):
            return False
        if affinity is not None and not affinity.matches(node):
            return False
        if tolerating is None:
            return True
        return find_untolerated_taint(node.spec.taints, tolerating.tolerations, HARD_EFFECTS) is None

    def mask(rows: Rows) -> npt.NDArray[np.bool_]:
        accepted = np.ones(len(rows), np.bool_)
        for each in keys:
            accepted &= rows.take(rows.table.label(each).codes) >= 0
        if affinity is not None:
            accepted &= rows_required(affinity, rows)
        rejected = None if tolerating is None else untolerated_rows(tolerating, rows)
        return accepted if rejected is None else accepted & ~rejected

    return NodeSubset(key, accepts, mask)


@lru_cache(maxsize=1024)
def nodes_with_keys(key: str, keys: tuple[str, ...]) -> NodeSubset | None:
    """Return the nodes that have all *keys* besides *key*; ``None`` if there are no such keys."""
    others = tuple(each for each in keys if each != key)
    return node_subset(_SubsetKey(others, None, None), others, None, None) if others else None
