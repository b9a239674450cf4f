"""Numbers of pods per row, and their sums per topology domain: incrementally maintained aggregates.

Each pod that is added or removed changes the counts of its row in every column that counts its group, and the
sums of that row's domains. Nothing is ever recounted, except after the codes of a label were assigned again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from attrs import field

from .._base.value import record
from ..api import Affinity, Pod
from . import policy
from .columns import ABSENT, DictionaryColumn
from .domains import Codes, Counts, Domains, LabelledTable, Mask, NodeSubset, at_least
from .read_only import read_only

Scope = tuple[str, tuple[str, str] | None]
"""A namespace, and a label (key, value); ``None``: any labels."""


class CountableTable(LabelledTable, Protocol):
    """The part of a :class:`.NodeTable` that counts of pods read."""

    capacity: int

    @property
    def on_trial(self) -> bool:
        """Return whether a trial is under way, or is being undone."""
        ...

    def used_rows(self) -> Iterator[int]:
        """Return the rows that belong to a name."""
        ...

    def pods_at(self, row: int) -> dict[str, Pod]:
        """Return the pods of a row by uid."""
        ...


class DomainSource(Protocol):
    """The part of :class:`.LabelGroups` that a column reads."""

    @property
    def table(self) -> CountableTable:
        """The table whose pods are counted."""
        ...

    def domains(self, topology_key: str, subset: NodeSubset | None = None) -> Domains:
        """Return the domains of that topology key, up to date."""
        ...


@record(eq=False)
class TermClass:
    """Class of equivalent pod affinity terms of existing pods.

    Equivalent terms are equal, and their pods agree in the namespace and in the labels that the terms refer
    to (matchLabelKeys).
    """

    namespace: str
    labels: Mapping[str, str]
    """Labels of one of the pods; only the labels that the terms refer to may be read."""
    affinity: Affinity
    memo: dict[object, Any] = field(factory=dict)
    """For compiled forms of the terms."""
    groups: int = 0
    """Number of label groups with these terms."""


@record(eq=False)
class LabelGroup:
    """Pods that agree in everything below, counted by row."""

    namespace: str
    labels: Mapping[str, str]
    affinity: Affinity | None
    terminating: bool
    """Whether they are being deleted."""
    sample: Pod
    """One of the pods, possibly deleted by now; only what the group has in common may be read of it."""
    term_class: TermClass | None = None
    """Their pod affinity terms, if they have any."""
    rows: dict[int, int] = field(factory=dict)
    """Row → number of pods, only positive ones."""
    columns: list[tuple[CountColumn, int]] = field(factory=list)
    """Columns that count this group, with its weight there."""
    pods: int = 0


Weigh = Callable[[LabelGroup], int]
"""Weight of a group in a column, 0 if it does not count; a function of what its pods have in common."""


@record(eq=False)
class CountColumn:
    """Weighted number of pods per row: ``counts``, int64 of shape ``(capacity,)``, always up to date."""

    groups: DomainSource
    weigh: Weigh
    scopes: tuple[Hashable, ...]
    """See :meth:`.LabelGroups.column`; none: any group may count."""
    _counts: Counts
    dropped: bool = False
    """Whether the column was dropped to save memory, and is no longer maintained."""
    counts: Counts = field(init=False)
    """Read-only."""
    _sums: OrderedDict[Hashable, DomainSums] = field(factory=OrderedDict)
    _positive: Mask | None = None
    """Where counts are positive, from the first use of :meth:`positive` on."""

    def __attrs_post_init__(self) -> None:
        self.counts = read_only(self._counts)

    def add(self, row: int, amount: int) -> None:
        """Add to the count of a row; O(sums by domain)."""
        if self.dropped:
            return
        counts = self._counts
        count = counts[row] = counts.item(row) + amount
        if self._positive is not None:
            self._positive[row] = count > 0
        for sums in self._sums.values():
            sums.add(row, amount)

    def positive(self) -> Mask:
        """Per row: is the count positive? Shape ``(capacity,)``, always up to date, read-only."""
        if self._positive is None:
            self._positive = self.counts > 0
        return read_only(self._positive)

    def grow(self) -> None:
        """Make ``counts`` as long as the table's columns."""
        counts = np.zeros(self.groups.table.capacity, np.int64)
        counts[: len(self._counts)] = self._counts
        self._counts, self.counts = counts, read_only(counts)
        self._positive = None

    def by_domain(self, topology_key: str, subset: NodeSubset | None = None) -> DomainSums:
        """Return the counts summed over the nodes (of *subset*) with each value of that label, up to date."""
        key = (topology_key, None if subset is None else subset.key)
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = DomainSums(self, self.groups.domains(topology_key, subset))
            if len(self._sums) > policy.KEPT_COLUMNS:
                self._sums.popitem(last=False)
        elif len(self._sums) > 1:
            self._sums.move_to_end(key)
        return sums.sync()

    def all_sums(self) -> list[DomainSums]:
        """Return the sums by domain that are kept, up to date."""
        return [sums.sync() for sums in self._sums.values()]


