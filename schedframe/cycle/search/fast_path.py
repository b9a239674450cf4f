"""FastPath: the search through kept answers, as the full search sees it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...api import Pod
from ...framework import Framework
from ...state import Rows
from .decision import Decision


class FastPath(Protocol):
    """Decides for pods like earlier ones, with the statuses, scores, ties and draws of the full search."""

    def decide(self, framework: Framework, pod: Pod) -> Decision | None:
        """Return a decision; ``None`` for a full search, an unsettled one for a search after pre_filter."""
        ...

    def decide_among(self, framework: Framework, pod: Pod, among: Rows) -> Decision | None:
        """Return the decision of the full search, restricted to *among*; ``None`` to leave it to that."""
        ...

    def feasible_codes(self, framework: Framework, pod: Pod) -> npt.NDArray[np.integer] | None:
        """Return a column with 0 for each row that is feasible for *pod*; ``None`` if only a search can tell.

        Read-only, of shape ``(capacity,)``, and good until a row changes.
        """
        ...
