"""Pods counted by row and by topology domain: what spreading and pod affinity ask, without a loop over pods.

Pods with equal namespace, labels, affinity and deletion state form a group: whoever looks at nothing else cannot tell
them apart. A :class:`CountColumn` gives each group a weight and holds the weighted number of pods per row; it is made
once, by asking for the weight of each group, and from then on a pod that comes or goes costs one addition per column
that counts its group.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from ..api import Affinity, Pod, PodAffinity, PodAntiAffinity
from ..errors import InvariantError
from .change_log import ChangeLog
from .columns import ABSENT, DistinctColumn

if TYPE_CHECKING:
    from .node_table import NodeTable

Counts = npt.NDArray[np.int64]
MAX_COLUMNS = 4096
"""Count columns kept; the least recently used go first."""
_MEMO = object()


@define(eq=False)
class TermKind:
    """Pod affinity terms that running pods have, told apart by what they mean: by the namespace of the pods and the
    labels that the terms refer to (matchLabelKeys) as well.
    """

    namespace: str
    labels: Mapping[str, str]
    """Labels of one of the pods; only those that the terms refer to may be read."""
    affinity: Affinity
    memo: dict[object, Any] = field(factory=dict)
    """Scratch space for whoever compiles the terms."""
    groups: int = 0
    """Groups whose pods have these terms."""


@define(eq=False)
class PodGroup:
    """Pods that agree in everything below; ``rows`` tells where how many of them are."""

    namespace: str
    labels: Mapping[str, str]
    affinity: Affinity | None
    terminating: bool
    """Whether they are being deleted."""
    sample: Pod
    """One of them, possibly gone by now; only what the group has in common may be read of it."""
    kind: TermKind | None = None
    """The pod affinity terms that they have, if any."""
    rows: dict[int, int] = field(factory=dict)
    """Row → number of pods, only positive ones."""
    columns: list[tuple[CountColumn, int]] = field(factory=list)
    """Columns that count this group, with its weight there."""
    pods: int = 0


Weigh = Callable[[PodGroup], int]
"""Weight of a group in a column, 0 if it does not count; a function of what the group's pods have in common."""


@define(eq=False)
class CountColumn:
    """Weighted number of pods per row: ``counts``, int64 of shape ``(capacity,)``, always up to date."""

    groups: PodGroups
    weigh: Weigh
    counts: Counts
    log: ChangeLog = field(factory=ChangeLog)
    """Rows whose count changed."""
    dropped: bool = False
    _domains: dict[str, DomainSums] = field(factory=dict)

    def add(self, row: int, amount: int) -> None:
        """Add to the count of a row."""
        if row >= len(self.counts):
            counts = np.zeros(self.groups.table.capacity, np.int64)
            counts[: len(self.counts)] = self.counts
            self.counts = counts
        self.counts[row] += amount
        self.log.append(row)

    def by_domain(self, topology_key: str) -> DomainSums:
        """The counts summed over the nodes of each value of that label, up to date."""
        sums = self._domains.get(topology_key)
        if sums is None:
            sums = self._domains[topology_key] = DomainSums(self, topology_key)
        return sums.sync()


