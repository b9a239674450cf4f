"""ScoreIndex: what every structure offers that finds the best row of a class."""

from __future__ import annotations

from random import Random
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...search.decision import FeasibleRows
from ...search.tie_breaking import Scores


class OnlyRow(FeasibleRows, Protocol):
    """Finds the one feasible row for pods that waited, among the rows that changed since."""

    def only_row(self) -> int | None:
        """Return that row; ``None`` to search."""
        ...


class ScoreIndex(FeasibleRows, Protocol):
    """Finds the rows with the highest score.

    Scores are of feasible rows; all are lower than those of the full search by the same number. :meth:`best`
    comes first; the other methods are about what it found, until the table changes.
    """

    def best(self) -> bool:
        """Catch up with the table and find the best rows; ``False`` if this index has no answer now."""
        ...

    def draw(self, rng: Random) -> int:
        """Return one of the best rows, by the rule of :mod:`~.tie_breaking`."""
        ...

    def scores_at(self, positions: npt.NDArray[np.intp]) -> Scores:
        """Return the scores of these feasible rows, for verification; O(rows)."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory, in bytes, without what several indexes share."""
        ...

    def check_invariants(self) -> Any:
        """Raise :class:`InvariantError` if the index disagrees with what it is derived from."""
        ...
