"""Dry runs that need not be done again: for pods alike, on nodes that did not change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from attrs import define, field

from ...api import Pod
from ..cycle_state import CycleState
from ..handle import Handle
from ..status import Status
from .candidates import Candidate

MAX_KINDS = 64
"""Kinds of preemptors whose dry runs are kept; the least recently seen go first."""

Results = dict[int, "Candidate | Status"]
"""Row → what a dry run found there."""


@define(eq=False)
class DryRuns:
    """Results by kind of preemptor and row.

    Only for pods about which every filter that has a say looks at the row alone, so that the same pod on
    the same row always gives the same. A row's results are dropped when it, or who is nominated to it,
    changes; all when a disruption budget does. Catching up is O(touched rows × kinds).
    """

    handle: Handle
    _results: OrderedDict[Hashable, Results] = field(factory=OrderedDict)
    _rows_seen: int = 0
    _exchanges_seen: int = 0
    _nominations_seen: int = 0
    _budgets_seen: int = -1

    def of(self, state: CycleState, pod: Pod) -> Results | None:
        """The results for pods like this one, up to date and to be added to; ``None`` if none may be kept."""
        if self.handle.nominator.node_of(pod) is not None:
            return None
        key = self.handle.runner.row_local_key(state, pod)
        if key is None:
            return None
        self._catch_up()
        kind = (key, pod.priority)
        results = self._results.get(kind)
        if results is None:
            results = self._results[kind] = {}
            if len(self._results) > MAX_KINDS:
                self._results.popitem(last=False)
        else:
            self._results.move_to_end(kind)
        return results

    def _catch_up(self) -> None:
        table, nominator = self.handle.table, self.handle.nominator
        budgets = self.handle.objects.version("PodDisruptionBudget")
        touched = table.row_log.since(self._rows_seen)
        exchanged = table.exchange_log.since(self._exchanges_seen)
        renamed = nominator.changed_since(self._nominations_seen)
        if touched is None or exchanged is None or renamed is None or budgets != self._budgets_seen:
            self._results.clear()
        elif touched or exchanged or renamed:
            rows = {*touched, *exchanged, *(table.live_row(name) for name in renamed)}
            for results in self._results.values():
                for row in rows:
                    if row is not None:
                        results.pop(row, None)
        self._rows_seen, self._exchanges_seen = table.row_log.version, table.exchange_log.version
        self._nominations_seen, self._budgets_seen = nominator.version, budgets
