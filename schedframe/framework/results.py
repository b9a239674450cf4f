"""Results of hooks besides a Status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record, value
from .._base.wording import described
from ..errors import InputError
from .status import Status


def _names(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise TypeError(f"node_names is the string {names!r}; give a collection of names")
    if not isinstance(names, Iterable):
        raise InputError(
            "node_names", f"{described(names)} is not a collection", "give a collection of names"
        )
    return frozenset(names)


@record(frozen=True)
class PreFilterResult:
    """The only nodes to filter. Names that are not nodes are ignored.

    Any iterable of names; ``TypeError`` for a single string.
    """

    node_names: frozenset[str] = field(converter=_names)


@record(eq=False, slots=True)
class RowVerdicts:
    """One small integer per row: 0 passes, *k* is rejected with ``statuses[k - 1]``.

    ``codes`` is an integer array of shape ``(len(rows),)``; each status is a rejection or an error.
    """

    codes: npt.NDArray[np.integer]
    statuses: Sequence[Status]

    @classmethod
    def where(cls, rejected: npt.NDArray[np.bool_], status: Status) -> RowVerdicts:
        """Reject the rows at which the mask is true, all with the same status."""
        try:
            codes = rejected.view(np.int8)
        except AttributeError:
            fix = "give an array of bool, one for each row"
            raise InputError("rejected", f"{described(rejected)} is not an array", fix) from None
        return cls(codes, (status,))


@record(eq=False, slots=True)
class GroupScores:
    """Scores by group of rows: rows that agree in all ``columns`` have equal scores, normalised ones too."""

    columns: tuple[npt.NDArray[Any], ...]
    """An integer per row of the table each, shape ``(capacity,)``, in arrays that follow the table: they are
    changed in place only at rows that ``row_log`` names. Other arrays are another way to group.
    """
    scores: Callable[[list[tuple[int, ...]]], list[int]]
    """Return the normalised score, 0 to 100, of each combination of values in ``columns``."""


@record(eq=False, slots=True)
class GroupVerdicts:
    """Verdicts on rows by group: those that agree in all ``columns`` pass together, or none of them does."""

    columns: tuple[npt.NDArray[Any], ...]
    """As those of :class:`GroupScores`."""
    passes: Callable[[list[tuple[int, ...]]], list[bool]]
    """Return for each combination of values in ``columns`` whether such rows pass."""


@value
class NominatingInfo:
    """Change of the pod's ``status.nominatedNodeName``: ``None`` leaves it, ``""`` clears it."""

    node_name: str | None = None


@value(weakref_slot=False)
class PostFilterResult:
    """Outcome of post_filter: the node to nominate, if any, and details for explanations."""

    nominating_info: NominatingInfo | None = None
    details: Any = None
    repeatable: bool = False
    """Whether post_filter would return the same for any pod with an equal spec, as long as nothing changes,
    and did nothing: no random draw, no eviction. Then such pods may wait together.
    """
    unless_row: Callable[[int], bool] | None = None
    """Whether a row that changed may change a repeatable result; ``None``: any may. Equal conditions should
    be one object.
    """

    @property
    def nominates(self) -> bool:
        """Return whether it sets or clears the pod's nomination."""
        return self.nominating_info is not None and self.nominating_info.node_name is not None


@record(frozen=True)
class PermitOutcome:
    """The combined answers of the permit plugins."""

    status: Status | None = None
    """A rejection or an error; ``None`` if the pod may go, or must wait."""
    waits: Mapping[str, float] = {}
    """Plugin → seconds it asks the pod to wait."""
    reasons: tuple[str, ...] = ()
    """Why it must wait."""
