"""Index of pods by what selectors can read of them, for counts by row and by topology domain without a loop
over pods.

Pods with equal namespace, labels, affinity and deletion state form a group. A :class:`CountColumn` gives each
group a weight and holds the weighted number of pods per row. It is built once, from the weight of each group.
From then on a pod that is added or removed costs one addition for each column that counts its group, and one
for each of the column's sums by domain.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable

import numpy as np
from attrs import field

from .._base.value import record
from ..api import Affinity, Pod, PodAffinity, PodAntiAffinity
from ..errors import InvariantError
from . import policy
from .domains import Domains, NodeSubset
from .pod_counts import CountableTable, CountColumn, DomainSums, LabelGroup, Scope, TermClass, Weigh

_BYTES_PER_ROW = 16
"""Bytes of a column and its sums by domain per row, about; domains take less."""
_BYTES_PER_COLUMN = 3072
"""Bytes of a column, its sums and its selector apart from the rows; measured with tracemalloc."""
_MEMO = object()


@record(eq=False)
class LabelGroups:
    """All groups of the pods in a table, and the columns that count them."""

    table: CountableTable
    term_classes_version: int = 0
    """Number of term classes that ever appeared; one that comes back counts again."""
    _term_classes: dict[Hashable, TermClass] = field(factory=dict)
    _appeared: list[TermClass] = field(factory=list)
    """The last classes that appeared."""
    _groups: dict[Hashable, LabelGroup] = field(factory=dict)
    _namespaces: dict[str, dict[int, LabelGroup]] = field(factory=dict)
    """The groups of each namespace, by identity."""
    _columns: OrderedDict[Hashable, CountColumn] = field(factory=OrderedDict)
    _scopes: dict[Hashable, list[CountColumn]] = field(factory=dict)
    """Columns by scope, so that only columns that may count a new group weigh it."""
    _domains: OrderedDict[Hashable, Domains] = field(factory=OrderedDict)
    _vacant: list[tuple[Hashable, LabelGroup]] = field(factory=list)
    """Groups whose last pod was removed in the trial under way."""

    @classmethod
    def of(cls, table: CountableTable) -> LabelGroups:
        """Return the groups of the pods in the table; O(pods)."""
        groups = cls(table)
        for row in table.used_rows():
            for pod in table.pods_at(row).values():
                groups.count(row, pod, 1)
        return groups

    # ---- looking -----------------------------------------------------------------------------------------

    def column(self, key: Hashable, weigh: Weigh, *scopes: Scope | TermClass) -> CountColumn:
        """Return the column of *key*, built with *weigh* if there is none.

        O(groups + their rows) when built, else O(1). The same key must always come with an equivalent *weigh*
        and *scopes*. With scopes only groups of that namespace with that label, or of that term class, can
        have a weight, so *weigh* is not called for others.
        """
        column = self._columns.get(key)
        if column is not None:
            self._columns.move_to_end(key)
            return column
        column, weights = self._build(weigh, scopes)
        for group, weight in weights:
            group.columns.append((column, weight))
        self._columns[key] = column
        for scope in scopes or (None,):
            self._scopes.setdefault(scope, []).append(column)
        most, drops = self._most_kept(), 0
        # Two at most: what groups that are gone left behind goes bit by bit, not in one call.
        while len(self._columns) > most and drops < 2:
            self._drop(self._columns.popitem(last=False)[1])
            drops += 1
        return column

    def domains(self, topology_key: str, subset: NodeSubset | None = None) -> Domains:
        """Return the domains of that key for the nodes of *subset*, up to date; O(rows) when built."""
        key = (topology_key, None if subset is None else subset.key)
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = Domains(self.table, topology_key, subset)
            if len(self._domains) > self._most_kept():
                # Sums in use keep a reference to their domains, which sync themselves.
                self._domains.popitem(last=False)
        else:
            self._domains.move_to_end(key)
        return domains.sync()

    def groups(self) -> list[LabelGroup]:
        """Return all groups that have pods, or had some before the trial under way."""
        return list(self._groups.values())

    def term_classes(self) -> list[TermClass]:
        """Return the classes of the pod affinity terms of all pods."""
        return list(self._term_classes.values())

    def term_classes_since(self, version: int) -> list[TermClass] | None:
        """Return the classes that appeared since that ``term_classes_version``, including those gone by now.

        ``None`` if the log does not reach back that far.
        """
        start = self.term_classes_version - len(self._appeared)
        return self._appeared[version - start :] if version >= start else None

    def _build(
        self, weigh: Weigh, scopes: tuple[Scope | TermClass, ...]
    ) -> tuple[CountColumn, list[tuple[LabelGroup, int]]]:
        """Build a column; return it and the groups that it counts, with their weights."""
        counts = np.zeros(self.table.capacity, np.int64)
        column = CountColumn(self, weigh, scopes, counts)
        weights = [(group, weight) for group in self._within(scopes) if (weight := weigh(group))]
        for group, weight in weights:
            for row, pods in group.rows.items():
                counts[row] += weight * pods
        return column, weights

    def _most_kept(self) -> int:
        affordable = policy.COUNT_BYTES // (_BYTES_PER_COLUMN + _BYTES_PER_ROW * self.table.capacity)
        return max(policy.KEPT_COLUMNS, min(affordable, policy.COUNT_COLUMNS))

    def _within(self, scopes: tuple[Scope | TermClass, ...]) -> Iterable[LabelGroup]:
        """Return the groups in any of *scopes*, each once."""
        if not scopes:
            return self._groups.values()
        classes = {scope for scope in scopes if isinstance(scope, TermClass)}
        matching = (
            {id(group): group for group in self._groups.values() if group.term_class in classes}
            if classes
            else {}
        )
        for scope in scopes:
            if not isinstance(scope, TermClass):
                namespace, label = scope
                matching |= {
                    i: group
                    for i, group in self._namespaces.get(namespace, {}).items()
                    if label is None or group.labels.get(label[0]) == label[1]
                }
        return matching.values()

    # ---- pods that come and go ---------------------------------------------------------------------------

    def count(self, row: int, pod: Pod, sign: int) -> None:
        """Count a pod that was added to (1) or removed from (-1) a row; O(columns that count it)."""
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
            if self.table.on_trial:
                # It may come back, and columns compare term classes by identity.
                self._vacant.append((key, group))
            else:
                self._forget(key, group)

    def end_trial(self) -> None:
        """Remove the groups that the outermost trial left without pods."""
        vacant, self._vacant = self._vacant, []
        for key, group in vacant:
            if not group.pods and self._groups.get(key) is group:
                self._forget(key, group)

    def _group(self, pod: Pod) -> tuple[LabelGroup, Hashable]:
        """Return the group of a pod, made if there is none; cached on the spec for pods that share it."""
        cached = pod.spec.memo.get(_MEMO)
        if cached is not None and cached[0] is self:
            group: LabelGroup = cached[1]
            if (
                group.pods
                and group.labels == pod.labels
                and group.namespace == pod.namespace
                and group.terminating == pod.is_terminating
            ):
                return group, cached[2]
        key = _key(pod)
        group = self._groups.get(key) or self._new_group(key, pod)
        pod.spec.memo[_MEMO] = (self, group, key)
        return group, key

    def _new_group(self, key: Hashable, pod: Pod) -> LabelGroup:
        group = LabelGroup(pod.namespace, pod.labels, pod.spec.affinity, pod.is_terminating, pod)
        group.term_class = self._join_term_class(group)
        namespace = group.namespace
        scopes: list[Scope | TermClass | None] = [
            None,
            (namespace, None),
            *([group.term_class] if group.term_class else []),
        ]
        scopes += [(namespace, label) for label in group.labels.items()]
        columns = dict.fromkeys(column for scope in scopes for column in self._scopes.get(scope, ()))
        group.columns = [(column, weight) for column in columns if (weight := column.weigh(group))]
        self._groups[key] = group
        self._namespaces.setdefault(namespace, {})[id(group)] = group
        return group

    def _forget(self, key: Hashable, group: LabelGroup) -> None:
        del self._groups[key]
        namespace = self._namespaces[group.namespace]
        del namespace[id(group)]
        if not namespace:
            del self._namespaces[group.namespace]
        self._leave_term_class(group)

    def _drop(self, column: CountColumn) -> None:
        """Drop a column. Its groups remove their references when they change next."""
        column.dropped = True
        for scope in column.scopes or (None,):
            columns = self._scopes[scope]
            columns.remove(column)
            if not columns:
                del self._scopes[scope]

    def _join_term_class(self, group: LabelGroup) -> TermClass | None:
        key = _term_class_key(group)
        if key is None:
            return None
        term_class = self._term_classes.get(key)
        if term_class is None:
            assert group.affinity is not None
            term_class = self._term_classes[key] = TermClass(group.namespace, group.labels, group.affinity)
            self.term_classes_version += 1
            if len(self._appeared) > 2 * len(self._term_classes) + policy.KEPT_CHANGES:
                self._appeared.clear()
            else:
                self._appeared.append(term_class)
        term_class.groups += 1
        return term_class

    def _leave_term_class(self, group: LabelGroup) -> None:
        if group.term_class is None:
            return
        group.term_class.groups -= 1
        if not group.term_class.groups:
            del self._term_classes[_term_class_key(group)]

    def grow(self) -> None:
        """Make room for the table's capacity; O(columns × rows)."""
        for column in self._columns.values():
            column.grow()

    # ---- self-check --------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless everything equals a recomputation; O(everything)."""
        _check_groups(self, LabelGroups.of(self.table))
        again = LabelGroups(self.table)
        # The same groups, because some columns compare by identity; scopes must not make a difference.
        again._groups = self._groups
        for key, column in self._columns.items():
            fresh, _ = again._build(column.weigh, ())
            size = self.table.size
            mine = np.zeros(size, np.int64)
            mine[: len(column.counts)] = column.counts[:size]
            if not np.array_equal(mine, fresh.counts[:size]):
                raise InvariantError(f"count column {key!r} differs from a recomputed one")
            if not np.array_equal(column.positive(), column.counts > 0):
                raise InvariantError(f"count column {key!r} is wrong about where its counts are positive")
            for sums in column.all_sums():
                _check_sums(sums, fresh.by_domain(sums.domains.topology_key, sums.domains.subset))
        for domains in self._domains.values():
            _check_domains(domains.sync(), again.domains(domains.topology_key, domains.subset))


