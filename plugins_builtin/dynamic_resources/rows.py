"""Claims filtered on many nodes at once: nodes of equal state share one answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import PluginError, Rows, RowVerdicts, Status

from .._node_selection import Mask, rows_selected
from .allocation_memo import STATUSES, UNKNOWN
from .allocation_request import AllocationRequest
from .cycle_state import PodClaims
from .filtering import CANNOT_FIT, LEFT_OVER, NOT_AVAILABLE, ClaimFilter

_STATIC_STATUSES: Final = (*STATUSES, NOT_AVAILABLE, LEFT_OVER, CANNOT_FIT)
_NOT_AVAILABLE, _LEFT_OVER, _CANNOT_FIT = (
    _STATIC_STATUSES.index(status) + 1 for status in (NOT_AVAILABLE, LEFT_OVER, CANNOT_FIT)
)

_WORD: Final = 63
"""Bits of an integer of an array, the sign left out."""

Codes = npt.NDArray[np.int32]
Scores = npt.NDArray[np.int64]
Group = tuple[AllocationRequest, npt.NDArray[np.intp] | None]
"""An allocation request and the positions that it is for; ``None`` for all of them."""


def filter_rows(claims: ClaimFilter, pod_claims: PodClaims, rows: Rows) -> RowVerdicts | None:
    """As :meth:`ClaimFilter.filter` for each of *rows*; O(rows), and a search for each new state."""
    return _RowFilter(claims, pod_claims, rows).run()


def score_rows(claims: ClaimFilter, pod_claims: PodClaims, rows: Rows) -> Scores:
    """Return :meth:`ClaimFilter.score` of each of *rows*, all of which passed. O(rows)."""
    scores = np.zeros(len(rows), np.int64)
    if not pod_claims.has_choices or not pod_claims.to_allocate():
        return scores
    states = claims.states.of_rows(rows)
    fixed = pod_claims.allocated_score()
    for request, positions in _groups(claims, pod_claims, rows, np.zeros(len(rows), np.int32)):
        if positions is None:
            return request.memo.scores.take(states) + fixed
        scores[positions] = request.memo.scores[states[positions]] + fixed
    return scores


@define(eq=False)
class _RowFilter:
    claims: ClaimFilter
    pod_claims: PodClaims
    rows: Rows
    codes: Codes = field(init=False)
    statuses: list[Status] = field(factory=lambda: [*_STATIC_STATUSES], init=False)
    _errors: dict[str, int] = field(factory=dict, init=False)

    def run(self) -> RowVerdicts | None:
        pod_claims = self.pod_claims
        self.codes = np.zeros(len(self.rows), np.int32)
        if pod_claims.to_allocate():
            self.claims.states.sync()
        groups = _groups(self.claims, pod_claims, self.rows, self.codes)
        if pod_claims.to_allocate():
            for request, positions in groups:
                self._allocate(request, positions)
        self._reject_unavailable(groups)
        if not self.codes.any():
            return None
        return _only_used(self.codes, self.statuses)

    def _allocate(self, request: AllocationRequest, positions: npt.NDArray[np.intp] | None) -> None:
        rows = self.rows if positions is None else self.rows.select(positions)
        states, memo = self.claims.states, request.memo
        memo.fit(states.epoch, states.count)
        numbers = states.of_rows(rows)
        codes = memo.codes.take(numbers)
        new = (codes == UNKNOWN).nonzero()[0]
        if len(new):
            codes[new] = [self._search(request, rows.row_at(position)) for position in new.tolist()]
        if positions is None:
            self.codes = codes
        else:
            self.codes[positions] = codes

    def _search(self, request: AllocationRequest, row: int) -> int:
        try:
            return self.claims.code(request, row)
        except PluginError as error:
            number = self._errors.get(str(error))
            if number is None:
                # The text says all there is; a traceback with each attempt would be a flood of its tenant's.
                self.statuses.append(Status.from_error(str(error)))
                number = self._errors[str(error)] = len(self.statuses)
            return number

    def _reject_unavailable(self, groups: list[Group]) -> None:
        pod_claims = self.pod_claims
        passing: Mask | None = None
        for index, claim in enumerate(pod_claims.claims):
            if claim.status.allocation is None:
                continue
            if self.claims.is_late(claim):
                passing = np.zeros(len(self.rows), np.bool_)
                break
            selector = pod_claims.selector_of(index)
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


def _groups(claims: ClaimFilter, pod_claims: PodClaims, rows: Rows, codes: Codes) -> list[Group]:
    """Group positions by the extended resources that they lack; positions without requests are left out.

    Rejects in *codes* the positions that lack a resource without a device class.
    """
    if not pod_claims.extended:
        return [(claims.request_for(pod_claims, ()), None)]
    if pod_claims.claims[-1].spec.devices.requests:
        codes[:] = _LEFT_OVER
        return []
    backed = [name for name in pod_claims.extended if claims.classes.of(name) is not None]
    # As many bits as resources: a pod may ask for more of them than a word has.
    lacking = np.zeros(len(rows), np.int64 if len(backed) <= _WORD else object)
    for number, name in enumerate(backed):
        lacking |= (rows.take(rows.table.allocatable(name)) == 0).astype(lacking.dtype) << number
    _reject_without(frozenset(pod_claims.extended).difference(backed), rows, codes)
    groups: list[Group] = []
    for pattern in np.unique(lacking[codes == 0]).tolist():
        missing = tuple(name for number, name in enumerate(backed) if pattern >> number & 1)
        if missing or pod_claims.own:
            positions = ((lacking == pattern) & (codes == 0)).nonzero()[0]
            groups.append((claims.request_for(pod_claims, missing), positions))
    return groups


def _reject_without(resources: Iterable[str], rows: Rows, codes: Codes) -> None:
    """Reject in *codes* the positions that lack one of *resources*, which no class backs.

    A node that lists a resource with an amount of 0 is not rejected here. Each position is looked at until it
    is rejected, so that thousands of names that no node has cost as much as one.
    """
    table = rows.table
    for name in resources:
        passing = codes == 0
        if not passing.any():
            return
        for position in (passing & (rows.take(table.allocatable(name)) == 0)).nonzero()[0].tolist():
            if name not in table.info(rows.row_at(position)).allocatable:
                codes[position] = _CANNOT_FIT


def _only_used(codes: Codes, statuses: list[Status]) -> RowVerdicts:
    """Return the verdicts without the statuses that no row has."""
    used = np.bincount(codes, minlength=len(statuses) + 1)[1:].nonzero()[0]
    if len(used) < len(statuses):
        new = np.zeros(len(statuses) + 1, np.int32)
        new[used + 1] = np.arange(1, len(used) + 1)
        codes = new.take(codes)
    return RowVerdicts(codes, [statuses[i] for i in used.tolist()])
