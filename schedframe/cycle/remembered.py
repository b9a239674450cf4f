"""What is remembered of pods that no plugin can tell apart: verdict and score of every row, kept up to date.

A class holds the row-local part: plugins whose answer for a row depends on that row and on the pod alone
(``row_local``). The others, the live ones, are asked for every pod, see :mod:`.search`.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from ..api import Pod
from ..framework import Code, CycleState, Framework, Normalization, Plan, Status
from ..framework.filtering import filter_node, filter_rows, run_pre_filter
from ..framework.normalization import MAX_SCORE, MIN_SCORE
from ..framework.plan import FilterEntry, ScoreEntry
from ..framework.scoring import run_pre_score
from ..state import NodeTable, ObjectStore, Rows
from .maxima import OUT, BlockedMaxima

Column = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

NO_NODE = -1
"""The code of a row without a node."""
LIVE = 1 << 30
"""Stands for "no remembered plugin rejects this row" among the places in the profile's order."""
ONE_BY_ONE = 6
"""Up to so many touched rows are refreshed by the per-node form, more of them by columns."""


@frozen
class SplitPlan:
    """A profile's plan in two parts: what can be remembered, and what is asked for every pod."""

    remembered: Plan
    live: Plan
    order: dict[str, int]
    """Filter plugin → its place in the profile."""
    signatures: tuple[Any, ...]
    """pod_signature of the remembered plugins."""
    reads: tuple[str, ...]
    """Kinds that remembered plugins read beyond the row."""


