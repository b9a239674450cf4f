"""Ask score plugins about many rows of a remembered class, and check what they say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define

from ....api import Pod
from ....framework import MAX_SCORE, MIN_SCORE, CycleState
from ....framework.plan import ScoreEntry
from ....state import Rows

Column = npt.NDArray[np.int64]

_LARGEST = int(np.iinfo(np.int64).max)


@define(eq=False)
class Scorer:
    """Asks score plugins about many rows.

    If one fails what is remembered cannot be used: its pods go the long way, where that is reported.
    """

    state: CycleState
    pod: Pod
    sound: bool = True

    def total(self, entries: Iterable[ScoreEntry], rows: Rows, out: Column | None = None) -> Column:
        """Weighted sum, none of them normalised: in *out* if that is given, else a fresh array."""
        first: Column | None = None
        total: Column | None = None
        for entry in entries:
            raw = self.raw(entry, rows)
            part = raw if entry.weight == 1 else raw * entry.weight
            if first is None:
                first = part
            elif total is None:
                total = np.add(first, part, out=out)
            else:
                total += part
        if total is not None:
            return total
        total = np.empty(len(rows), np.int64) if out is None else out
        total[:] = 0 if first is None else first
        return total

    def raw(self, entry: ScoreEntry, rows: Rows) -> Column:
        """What one plugin says."""
        try:
            if entry.score_rows is not None:
                raw: Any = entry.score_rows(self.state, self.pod, rows)
            else:
                assert entry.score is not None
                score = entry.score
                raw = np.array([score(self.state, self.pod, info) for info in rows], np.int64)
            sound = raw.shape == (len(rows),) and raw.dtype.kind in "iu" and _in_range(entry, raw)
        except Exception:  # noqa: BLE001 - met again on the long way, and reported there
            sound = False
        if not sound:
            self.sound = False
            return np.zeros(len(rows), np.int64)
        return raw.astype(np.int64, copy=False)  # type: ignore[no-any-return]  # an array, as was checked


def _in_range(entry: ScoreEntry, raw: Column) -> bool:
    if not len(raw):
        return True
    if raw.dtype == np.int64:
        # MIN_SCORE is 0: seen as unsigned, a negative score is larger than any, and one pass tells both.
        highest = int(np.maximum.reduce(raw.view(np.uint64)))
        most = MAX_SCORE if entry.normalization is None else _LARGEST
        return highest <= most
    lowest, highest = int(raw.min()), int(raw.max())
    # Of raw scores below zero a normalisation makes something that cannot be followed row by row.
    return lowest >= MIN_SCORE and (entry.normalization is not None or highest <= MAX_SCORE)
