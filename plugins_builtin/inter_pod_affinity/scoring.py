"""Preferred terms: those of the incoming pod, and those of existing pods that match it.

The three forms (per node, by rows, by group) return equal scores.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, Node, NodeTable, Pod, Rows, StateKey
from schedframe.framework import GroupScores

from .._policy import MAX_TABULATED_SPREAD
from .domain_counts import DomainCounts, grouped
from .existing_terms import ExistingTerms
from .terms import terms_of_pod

Scores = npt.NDArray[np.int64]


@define(eq=False)
class ScoreState:
    """For each topology key, the sum of weights in each domain."""

    weights: list[DomainCounts]


SCORE_STATE: StateKey[ScoreState] = StateKey("PreScoreInterPodAffinity")


def count_for_score(existing: ExistingTerms, pod: Pod, ignore_existing: bool) -> ScoreState | None:
    """Return the weights for *pod*; ``None`` if no term of it, or of an existing pod, matches anything.

    *ignore_existing*: the terms of existing pods do not count for a pod without preferred terms of its own.
    """
    terms, table = terms_of_pod(pod), existing.table
    own = bool(terms.preferred or terms.preferred_anti)
    if not own and (ignore_existing or not table.pods_with_affinity):
        return None
    counters = existing.counters(pod, terms)
    if not counters.term_numbers:
        return None
    weights = [each.count(table) for each in counters.weights.values()]
    # Weights can cancel out, which is not the same as no terms at all.
    if any(each.any() for each in weights) or any(
        each.count(table).any() for each in counters.term_numbers.values()
    ):
        return ScoreState(weights)
    return None


def score_node(state: ScoreState, node: Node) -> int:
    """Return the sum of the weights in the node's domains."""
    labels = node.labels
    return sum(each.at(labels[each.topology_key]) for each in state.weights if each.topology_key in labels)


def score_rows(state: ScoreState, rows: Rows) -> Scores:
    """As :func:`score_node` for many rows; O(rows) for each topology key."""
    total: Scores | None = None
    for each in state.weights:
        if each.any():
            part = each.of_rows(rows)
            total = part if total is None else np.add(total, part, out=total)
    return np.zeros(len(rows), np.int64) if total is None else total


def score_groups(state: ScoreState, table: NodeTable) -> GroupScores | None:
    """As :func:`score_rows` and :func:`normalize`, by domain, or by weight if every node is a domain.

    ``None`` if all nodes score the same, or some nodes lack the label of such domains.
    """
    groups = grouped(state.weights, table)
    if groups is None:
        return None
    columns, weights = groups

    def scores(keys: list[tuple[int, ...]]) -> list[int]:
        return _normalized(
            [sum([weigh(code) for weigh, code in zip(weights, key, strict=True)]) for key in keys]
        )

    return GroupScores(columns, scores)


def _normalized(scores: list[int]) -> list[int]:
    """As :func:`normalize`, for a short list."""
    lowest = min(scores)
    spread = float(max(scores) - lowest)
    if not spread:
        return [0] * len(scores)
    return [int(float(MAX_SCORE) * (float(score - lowest) / spread)) for score in scores]


def normalize(scores: Scores) -> Scores:
    """Return the scores stretched to 0…100; all 0 if they are equal. *scores* is changed."""
    lowest = int(scores.min())
    spread = int(scores.max()) - lowest
    if spread == 0:
        return np.zeros_like(scores)
    scores -= lowest
    if spread <= min(len(scores), MAX_TABULATED_SPREAD):
        return _stretch_table(spread).take(scores)
    return _stretch(scores, spread)


@lru_cache(maxsize=256)
def _stretch_table(spread: int) -> Scores:
    """Return the normalized scores for the distances 0 … *spread* from the lowest score."""
    return _stretch(np.arange(spread + 1), spread)


def _stretch(distances: Scores, spread: int) -> Scores:
    # The order of the floating-point operations is the reference's.
    stretched = float(MAX_SCORE) * (distances.astype(np.float64) / float(spread))
    return stretched.astype(np.int64)
