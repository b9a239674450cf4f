"""Spread constraints as they apply to one pod: selectors compiled, nodes that count chosen."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Final
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import (
    InputError,
    Node,
    NodeTable,
    Pod,
    PodSpec,
    Rows,
    compile_label_selector,
    find_untolerated_taint,
)
from schedframe.api import (
    IN,
    CompiledSelector,
    RequiredNodeAffinity,
    Requirement,
    TopologySpreadConstraint,
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
    """1 if the pod itself will count."""
    subset: NodeSubset | None
    """The nodes whose pods count and whose domains exist; ``None``: all that have the topology key."""

    _column: ReferenceType[CountColumn] | None = field(default=None, init=False, repr=False)
    """The last answer of :meth:`column`; weak, for constraints live as long as the pods that have them."""

    def column(self, table: NodeTable) -> CountColumn:
        """The pods that count, per row."""
        column = None if self._column is None else self._column()
        if column is None or column.dropped or column.groups.table is not table:
            column = count_column(table, self.namespace, self.selector)
            self._column = ref(column)
        return column

    def domain_of(self, node: Node) -> str | None:
        """The domain in which pods of *node* count, ``None`` if they do not."""
        value = node.labels.get(self.topology_key)
        return value if value is None or self.subset is None or self.subset.accepts(node) else None


Constraints = tuple[Constraint, ...]


def compile_constraints(
    written: Iterable[TopologySpreadConstraint],
    action: str,
    pod: Pod,
    selector: CompiledSelector | None = None,
    *,
    all_keys: bool = True,
) -> Constraints:
    """Those constraints whose ``when_unsatisfiable`` is *action*, for *pod*.

    *selector* takes the place of what they select. With *all_keys* only nodes with the topology keys of all
    of them count. Raises :class:`InputError` for a selector that cannot be parsed.
    """
    wanted = [(index, each) for index, each in enumerate(written) if each.when_unsatisfiable == action]
    if not wanted:
        return ()
    keys = {each.topology_key for _, each in wanted} if all_keys else frozenset[str]()
    found = []
    for index, each in wanted:
        chosen = _selector_of(each, index, pod.labels) if selector is None else selector
        found.append(
            Constraint(
                each.topology_key,
                each.max_skew,
                1 if each.min_domains is None else each.min_domains,
                each.node_taints_policy == HONOR,
                chosen,
                pod.namespace,
                int(chosen.matches(pod.labels)),
                _subset(each, keys, pod.spec),
            )
        )
    return tuple(found)


def _selector_of(
    constraint: TopologySpreadConstraint, index: int, labels: Mapping[str, str]
) -> CompiledSelector:
    """The selector with the pod's own values of ``match_label_keys`` added; labels it lacks are left out."""
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
class _Choice:
    """What a node must be like to count. Equal ones choose the same nodes."""

    keys: tuple[str, ...]
    """Other topology keys, that it must have too."""
    affinity: RequiredNodeAffinity | None
    taints: TolerationSignature | None
    """What the pod tolerates, where that matters."""


def _subset(constraint: TopologySpreadConstraint, keys: Iterable[str], spec: PodSpec) -> NodeSubset | None:
    others = tuple(sorted(key for key in keys if key != constraint.topology_key))
    affinity = required_of(spec) if constraint.node_affinity_policy in ("", HONOR) else None
    taints = toleration_signature(spec) if constraint.node_taints_policy == HONOR else None
    if not others and affinity is None and taints is None:
        return None
    choice = _Choice(others, affinity, taints)
    return node_subset(choice, others, affinity, spec if taints is not None else None)


def required_of(spec: PodSpec) -> RequiredNodeAffinity | None:
    """Node selector and required affinity, ``None`` without any."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if not spec.node_selector and (affinity is None or affinity.required is None):
        return None
    return required_node_affinity(spec)


def node_subset(
    key: Hashable, keys: tuple[str, ...], affinity: RequiredNodeAffinity | None, tolerating: PodSpec | None
) -> NodeSubset:
    """Nodes that have all labels of *keys*, match *affinity*, and whose hard taints *tolerating* tolerates.

    Affinity terms that cannot be parsed match no node, and are no error here.
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
        found = np.ones(len(rows), np.bool_)
        for each in keys:
            found &= rows.take(rows.table.label(each).codes) >= 0
        if affinity is not None:
            found &= rows_required(affinity, rows)
        rejected = None if tolerating is None else untolerated_rows(tolerating, rows)
        return found if rejected is None else found & ~rejected

    return NodeSubset(key, accepts, mask)


@lru_cache(maxsize=1024)
def keyed_nodes(key: str, keys: tuple[str, ...]) -> NodeSubset | None:
    """The nodes that have all *keys*, *key* left aside; ``None`` if there are no others."""
    others = tuple(each for each in keys if each != key)
    return node_subset(_Choice(others, None, None), others, None, None) if others else None
