"""Filter results: for each row one integer that stands for a status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from attrs import field
from typing_extensions import override

from .._base.value import record
from ..state import Rows
from .results import RowVerdicts
from .status import Code, Status

Codes = npt.NDArray[np.int32]


_NO_POSITIONS = np.empty(0, np.intp)


@record(eq=False)
class Verdicts:
    """For each of *rows*: 0 if it passes, else *k*, and ``statuses[k - 1]`` says why and by which plugin.

    The first rejection of a row stays. Equal statuses share a number, so that counting reasons is a bincount
    and never a loop over nodes.
    """

    rows: Rows
    codes: Codes
    statuses: list[Status] = field(factory=list)
    _number: dict[Status, int] = field(factory=dict)
    _counted: Sequence[tuple[Status, int]] | None = None
    """The answer of ``counts``, given or kept by ``settle``; such verdicts do not change any more."""
    _with_code: dict[Code, npt.NDArray[np.intp]] = field(factory=dict)
    """Answers of ``rows_with``, kept for verdicts that do not change any more."""
    _summary: str | None = None
    """The answer of ``summary``, kept for verdicts that do not change any more."""

    @classmethod
    def counted(
        cls, rows: Rows, codes: Codes, statuses: list[Status], counts: Sequence[tuple[Status, int]]
    ) -> Verdicts:
        """Return verdicts with given *counts*. *codes* are not copied."""
        return cls(rows, codes, statuses, {}, counts)

    @classmethod
    def passing_all(cls, rows: Rows) -> Verdicts:
        """Return verdicts by which all rows pass so far."""
        return cls(rows, np.zeros(len(rows), np.int32))

    def number_of(self, status: Status) -> int:
        """Return the number that stands for *status*."""
        if status.code is Code.ERROR:
            self.statuses.append(status)
            return len(self.statuses)
        number = self._number.get(status)
        if number is None:
            self.statuses.append(status)
            number = self._number[status] = len(self.statuses)
        return number

    def merge(self, plugin: str, verdicts: RowVerdicts) -> None:
        """Merge the answer of *plugin* for the rows that pass so far; O(rows).

        Raises ``IndexError``, and rejects nothing, if a code is negative or has no status.
        """
        hit = (verdicts.codes != 0).nonzero()[0]
        if not len(hit):
            return
        numbers = np.zeros(len(verdicts.statuses) + 1, np.int32)
        for i, status in enumerate(verdicts.statuses):
            numbers[i + 1] = self.number_of(status.with_plugin(plugin))
        new = numbers[_not_negative(verdicts.codes[hit], len(verdicts.statuses))]
        free = self.codes[hit] == 0
        self.codes[hit[free]] = new[free]

    def reject(self, position: int, status: Status) -> None:
        """Reject the row at *position* (among ``rows``), in place of an earlier result."""
        self.codes[position] = self.number_of(status)

    def accept(self, position: int) -> None:
        """Let the row at *position* pass, in place of an earlier result."""
        self.codes[position] = 0

    def passing(self) -> npt.NDArray[np.intp]:
        """Return the positions (among ``rows``) of the rows that pass, ascending."""
        if not self.statuses and not self._counted:
            return np.arange(len(self.codes))
        positions: npt.NDArray[np.intp] = (self.codes == 0).nonzero()[0]
        return positions

    def without_error(self) -> npt.NDArray[np.intp]:
        """Return the positions (among ``rows``) of the rows whose result is no error, ascending."""
        errors = [i + 1 for i, status in enumerate(self.statuses) if status.code is Code.ERROR]
        positions: npt.NDArray[np.intp] = (~np.isin(self.codes, errors)).nonzero()[0]
        return positions

    def status_at(self, position: int) -> Status | None:
        """Return the status that rejects the row at *position*, ``None`` if it passes."""
        number = int(self.codes[position])
        return self.statuses[number - 1] if number else None

    def counts(self) -> Iterator[tuple[Status, int]]:
        """Return each status with the number of rows it rejects; O(rows) in one bincount."""
        if self._counted is not None:
            yield from self._counted
            return
        if len(self.statuses) == 1:  # a tenth of the time of a bincount
            counts = [int(np.count_nonzero(self.codes))]
        else:
            counts = np.bincount(self.codes, minlength=len(self.statuses) + 1)[1:].tolist()
        for status, count in zip(self.statuses, counts, strict=True):
            if count:
                yield status, count

    def settle(self) -> Sequence[tuple[Status, int]]:
        """Return ``counts`` and keep them, because the verdicts do not change any more."""
        if self._counted is None:
            self._counted = list(self.counts())
        return self._counted

    def rows_with(self, code: Code) -> npt.NDArray[np.intp]:
        """Return the rows whose status has that code; not to be changed. O(rows), once if counted."""
        positions = self._with_code.get(code)
        if positions is not None:
            return positions
        positions = self._rows_with(code).view()
        if self._counted is not None:
            positions.flags.writeable = False
            self._with_code[code] = positions
        return positions

    def _rows_with(self, code: Code) -> npt.NDArray[np.intp]:
        wanted = [i + 1 for i, status in enumerate(self.statuses) if status.code is code]
        if not wanted:
            return _NO_POSITIONS
        if len(wanted) == 1:
            hit = self.codes == wanted[0]
        else:
            hit = np.zeros(len(self.statuses) + 1, np.bool_)
            hit[wanted] = True
            hit = hit.take(self.codes)
        positions = self.rows.positions
        return positions if np.count_nonzero(hit) == len(hit) else positions[hit]

    def reasons(self) -> Counter[str]:
        """Return how many rows each reason stands for; O(rows) in one bincount, O(statuses) if counted."""
        reasons: Counter[str] = Counter()
        for status, count in self.counts():
            for reason in status.reasons:
                reasons[reason] += count
        return reasons

    def summary(self) -> str:
        """Return the reasons with their numbers, as messages word them."""
        if self._summary is None or self._counted is None:
            self._summary = summary_of(self.reasons())
        return self._summary

    def first(self, count: int) -> Verdicts:
        """Return the verdicts of the first *count* rows, which share the statuses."""
        rows = self.rows.select(np.arange(count))
        return Verdicts(rows, self.codes[:count], self.statuses, self._number)

    def first_failed(self) -> int | None:
        """Return the position (among ``rows``) of the first error, ``None`` if there is none."""
        failed = self._failed()
        return int(failed[0]) if len(failed) else None

    def first_error(self) -> Status | None:
        """Return the error of the first row by node name that failed, ``None`` if no row did."""
        failed = self._failed()
        names = self.rows.select(failed).names() if len(failed) else ()
        if not names:
            return None
        return self.status_at(int(failed[min(range(len(names)), key=names.__getitem__)]))

    def _failed(self) -> npt.NDArray[np.intp]:
        """Return the positions (among ``rows``) of errors, ascending."""
        errors = [i + 1 for i, status in enumerate(self.statuses) if status.code is Code.ERROR]
        return np.flatnonzero(np.isin(self.codes, errors)) if errors else _NO_POSITIONS


def _not_negative(codes: npt.NDArray[np.integer], highest: int) -> npt.NDArray[np.integer]:
    """*codes* such that a negative one is out of range, instead of counting from the end."""
    size = codes.dtype.itemsize
    if codes.dtype.kind == "u":
        return codes
    if size < 8 and highest < 1 << (8 * size - 1):
        return codes.view(f"u{size}")  # free, and -1 becomes the largest number there is
    if len(codes) and codes.min() < 0:
        raise IndexError(f"code {codes.min()} is negative")
    return codes


@record(eq=False)
class Diagnosis(Mapping[str, Status]):
    """Reasons for no feasible node: a lazy mapping of node names to statuses, and what they have in common.

    Nodes that were not evaluated because pre_filter named others have ``absent``.
    """

    verdicts: Verdicts
    num_nodes: int
    """All nodes of the cluster."""
    pre_filter_status: Status | None = None
    """The rejection by a pre_filter, in which case no filter ran."""
    absent: Status | None = None
    unschedulable_plugins: set[str] = field(factory=set)
    pending_plugins: set[str] = field(factory=set)
    post_filter_message: str = ""
    named: dict[str, Status] = field(factory=dict)
    """Statuses by name: of nodes without a row (extenders may make up some), or instead of their row's."""
    _position: dict[str, int] | None = None

    def _positions(self) -> dict[str, int]:
        if self._position is None:
            self._position = {name: i for i, name in enumerate(self.verdicts.rows.names())}
        return self._position

    def status_of(self, name: str) -> Status | None:
        """Return why node *name* was rejected; what pre_filter said, for a node that no filter saw."""
        if name in self.named:
            return self.named[name]
        position = self._positions().get(name)
        status = self.verdicts.status_at(position) if position is not None else None
        return status if status is not None else self.absent

    @override
    def __getitem__(self, name: str) -> Status:
        status = self.status_of(name)
        if status is None:
            raise KeyError(name)
        return status

    @override
    def __iter__(self) -> Iterator[str]:
        codes = self.verdicts.codes
        yield from (name for name, i in self._positions().items() if codes[i] and name not in self.named)
        yield from self.named

    @override
    def __len__(self) -> int:
        return int(np.count_nonzero(self.verdicts.codes)) + len(self.named) - len(self._overruled())

    def _overruled(self) -> list[Status]:
        """Statuses of rows that ``named`` replaces."""
        if not self.named:
            return []
        positions = (self._positions().get(name) for name in self.named)
        statuses = (self.verdicts.status_at(position) for position in positions if position is not None)
        return [status for status in statuses if status is not None]

    def rows_with(self, code: Code, all_rows: Rows) -> npt.NDArray[np.intp]:
        """Return the rows among *all_rows* of the cluster whose status has that code; O(rows)."""
        verdicts = self.verdicts
        rows = verdicts.rows_with(code)
        if self.absent is not None and self.absent.code is code:
            absent = np.setdiff1d(all_rows.positions, verdicts.rows.positions, assume_unique=True)
            rows = np.concatenate((rows, absent))
        if self.named:
            table = all_rows.table
            named = {table.live_row(name): status for name, status in self.named.items()}
            also = [row for row, status in named.items() if row is not None and status.code is code]
            others = ~np.isin(rows, [row for row in named if row is not None])
            rows = np.concatenate((rows[others], np.array(also, np.intp)))
        return rows

    def reasons(self) -> Counter[str]:
        """Return how many nodes each reason stands for; O(rows) in one bincount."""
        reasons = self.verdicts.reasons()
        for status in self._overruled():
            reasons.subtract(status.reasons)
        for status in self.named.values():
            reasons.update(status.reasons)
        missing = self.num_nodes - len(self)
        if self.absent is not None and missing > 0:
            for reason in self.absent.reasons:
                reasons[reason] += missing
        return +reasons

    def message(self) -> str:
        """Return one line as the reference words it: ``0/5 nodes are available: 5 Insufficient cpu.``"""
        text = f"0/{self.num_nodes} nodes are available"
        if self.pre_filter_status is not None and self.pre_filter_status.reasons:
            text += f": {self.pre_filter_status.message}."
        elif self.absent is None and not self.named:
            text += self.verdicts.summary()
        else:
            text += summary_of(self.reasons())
        if self.post_filter_message:
            text += f" {self.post_filter_message}"
        return text


def summary_of(reasons: Mapping[str, int]) -> str:
    """Return how many nodes each reason stands for, the end of a message: ``: 2 no, 3 never.``"""
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f": {', '.join(parts)}." if parts else ":"
