"""Make room for a pod by removing others: the machinery, for any plugin to drive."""

from __future__ import annotations

from .budgets import Budget, read_budgets, split_by_budgets
from .candidates import CRITERIA, Candidate, Criterion, Preemption, Ranking, importance, rank
from .dry_run import select_victims
from .evaluator import PreemptionEvaluator, Tally
from .eviction import Eviction
from .leaving import pods_being_preempted

__all__ = [
    "CRITERIA",
    "Budget",
    "Candidate",
    "Criterion",
    "Eviction",
    "Preemption",
    "PreemptionEvaluator",
    "Ranking",
    "Tally",
    "importance",
    "pods_being_preempted",
    "rank",
    "read_budgets",
    "select_victims",
    "split_by_budgets",
]