@define(eq=False)
class DomainSums:
    """Sums of a :class:`CountColumn` per value of a node label.

    ``sums[code]`` belongs to ``labels.values[code]``; a node without the label counts nowhere. Catching up costs
    O(rows whose count or label changed), O(rows) after the label's values were numbered anew.
    """

    column: CountColumn
    topology_key: str
    sums: Counts = field(factory=lambda: np.zeros(0, np.int64))
    _labels: DistinctColumn[str] | None = None
    _codes: npt.NDArray[np.int32] = field(factory=lambda: np.zeros(0, np.int32))
    """Codes under which the counts were summed."""
    _counted: Counts = field(factory=lambda: np.zeros(0, np.int64))
    """Counts as they were summed."""
    _epoch: int = -1
    _count_version: int = -1
    _node_version: int = -1

    @property
    def labels(self) -> DistinctColumn[str]:
        """The label's column, whose codes index ``sums``."""
        if self._labels is None:
            self._labels = self.column.groups.table.label(self.topology_key)
        return self._labels

    def sync(self) -> DomainSums:
        """Catch up with counts and labels."""
        table, log = self.column.groups.table, self.column.log
        node_version = table.node_log.version
        if self._count_version == log.version and self._node_version == node_version:
            return self
        labels = self._labels = table.label(self.topology_key)
        touched = log.since(self._count_version) if self._count_version >= 0 else None
        moved = table.node_log.since(self._node_version) if self._node_version >= 0 else None
        if touched is None or moved is None or self._epoch != labels.epoch:
            self._recount(labels)
        else:
            self._fit(labels)
            for row in {*touched, *moved} if moved else set(touched):
                self._move(row, labels)
        self._epoch = labels.epoch
        self._count_version, self._node_version = log.version, node_version
        return self

    def _fit(self, labels: DistinctColumn[str]) -> None:
        if len(self.sums) < len(labels.values):
            sums = np.zeros(max(2 * len(self.sums), len(labels.values)), np.int64)
            sums[: len(self.sums)] = self.sums
            self.sums = sums
        if len(self._codes) < len(labels.codes):
            extra = len(labels.codes) - len(self._codes)
            self._codes = np.append(self._codes, np.full(extra, ABSENT, np.int32))
            self._counted = np.append(self._counted, np.zeros(extra, np.int64))

    def _move(self, row: int, labels: DistinctColumn[str]) -> None:
        counts = self.column.counts
        count = int(counts[row]) if row < len(counts) else 0
        old, new = int(self._codes[row]), int(labels.codes[row])
        if old != ABSENT:
            self.sums[old] -= self._counted[row]
        if new != ABSENT:
            self.sums[new] += count
        self._codes[row] = new
        self._counted[row] = count

    def _recount(self, labels: DistinctColumn[str]) -> None:
        self._codes = labels.codes.copy()
        self._counted = np.zeros(len(self._codes), np.int64)
        counts = self.column.counts
        self._counted[: len(counts)] = counts[: len(self._codes)]
        here = self._codes != ABSENT
        # Sums of counts are far below 2**53, so going through floats loses nothing.
        sums = np.bincount(self._codes[here], self._counted[here], len(labels.values))
        self.sums = sums.astype(np.int64)