def _check_groups(mine: LabelGroups, fresh: LabelGroups) -> None:
    if {key: group.rows for key, group in fresh._groups.items()} != {
        key: group.rows for key, group in mine._groups.items() if group.pods
    }:
        raise InvariantError("label groups are not those of the pods in the table")
    if not mine._vacant and {key: each.groups for key, each in fresh._term_classes.items()} != {
        key: each.groups for key, each in mine._term_classes.items()
    }:
        raise InvariantError("classes of pod affinity terms are not those of the groups")
    filed = {i for groups in mine._namespaces.values() for i in groups}
    if filed != {id(group) for group in mine._groups.values()} or not all(mine._namespaces.values()):
        raise InvariantError("label groups are not filed under their namespaces")
    scoped = {id(column) for columns in mine._scopes.values() for column in columns}
    if scoped != {id(column) for column in mine._columns.values()}:
        raise InvariantError("count columns are not filed under their scopes")


def _check_sums(mine: DomainSums, fresh: DomainSums) -> None:
    named, again = (
        {value: int(count) for value, count in zip(each.labels.values, each.sums, strict=False) if count}
        for each in (mine, fresh)
    )
    if named != again or mine.nonzero != len(named):
        raise InvariantError(f"sums by {mine.domains.topology_key}: {named}, recomputed {again}")
    _check_domains(mine.domains, fresh.domains)


def _check_domains(mine: Domains, fresh: Domains) -> None:
    values, size = len(fresh.labels.values), min(len(mine.codes), len(fresh.codes))
    agree = (
        np.array_equal(mine.nodes[:values], fresh.nodes[:values])
        and np.array_equal(mine.codes[:size], fresh.codes[:size])
        and (mine.count, mine.total) == (fresh.count, fresh.total)
    )
    if not agree:
        raise InvariantError(f"domains of {mine.topology_key} differ from recomputed ones")


def _key(pod: Pod) -> Hashable:
    return (pod.namespace, frozenset(pod.labels.items()), _terms(pod.spec.affinity), pod.is_terminating)


def _terms(affinity: Affinity | None) -> tuple[PodAffinity | None, PodAntiAffinity | None] | None:
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return None
    return (affinity.pod_affinity, affinity.pod_anti_affinity)


def _term_class_key(group: LabelGroup) -> Hashable:
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