def split(framework: Framework) -> SplitPlan | None:
    """Divide the plan of a framework; ``None`` if nothing of it can be remembered."""
    plan = framework.plan
    signatures = {name: call for name, call in plan.signatures if call is not None}
    local = {name for name in signatures if getattr(plan.plugins[name], "row_local", False)}
    # A normalisation that the framework cannot follow row by row makes the scores of a plugin live.
    local -= {
        entry.name for entry in plan.score if entry.normalize is not None and entry.normalization is None
    }
    if not local:
        return None

    def part(wanted: bool) -> Plan:
        def only(entries: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(entry for entry in entries if (entry.name in local) is wanted)

        return evolve(
            plan,
            pre_filter=only(plan.pre_filter),
            pod_hooks=only(plan.pod_hooks),
            filter=only(plan.filter),
            pre_score=only(plan.pre_score),
            score=only(plan.score),
        )

    return SplitPlan(
        part(True),
        part(False),
        {entry.name: place for place, entry in enumerate(plan.filter)},
        tuple(signatures[name] for name in signatures if name in local),
        tuple(sorted({kind for name in local for kind in getattr(plan.plugins[name], "reads", ())})),
    )


def versions(reads: tuple[str, ...], table: NodeTable, objects: ObjectStore) -> tuple[int, ...]:
    """A value that differs as soon as something of *reads* does; "Node" is what nodes have in common."""
    found: list[int] = []
    for kind in reads:
        if kind == "Node":
            found += (table.num_nodes, table.images.version)
        else:
            found.append(objects.version(kind))
    return tuple(found)


@define(eq=False)
class Normalized:
    """Raw scores of one plugin with a declared normalisation, for the feasible rows."""

    entry: ScoreEntry
    how: Normalization
    raw: Column
    counts: dict[int, int] = field(factory=dict)
    """Raw score → feasible rows that have it."""
    highest: int = 0

    def count(self, raw: int, change: int) -> None:
        """One feasible row more or less has this raw score."""
        left = self.counts.get(raw, 0) + change
        if left:
            self.counts[raw] = left
        else:
            del self.counts[raw]

    def weighted(self, raw: int) -> int:
        """Normalised and weighted score of a row."""
        if self.highest == 0:
            score = MAX_SCORE if self.how is Normalization.BY_MAX_REVERSED else 0
        else:
            score = raw * MAX_SCORE // self.highest
            if self.how is Normalization.BY_MAX_REVERSED:
                score = MAX_SCORE - score
        return score * self.entry.weight


class PodClass:
    """Verdicts and totals of all rows for one class of pods.

    ``refresh`` catches up with the rows touched since the last visit: O(touched rows), plus O(rows) when the
    highest raw score of a normalised plugin moved. Memory: about 12 bytes a row, and 8 more for each
    normalised plugin.
    """

    def __init__(self, framework: Framework, parts: SplitPlan, pod: Pod, objects: ObjectStore) -> None:
        self.framework = framework
        self.parts = parts
        self.pod = pod
        self.state = CycleState()
        self.table = framework.handle.table
        self.statuses: list[Status] = []
        self.codes: Codes = np.empty(0, np.int32)
        """Per row: 0 passes, *k* is rejected with ``statuses[k - 1]``, -1 has no node."""
        self.feasible = 0
        self.usable = False
        """Whether the class can be used; not if a plugin failed, rejects the pod outright or names nodes."""
        self.forgotten = False
        """Whether the class was dropped: whoever still holds it must look it up again."""
        self.maxima = BlockedMaxima(np.empty(0, np.int64), 0)
        self.normalized: tuple[Normalized, ...] = ()
        self.read_versions: tuple[int, ...] = ()
        self._objects = objects
        self._number: dict[Status, int] = {}
        self._counts: list[int] = [0]
        self._base: Column = np.empty(0, np.int64)
        self._filters: tuple[FilterEntry, ...] = ()
        self._scores: tuple[ScoreEntry, ...] = ()
        self._version = -1
        self._build()

    # ---- looking -----------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        columns = [self.codes.nbytes, self._base.nbytes, self.maxima.values.nbytes]
        return sum(columns) + sum(column.raw.nbytes for column in self.normalized)

    def choose(self, rng: Random) -> int | None:
        """A row with the highest total, see :meth:`BlockedMaxima.choose`."""
        return self.maxima.choose(rng)

    def counts(self) -> list[tuple[Status, int]]:
        """Each status with the number of rows that it rejects; O(statuses)."""
        return [(s, n) for s, n in zip(self.statuses, self._counts[1:], strict=True) if n]

    def totals_of(self, positions: npt.NDArray[np.intp]) -> Column:
        """Totals of some of the feasible rows, normalised over just them; a fresh array."""
        highest = [int(column.raw[positions].max()) if column.highest else 0 for column in self.normalized]
        if all(h == column.highest for h, column in zip(highest, self.normalized, strict=True)):
            return self.maxima.values[positions]
        totals = self._base[positions]
        for h, column in zip(highest, self.normalized, strict=True):
            totals += column.how.scaled(column.raw[positions], h) * column.entry.weight
        return totals

    def places(self) -> npt.NDArray[np.int64]:
        """Code → place in the profile of the plugin that rejects with it; indexable by -1."""
        order = self.parts.order
        return np.array([LIVE, *(order[status.plugin] for status in self.statuses), -1], np.int64)

    def forget(self) -> None:
        """Give the memory back; pods' specs may hold on to this object for long."""
        self.forgotten, self.usable = True, False
        self.codes = np.empty(0, np.int32)
        self._base = np.empty(0, np.int64)
        self.maxima = BlockedMaxima(np.empty(0, np.int64), 0)
        self.normalized = ()

    # ---- catching up -------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with the table; whether the class can be used."""
        log = self.table.row_log
        if self.parts.reads and self.read_versions != versions(self.parts.reads, self.table, self._objects):
            self._build()
            return self.usable
        if self._version == log.version or not self.usable:
            return self.usable
        rows = log.since(self._version)
        if rows is None or len(self.codes) < self.table.size:
            self._build()
            return self.usable
        self._version = log.version
        moved = [column.highest for column in self.normalized]
        if len(rows) <= ONE_BY_ONE or len(touched := set(rows)) <= ONE_BY_ONE:
            for row in rows if len(rows) == 1 else set(rows):
                self._refresh_row(row)
                if not self.usable:
                    return False
        else:
            self._refresh_rows(np.fromiter(touched, np.intp, len(touched)))
        if self.normalized and self.usable:
            self._follow(moved)
        return self.usable

    def _build(self) -> None:
        """Everything from nothing; O(rows)."""
        table, pod = self.table, self.pod
        self.state = CycleState()
        self.statuses, self._number, self._counts, self.feasible = [], {}, [0], 0
        self.read_versions = versions(self.parts.reads, table, self._objects)
        self._version = table.row_log.version
        rows = table.rows()
        outcome = run_pre_filter(self.parts.remembered, self.state, pod, rows)
        self.usable = outcome.status is None and outcome.node_names is None
        if not self.usable:
            return
        # Some room to grow, so that nodes that join are refreshed like any other row.
        size = max(table.capacity, 1)
        self.codes = np.full(size, NO_NODE, np.int32)
        self._base = np.zeros(size, np.int64)
        self.maxima.values = np.full(size, OUT, np.int64)
        self._filters = tuple(
            entry
            for entry in self.parts.remembered.filter
            if entry.name not in self.state.skip_filter_plugins
        )
        found = self._filter(rows)
        status = run_pre_score(self.parts.remembered, self.state, pod, found)
        self.usable &= status is None
        self._scores = tuple(
            entry for entry in self.parts.remembered.score if entry.name not in self.state.skip_score_plugins
        )
        self.normalized = tuple(
            Normalized(entry, entry.normalization, np.zeros(size, np.int64))
            for entry in self._scores
            if entry.normalization is not None
        )
        if self.usable:
            self._score(found)
            self._total_all()

    def _refresh_rows(self, positions: npt.NDArray[np.intp]) -> None:
        """Many rows by columns."""
        codes = self.codes
        feasible = positions[codes[positions] == 0]
        for column in self.normalized:
            for raw in column.raw[feasible].tolist():
                column.count(raw, -1)
        self.feasible -= len(feasible)
        for code, count in enumerate(np.bincount(codes[positions] + 1)[1:].tolist()):
            self._counts[code] -= count
        codes[positions] = NO_NODE
        self.maxima.values[positions] = OUT
        alive = positions[self.table.alive[positions]]
        found = self._filter(Rows.at(self.table, alive))
        if self.usable:
            self._score(found)
            self._total_all()

    def _filter(self, rows: Rows) -> Rows:
        """Take in verdicts of *rows*, which count as unknown so far; the rows that pass."""
        verdicts = filter_rows(self.parts.remembered, self.state, self.pod, rows)
        if any(status.code is Code.ERROR for status in verdicts.statuses):
            self.usable = False
        numbers = np.array([0, *(self._number_of(status) for status in verdicts.statuses)], np.int32)
        codes = numbers[verdicts.codes]
        self.codes[rows.index] = codes
        for code, count in enumerate(np.bincount(codes, minlength=1).tolist()):
            self._counts[code] += count
        found = rows.select(codes == 0) if len(verdicts.statuses) else rows
        self.feasible += len(found)
        return found

    def _score(self, rows: Rows) -> None:
        """Take in the scores of *rows*, all feasible and not counted so far."""
        base = np.zeros(len(rows), np.int64)
        for entry in self._scores:
            raw = self._raw(entry, rows)
            if raw is None:
                self.usable = False
                return
            if entry.normalization is None:
                base += raw * entry.weight
                continue
            column = next(column for column in self.normalized if column.entry is entry)
            column.raw[rows.index] = raw
            values, counts = np.unique(raw, return_counts=True)
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                column.count(value, count)
        self._base[rows.index] = base

    def _raw(self, entry: ScoreEntry, rows: Rows) -> Column | None:
        """Raw scores, ``None`` if the plugin fails: the pods of the class are then scheduled without it."""
        try:
            if entry.score_rows is not None:
                raw: Column = entry.score_rows(self.state, self.pod, rows)
            else:
                assert entry.score is not None
                score = entry.score
                raw = np.array([score(self.state, self.pod, info) for info in rows], np.int64)
        except Exception:  # noqa: BLE001 - the pod goes the long way, where the fault is met again and reported
            return None
        if not isinstance(raw, np.ndarray) or raw.shape != (len(rows),) or raw.dtype.kind not in "iu":
            return None
        if entry.normalization is None and len(raw) and not MIN_SCORE <= raw.min() <= raw.max() <= MAX_SCORE:
            return None
        return raw

    def _refresh_row(self, row: int) -> None:
        """One row by the per-node form."""
        old = int(self.codes[row])
        if old >= 0:
            self._counts[old] -= 1
        if old == 0:
            self.feasible -= 1
            for column in self.normalized:
                column.count(int(column.raw[row]), -1)
        if not self.table.alive[row]:
            self.codes[row] = NO_NODE
            self.maxima.update(row, OUT)
            return
        info = self.table.info(row)
        status = None
        for entry in self._filters:
            status = filter_node(entry, self.state, self.pod, info, self.table)
            if status is not None:
                break
        if status is not None:
            if status.code is Code.ERROR:
                self.usable = False
                return
            code = self._number_of(status)
            self.codes[row] = code
            self._counts[code] += 1
            self.maxima.update(row, OUT)
            return
        self.codes[row] = 0
        self._counts[0] += 1
        self.feasible += 1
        self._score_row(row, info)

    def _score_row(self, row: int, info: Any) -> None:
        base = total = 0
        columns = iter(self.normalized)
        for entry in self._scores:
            try:
                raw = entry.score(self.state, self.pod, info) if entry.score is not None else None
            except Exception:  # noqa: BLE001 - as in _raw
                raw = None
            if raw is None:
                one = self._raw(entry, Rows.at(self.table, np.array([row], np.intp)))
                if one is None:
                    self.usable = False
                    return
                raw = int(one[0])
            if entry.normalization is None:
                if not MIN_SCORE <= raw <= MAX_SCORE:
                    self.usable = False
                    return
                base += raw * entry.weight
            else:
                column = next(columns)
                column.raw[row] = raw
                column.count(raw, 1)
                total += column.weighted(raw)
        self._base[row] = base
        self.maxima.update(row, base + total)

    # ---- totals ------------------------------------------------------------------------------------------

    def _follow(self, before: list[int]) -> None:
        """If the highest raw score of some plugin moved, every total did."""
        after = [max(column.counts, default=0) for column in self.normalized]
        if after != before:
            self._total_all()

    def _total_all(self) -> None:
        """All totals as one column operation; O(rows)."""
        size = self.table.size
        totals = self._base[:size].copy()
        for column in self.normalized:
            column.highest = max(column.counts, default=0)
            if column.highest or column.how is Normalization.BY_MAX_REVERSED:
                totals += column.how.scaled(column.raw[:size], column.highest) * column.entry.weight
        totals[self.codes[:size] != 0] = OUT
        self.maxima.values[:size] = totals
        self.maxima.rebuild(size)

    def _number_of(self, status: Status) -> int:
        number = self._number.get(status)
        if number is None:
            self.statuses.append(status)
            self._counts.append(0)
            number = self._number[status] = len(self.statuses)
        return number