@record(eq=False)
class DomainSums:
    """Sums of a :class:`CountColumn` per topology domain.

    ``sums[code]`` belongs to ``labels.values[code]``; a node without the label, or outside of the subset, is
    in no domain. Maintained pod by pod; :meth:`sync` catches up with the nodes that changed since: O(1) if
    none did, O(rows) after the codes of the label's values were assigned again.
    """

    column: CountColumn
    domains: Domains
    sums: Counts = field(init=False)
    """By code, longer than ``labels.values``; 0 for values that are no domain, and at the end, for -1.
    Read-only."""
    nonzero: int = 0
    """Number of sums that are not 0."""
    _total: Counts = field(factory=lambda: np.zeros(0, np.int64))
    """The array behind ``sums``."""
    _codes: Codes = field(factory=lambda: np.zeros(0, np.int32))
    """Codes under which the counts are summed."""
    _epoch: int = -1
    _version: int = -1

    def __attrs_post_init__(self) -> None:
        self.sums = read_only(self._total)

    @property
    def labels(self) -> DictionaryColumn[str]:
        """The label's column, whose codes index ``sums``."""
        return self.domains.labels

    def add(self, row: int, amount: int) -> None:
        """Add to the sum of a row's domain; nothing for a row that was added since the last :meth:`sync`."""
        if row < len(self._codes):
            code = self._codes.item(row)
            if code != ABSENT:
                sums = self._total
                before = sums.item(code)
                after = sums[code] = before + amount
                if not before or not after:
                    self.nonzero += bool(after) - bool(before)

    def sync(self) -> DomainSums:
        """Catch up with the nodes."""
        domains = self.domains.sync()
        if self._version == domains.version:
            return self
        log = self.column.groups.table.node_log
        moved = log.since(self._version) if self._version >= 0 else None
        if moved is None or self._epoch != domains.epoch:
            self._recount()
        else:
            self._fit()
            for row in moved if len(moved) == 1 else set(moved):
                self._move(row)
        self._epoch, self._version = domains.epoch, domains.version
        return self

    def _fit(self) -> None:
        self._total = at_least(self._total, len(self.labels.values) + 1)
        if self.sums.base is not self._total:
            self.sums = read_only(self._total)
        codes = self.domains.codes
        if len(self._codes) < len(codes):
            longer = np.full(len(codes), ABSENT, np.int32)
            longer[: len(self._codes)] = self._codes
            self._codes = longer

    def _move(self, row: int) -> None:
        new = self.domains.codes.item(row)
        if self._codes.item(row) == new:
            return
        counts = self.column.counts
        count = counts.item(row) if row < len(counts) else 0
        if count:
            self.add(row, -count)
        self._codes[row] = new
        if count:
            self.add(row, count)

    def _recount(self) -> None:
        codes = self._codes = self.domains.codes.copy()
        counts = self.column.counts
        in_domain = (codes[: len(counts)] != ABSENT).nonzero()[0]
        # Sums of counts are far below 2**53, so going through floats loses nothing.
        sums = np.bincount(codes[in_domain], counts[in_domain], len(self.labels.values) + 1)
        self._total = sums.astype(np.int64)
        self.sums = read_only(self._total)
        self.nonzero = int(np.count_nonzero(sums))