@define(eq=False)
class PodGroups:
    """All groups of the pods in a table, and the columns that count them. Made when somebody first asks."""

    table: NodeTable
    kinds_version: int = 0
    """Changes whenever a kind of pod affinity terms appears or disappears."""
    _kinds: dict[Hashable, TermKind] = field(factory=dict)
    _groups: dict[Hashable, PodGroup] = field(factory=dict)
    _columns: OrderedDict[Hashable, CountColumn] = field(factory=OrderedDict)

    @classmethod
    def of(cls, table: NodeTable) -> PodGroups:
        """The groups of the pods that are in the table now; O(pods)."""
        groups = cls(table)
        for row in table.used_rows():
            for pod in table.pods_at(row).values():
                groups.count(row, pod, 1)
        return groups

    def column(self, key: Hashable, weigh: Weigh) -> CountColumn:
        """The column known as *key*, made with *weigh* if there is none: O(groups + their rows) then, else O(1).

        The same key must always come with an equivalent *weigh*.
        """
        column = self._columns.get(key)
        if column is not None:
            self._columns.move_to_end(key)
            return column
        column = CountColumn(self, weigh, np.zeros(self.table.capacity, np.int64))
        for group in self._groups.values():
            weight = weigh(group)
            if weight:
                group.columns.append((column, weight))
                for row, pods in group.rows.items():
                    column.counts[row] += weight * pods
        self._columns[key] = column
        if len(self._columns) > MAX_COLUMNS:
            _, old = self._columns.popitem(last=False)
            old.dropped = True
        return column

    def count(self, row: int, pod: Pod, sign: int) -> None:
        """A pod came to (1) or left (-1) a row; O(columns that count it)."""
        group, key = self._group(pod)
        left = group.rows.get(row, 0) + sign
        if left:
            group.rows[row] = left
        else:
            del group.rows[row]
        group.pods += sign
        dead = False
        for column, weight in group.columns:
            column.add(row, sign * weight)
            dead = dead or column.dropped
        if dead:
            group.columns = [entry for entry in group.columns if not entry[0].dropped]
        if not group.pods:
            del self._groups[key]
            self._leave_kind(group)

    def groups(self) -> list[PodGroup]:
        """All groups that have pods."""
        return list(self._groups.values())

    def _group(self, pod: Pod) -> tuple[PodGroup, Hashable]:
        """The group of a pod, made if need be; found through the spec for a pod like an earlier one."""
        known = pod.spec.memo.get(_MEMO)
        if known is not None and known[0] is self:
            group: PodGroup = known[1]
            if (
                group.pods
                and group.labels == pod.labels
                and group.namespace == pod.namespace
                and group.terminating == pod.is_terminating
            ):
                return group, known[2]
        key = _key(pod)
        group = self._groups.get(key) or self._new_group(key, pod)
        pod.spec.memo[_MEMO] = (self, group, key)
        return group, key

    def _new_group(self, key: Hashable, pod: Pod) -> PodGroup:
        group = PodGroup(pod.namespace, pod.labels, pod.spec.affinity, pod.is_terminating, pod)
        group.kind = self._join_kind(group)
        group.columns = [(c, weight) for c in self._columns.values() if (weight := c.weigh(group))]
        self._groups[key] = group
        return group

    def kinds(self) -> list[TermKind]:
        """The kinds of pod affinity terms that pods have."""
        return list(self._kinds.values())

    def _join_kind(self, group: PodGroup) -> TermKind | None:
        key = _kind_key(group)
        if key is None:
            return None
        kind = self._kinds.get(key)
        if kind is None:
            assert group.affinity is not None
            kind = self._kinds[key] = TermKind(group.namespace, group.labels, group.affinity)
            self.kinds_version += 1
        kind.groups += 1
        return kind

    def _leave_kind(self, group: PodGroup) -> None:
        if group.kind is None:
            return
        group.kind.groups -= 1
        if not group.kind.groups:
            del self._kinds[_kind_key(group)]
            self.kinds_version += 1

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless kinds, groups and columns equal those made from nothing; O(everything)."""
        fresh = PodGroups.of(self.table)
        if {key: group.rows for key, group in fresh._groups.items()} != {
            key: group.rows for key, group in self._groups.items()
        }:
            raise InvariantError("pod groups are not those of the pods in the table")
        if {key: kind.groups for key, kind in fresh._kinds.items()} != {
            key: kind.groups for key, kind in self._kinds.items()
        }:
            raise InvariantError("kinds of pod affinity terms are not those of the groups")
        for key, column in self._columns.items():
            again = fresh.column(key, column.weigh)
            size = self.table.size
            mine = np.zeros(size, np.int64)
            mine[: len(column.counts)] = column.counts[:size]
            if not np.array_equal(mine, again.counts[:size]):
                raise InvariantError(f"count column {key!r} differs from one made anew")
            for topology_key in column._domains:
                _check_sums(column.by_domain(topology_key), again.by_domain(topology_key))


def _check_sums(mine: DomainSums, fresh: DomainSums) -> None:
    values = len(fresh.labels.values)
    if not np.array_equal(mine.sums[:values], fresh.sums[:values]):
        raise InvariantError(f"sums by {mine.topology_key} differ from those made anew")


def _key(pod: Pod) -> Hashable:
    return (pod.namespace, frozenset(pod.labels.items()), _terms(pod.spec.affinity), pod.is_terminating)


def _terms(affinity: Affinity | None) -> tuple[PodAffinity | None, PodAntiAffinity | None] | None:
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return None
    return (affinity.pod_affinity, affinity.pod_anti_affinity)


def _kind_key(group: PodGroup) -> Hashable:
    terms = _terms(group.affinity)
    if terms is None:
        return None
    keys = {
        key
        for part in terms
        if part is not None
        for term in (*part.required, *(weighted.term for weighted in part.preferred))
        for key in (*term.match_label_keys, *term.mismatch_label_keys)
    }
    return (group.namespace, terms, tuple((key, group.labels.get(key)) for key in sorted(keys)))
