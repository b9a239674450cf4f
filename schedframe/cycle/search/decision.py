"""Decision: the result of one search, kept by reference; nothing is formatted before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from ..._base.brief import brief_of
from ..._base.value import record
from ...api import Pod
from ...framework import CycleState, Diagnosis, Extender, PreFilterOutcome, ScoreTable, Status, Verdicts
from ...state import Rows
from .tie_breaking import Ties

_NONE: Mapping[str, Any] = MappingProxyType({})


class FeasibleRows(Protocol):
    """An index that can list the feasible rows, which most callers never read."""

    def feasible_rows(self) -> Rows:
        """Return the rows that passed all filters."""
        ...


@record(frozen=True)
class PreparedScores:
    """The scores of the plugins, for the case that just these rows remain."""

    rows: Rows
    scores: ScoreTable | Status
    ties: Ties | None = None
    """The best rows by these scores; ``None`` if extenders add to them."""


class Decision:
    """The result of finding a node for one pod.

    Exactly one of ``node_name`` (a node was chosen), ``diagnosis`` (no node is feasible) and ``error`` (the
    cycle failed) is set when the search is over.
    """

    # A plain class with its defaults on the class: most cycles set four of these, and making one object of
    # fourteen fields for each pod takes as long as finding the node.
    node_name: str | None = None
    diagnosis: Diagnosis | None = None
    error: Status | None = None
    pre_filter: PreFilterOutcome | None = None
    verdicts: Verdicts | None = None
    by_groups: FeasibleRows | None = None
    """Index that gives the feasible rows when they are first read."""
    _feasible: Rows | None = None
    scored: bool = False
    """Whether pre_score ran, which it does not where there is no score plugin."""
    pre_score_error: Status | None = None
    scores: ScoreTable | None = None
    """``None`` where nothing was scored: a single feasible node, or none."""
    evaluated: int = 0
    """Feasible nodes plus nodes with a status of their own."""
    idle: bool = False
    """Whether reserve and pre_bind have nothing to do, see ``skip_reads``."""
    shortcut: str = ""
    """``nominated`` if the nominated node was taken without a search."""
    extenders: tuple[Extender, ...] = ()
    """Those that took part in the search, in the order of their calls."""
    named: Mapping[str, Status] = _NONE
    """Node → the status that an extender reported, also for nodes that remain or do not exist.

    With it the refused nominated node, where the search did not come to it.
    """
    prepared: PreparedScores | None = None
    """Computed while an extender thought."""
    ties: Ties | None = None
    """The best of ``scores``, if they were looked for while an extender thought."""
    named_by: Mapping[str, str] = _NONE
    """Node → the extender that reported it."""

    _SHOWN: ClassVar[tuple[str, ...]] = ("node_name", "error", "scored", "evaluated", "shortcut")

    def __init__(self, pod: Pod, state: CycleState) -> None:
        self.pod = pod
        """The pod as it was when its cycle began."""
        self.state = state
        """What the plugins of this cycle wrote."""

    @property
    def feasible(self) -> Rows | None:
        """Rows that passed, in the order in which they were found; to be asked for before the next cycle."""
        if self._feasible is None and self.by_groups is not None:
            self._feasible = self.by_groups.feasible_rows()
        return self._feasible

    @feasible.setter
    def feasible(self, rows: Rows | None) -> None:
        self._feasible = rows

    @property
    def is_settled(self) -> bool:
        """Return whether the search is over."""
        return self.node_name is not None or self.diagnosis is not None or self.error is not None

    def before_filters(self) -> Decision:
        """Return the cycle as pre_filter left it: pre_filter is called once in a cycle."""
        before = Decision(self.pod, self.state)
        before.pre_filter = self.pre_filter
        return before

    def __repr__(self) -> str:
        return brief_of(self, self.pod.key, **{name: getattr(self, name) for name in self._SHOWN})
