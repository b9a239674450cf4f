"""What one scheduling cycle found out, kept by reference: nothing here is formatted before somebody asks."""

from __future__ import annotations

from attrs import define, field

from ..api import Pod
from ..framework import CycleState, Diagnosis, PreFilterOutcome, ScoreTable, Status, Verdicts
from ..state import Rows


@define(eq=False)
class Decision:
    """The result of finding a node for one pod.

    Exactly one of ``node_name`` (a node was chosen), ``diagnosis`` (no node is feasible) and ``error`` (the
    cycle failed) is set when the search is over.
    """

    pod: Pod = field(repr=lambda pod: str(pod.key))
    state: CycleState = field(repr=False)
    node_name: str | None = None
    diagnosis: Diagnosis | None = field(default=None, repr=False)
    error: Status | None = None
    pre_filter: PreFilterOutcome | None = field(default=None, repr=False)
    verdicts: Verdicts | None = field(default=None, repr=False)
    feasible: Rows | None = field(default=None, repr=False)
    """Rows that passed, in the order in which they were found."""
    scored: bool = False
    """Whether pre_score ran, which it does not where there is no score plugin."""
    pre_score_error: Status | None = None
    scores: ScoreTable | None = field(default=None, repr=False)
    """``None`` where nothing was scored: a single feasible node, or none."""
    evaluated: int = 0
    """Feasible nodes plus nodes with a status of their own."""
    idle: bool = False
    """Whether reserve and pre_bind have nothing to do, see ``skip_reads``."""
    shortcut: str = ""
    """``nominated`` if the nominated node was taken without a search."""
