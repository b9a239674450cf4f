"""What hooks return besides a Status."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from .status import Status


@frozen
class PreFilterResult:
    """The only nodes worth filtering. Names that are not nodes are ignored."""

    node_names: frozenset[str]


@define(eq=False, slots=True)
class RowVerdicts:
    """One small integer per row: 0 passes, *k* is rejected with ``statuses[k - 1]``.

    ``codes`` is an integer array of shape ``(len(rows),)``.
    """

    codes: npt.NDArray[np.integer]
    statuses: Sequence[Status]

    @classmethod
    def where(cls, rejected: npt.NDArray[np.bool_], status: Status) -> RowVerdicts:
        """Reject the rows at which the mask is true, all with the same status."""
        return cls(rejected.view(np.int8), (status,))


@frozen
class NominatingInfo:
    """What to do with the pod's ``status.nominatedNodeName``: ``None`` leaves it, ``""`` clears it."""

    node_name: str | None = None


@frozen
class PostFilterResult:
    """Outcome of post_filter: the node to nominate, if any."""

    nominating_info: NominatingInfo | None = None
