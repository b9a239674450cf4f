"""Claims judged on many nodes at once: one answer for all nodes of a state."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import PluginError, Rows, RowVerdicts, Status

from .._node_selection import Mask, rows_selected
from .allocation_memo import STATUSES, UNKNOWN
from .allocation_request import Asked
from .cycle_state import PodClaims
from .filtering import CANNOT_FIT, LEFT_OVER, NOT_AVAILABLE, ClaimFilter

_FIXED: Final = (*STATUSES, NOT_AVAILABLE, LEFT_OVER, CANNOT_FIT)
_NOT_AVAILABLE, _LEFT_OVER, _CANNOT_FIT = (
    _FIXED.index(status) + 1 for status in (NOT_AVAILABLE, LEFT_OVER, CANNOT_FIT)
)

Codes = npt.NDArray[np.int32]
Scores = npt.NDArray[np.int64]
Group = tuple[Asked, npt.NDArray[np.intp] | None]
"""What has to be allocated at some positions; ``None`` for all of them."""


def judge_rows(claims: ClaimFilter, found: PodClaims, rows: Rows) -> RowVerdicts | None:
    """As :meth:`ClaimFilter.judge` for each of *rows*; O(rows), and a search for each state that is new."""
    return _Judge(claims, found, rows).run()


def score_rows(claims: ClaimFilter, found: PodClaims, rows: Rows) -> Scores:
    """How early the alternatives stand that the claims would get, or have; for rows that pass. O(rows)."""
    scores = np.zeros(len(rows), np.int64)
    if not found.has_choices or not found.to_allocate():
        return scores
    states = claims.states.of_rows(rows)
    fixed = found.allocated_score()
    for asked, positions in _groups(claims, found, rows, np.zeros(len(rows), np.int32)):
        if positions is None:
            return asked.shape.scores.take(states) + fixed
        scores[positions] = asked.shape.scores[states[positions]] + fixed
    return scores


@define(eq=False)
class _Judge:
    claims: ClaimFilter
    found: PodClaims
    rows: Rows
    codes: Codes = field(init=False)
    statuses: list[Status] = field(factory=lambda: [*_FIXED], init=False)
    _errors: dict[str, int] = field(factory=dict, init=False)

    def run(self) -> RowVerdicts | None:
        found = self.found
        self.codes = np.zeros(len(self.rows), np.int32)
        if found.to_allocate():
            self.claims.states.sync()
        groups = _groups(self.claims, found, self.rows, self.codes)
        if found.to_allocate():
            for asked, positions in groups:
                self._allocate(asked, positions)
        self._reject_unavailable(groups)
        if not self.codes.any():
            return None
        return _only_used(self.codes, self.statuses)

    def _allocate(self, asked: Asked, positions: npt.NDArray[np.intp] | None) -> None:
        rows = self.rows if positions is None else self.rows.select(positions)
        states, shape = self.claims.states, asked.shape
        shape.fit(states.epoch, states.count)
        numbers = states.of_rows(rows)
        codes = shape.codes.take(numbers)
        new = (codes == UNKNOWN).nonzero()[0]
        if len(new):
            codes[new] = [self._search(asked, rows.row_at(position)) for position in new.tolist()]
        if positions is None:
            self.codes = codes
        else:
            self.codes[positions] = codes

    def _search(self, asked: Asked, row: int) -> int:
        try:
            return self.claims.code(asked, row)
        except PluginError as error:
            number = self._errors.get(str(error))
            if number is None:
                self.statuses.append(Status.from_error(error))
                number = self._errors[str(error)] = len(self.statuses)
            return number

    def _reject_unavailable(self, groups: list[Group]) -> None:
        found = self.found
        passing: Mask | None = None
        for index, claim in enumerate(found.claims):
            if claim.status.allocation is None:
                continue
            if self.claims.is_late(claim):
                passing = np.zeros(len(self.rows), np.bool_)
                break
            selector = found.selector_of(index)
            if selector is not None:
                selected = rows_selected(selector, self.rows)
                passing = selected if passing is None else passing & selected
        if passing is None:
            return
        rejected = (self.codes == 0) & ~passing
        for _, positions in groups:
            if positions is None:
                self.codes[rejected] = _NOT_AVAILABLE
            else:
                self.codes[positions[rejected[positions]]] = _NOT_AVAILABLE


def _groups(claims: ClaimFilter, found: PodClaims, rows: Rows, codes: Codes) -> list[Group]:
    """Positions that lack the same extended resources, those that need nothing left out.

    In *codes* those are rejected where nothing can stand in.
    """
    if not found.extended:
        return [(claims.asked(found, ()), None)]
    if found.claims[-1].spec.devices.requests:
        codes[:] = _LEFT_OVER
        return []
    lacking = np.zeros(len(rows), np.int64)
    for number, name in enumerate(found.extended):
        there = rows.take(rows.table.allocatable(name)) != 0
        if claims.classes.of(name) is not None:
            lacking |= (~there).astype(np.int64) << number
            continue
        for position in (~there).nonzero()[0].tolist():
            # A node may have a resource, and 0 of it.
            if name not in rows.table.info(rows.row_at(position)).allocatable:
                codes[position] = _CANNOT_FIT
    groups: list[Group] = []
    for pattern in np.unique(lacking[codes == 0]).tolist():
        missing = tuple(name for number, name in enumerate(found.extended) if pattern >> number & 1)
        if missing or found.own:
            positions = ((lacking == pattern) & (codes == 0)).nonzero()[0]
            groups.append((claims.asked(found, missing), positions))
    return groups


def _only_used(codes: Codes, statuses: list[Status]) -> RowVerdicts:
    """Without the statuses that no row has."""
    used = np.bincount(codes, minlength=len(statuses) + 1)[1:].nonzero()[0]
    if len(used) < len(statuses):
        new = np.zeros(len(statuses) + 1, np.int32)
        new[used + 1] = np.arange(1, len(used) + 1)
        codes = new.take(codes)
    return RowVerdicts(codes, [statuses[i] for i in used.tolist()])
