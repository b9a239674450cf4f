"""The contract for plugins and the runtime that honours it."""

from __future__ import annotations

from .cycle_state import RECORDED, CycleState, CycleStateError, StateKey
from .declarations import Depends, depends_on
from .filtering import PreFilterOutcome
from .framework import Framework, PermitOutcome
from .handle import Handle, PluginsRunner
from .hookspecs import PROJECT, Comparable, Hookspecs, Scores, hookimpl, hookspec
from .normalization import MAX_SCORE, MIN_SCORE, Normalization, normalize_by_max
from .observing import PointObserver
from .passing import Enabled, PluginsToPass
from .plan import Observer, Plan, compile_plan
from .preemption import Candidate, Preemption, PreemptionEvaluator
from .protocols import (
    BindPlugin,
    EventsPlugin,
    FilterPlugin,
    FilterRowsPlugin,
    NormalizePlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterUpdatesPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    ScoreRowsPlugin,
    SignaturePlugin,
)
from .registry import Origin, Registry
from .results import (
    GroupScores,
    GroupVerdicts,
    NominatingInfo,
    PostFilterResult,
    PreFilterResult,
    RowVerdicts,
)
from .scoring import ScoreTable
from .status import SKIP, SUCCESS, Code, Status
from .verdicts import Diagnosis, Verdicts
from .waiting import WaitingPod, WaitingRoom

__all__ = [
    "MAX_SCORE",
    "MIN_SCORE",
    "PROJECT",
    "RECORDED",
    "SKIP",
    "SUCCESS",
    "BindPlugin",
    "Candidate",
    "Code",
    "Comparable",
    "CycleState",
    "CycleStateError",
    "Depends",
    "Diagnosis",
    "Enabled",
    "EventsPlugin",
    "FilterPlugin",
    "FilterRowsPlugin",
    "Framework",
    "GroupScores",
    "GroupVerdicts",
    "Handle",
    "Hookspecs",
    "NominatingInfo",
    "Normalization",
    "NormalizePlugin",
    "Observer",
    "Origin",
    "PermitOutcome",
    "PermitPlugin",
    "Plan",
    "PluginsRunner",
    "PluginsToPass",
    "PointObserver",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterOutcome",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreFilterUpdatesPlugin",
    "PreScorePlugin",
    "Preemption",
    "PreemptionEvaluator",
    "QueueSortPlugin",
    "Registry",
    "ReservePlugin",
    "RowVerdicts",
    "ScorePlugin",
    "ScoreRowsPlugin",
    "ScoreTable",
    "Scores",
    "SignaturePlugin",
    "StateKey",
    "Status",
    "Verdicts",
    "WaitingPod",
    "WaitingRoom",
    "compile_plan",
    "depends_on",
    "hookimpl",
    "hookspec",
    "normalize_by_max",
]
