"""Explanations of single pods, and the last decisions of a running scheduler."""

from __future__ import annotations

from .change import WEIGHTS, Change, ChangeKind, VerifiedChange
from .comparison import ScoreComparison, ScoreLine
from .edits import Edit, EditAction, ObjectEdit, Operation
from .explain import explain
from .explanation import Explanation, Verdict
from .groups import DomainReport, GroupExplanation, explain_group
from .near_misses import NearMiss, Obstacle, Shortage
from .reasons import Reason
from .recorder import RecordedDecision, Recorder
from .selection import LabelConflict, MissingLabel
from .waiting import WaitedEvents, Waiting

__all__ = [
    "WEIGHTS",
    "Change",
    "ChangeKind",
    "DomainReport",
    "Edit",
    "EditAction",
    "Explanation",
    "GroupExplanation",
    "LabelConflict",
    "MissingLabel",
    "NearMiss",
    "ObjectEdit",
    "Obstacle",
    "Operation",
    "Reason",
    "RecordedDecision",
    "Recorder",
    "ScoreComparison",
    "ScoreLine",
    "Shortage",
    "Verdict",
    "VerifiedChange",
    "WaitedEvents",
    "Waiting",
    "explain",
    "explain_group",
]
