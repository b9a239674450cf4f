"""The contract for plugins and the runtime that honours it."""

from __future__ import annotations

from . import hookspecs
from .cycle_state import RECORDED, CycleState, CycleStateError, StateKey
from .declarations import Depends, depends_on
from .extender import (
    EXTENDER,
    MAX_EXTENDER_PRIORITY,
    SCORE_SCALE,
    BaseExtender,
    Extender,
    ExtenderError,
    ExtenderFilterResult,
    ExtenderVerb,
    HostPriority,
    OfferedNodes,
    RemoteExtender,
    Victims,
    VictimUids,
)
from .filtering import PreFilterOutcome
from .framework import Framework
from .handle import Handle, PluginsRunner, Report
from .hookspecs import Comparable, Hookspecs, Scores
from .markers import PROJECT, hookimpl, hookspec
from .normalization import MAX_SCORE, MIN_SCORE, Normalization, normalize_by_max
from .passing import Enabled, PluginsToPass
from .placements import DEFERRED_EVICTIONS, GROUP_TRIAL, GroupPlacement, GroupPreemption, PodGroupInfo
from .plan import Plan, compile_plan
from .preemption import Candidate, Preemption, PreemptionEvaluator, pods_being_preempted
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
    PermitOutcome,
    PostFilterResult,
    PreFilterResult,
    RowVerdicts,
)
from .scoring import ScoreTable
from .status import SKIP, SUCCESS, Code, Status
from .table_handle import TableHandle
from .verdicts import Diagnosis, Verdicts
from .waiting import WaitingPod, WaitingRoom

__all__ = [
    "DEFERRED_EVICTIONS",
    "EXTENDER",
    "GROUP_TRIAL",
    "MAX_EXTENDER_PRIORITY",
    "MAX_SCORE",
    "MIN_SCORE",
    "PROJECT",
    "RECORDED",
    "SCORE_SCALE",
    "SKIP",
    "SUCCESS",
    "BaseExtender",
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
    "Extender",
    "ExtenderError",
    "ExtenderFilterResult",
    "ExtenderVerb",
    "FilterPlugin",
    "FilterRowsPlugin",
    "Framework",
    "GroupPlacement",
    "GroupPreemption",
    "GroupScores",
    "GroupVerdicts",
    "Handle",
    "Hookspecs",
    "HostPriority",
    "NominatingInfo",
    "Normalization",
    "NormalizePlugin",
    "OfferedNodes",
    "Origin",
    "PermitOutcome",
    "PermitPlugin",
    "Plan",
    "PluginsRunner",
    "PluginsToPass",
    "PodGroupInfo",
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
    "RemoteExtender",
    "Report",
    "ReservePlugin",
    "RowVerdicts",
    "ScorePlugin",
    "ScoreRowsPlugin",
    "ScoreTable",
    "Scores",
    "SignaturePlugin",
    "StateKey",
    "Status",
    "TableHandle",
    "Verdicts",
    "VictimUids",
    "Victims",
    "WaitingPod",
    "WaitingRoom",
    "compile_plan",
    "depends_on",
    "hookimpl",
    "hookspec",
    "hookspecs",
    "normalize_by_max",
    "pods_being_preempted",
]
