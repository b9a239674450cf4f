"""Preferred terms of the pod at hand, and what the terms of running pods say about it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, GroupScores, Node, NodeTable, Pod, Rows, StateKey

from .counts import DomainCounts, grouped
from .existing import ExistingTerms
from .terms import terms_of_pod

Scores = npt.NDArray[np.int64]

_WIDEST: Final = 4096
"""The widest spread of scores for which results are kept in a table."""


@define(eq=False)
class ScoreState:
    """For each topology key, the weight of the pods in each domain."""

    weights: list[DomainCounts]


SCORE_STATE: StateKey[ScoreState] = StateKey("PreScoreInterPodAffinity")


def count_for_score(existing: ExistingTerms, pod: Pod, ignore_existing: bool) -> ScoreState | None:
    """Weights for *pod*; ``None`` if no term of anybody means any pod.

    *ignore_existing*: a pod without preferred terms of its own does not care for those of others.
    """
    terms, table = terms_of_pod(pod), existing.table
    own = bool(terms.preferred or terms.preferred_anti)
    if not own and (ignore_existing or not table.pods_with_affinity):
        return None
    asked = existing.asked(pod, terms)
    if not asked.numbers:
        return None
    found = [each.count(table) for each in asked.weights.values()]
    if any(each.any() for each in found):
        return ScoreState(found)
    # Weights that cancel out are not the same as no terms at all.
    if any(each.count(table).any() for each in asked.numbers.values()):
        return ScoreState(found)
    return None


def score_node(state: ScoreState, node: Node) -> int:
    """Sum of the weights in the node's domains."""
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
    """As :func:`score_rows` and :func:`normalize` by domain, or by weight where each node is a domain.

    ``None`` if nothing tells nodes apart, or some nodes lack the label of such domains.
    """
    found = grouped(state.weights, table)
    if found is None:
        return None
    columns, weights = found

    def scores(keys: list[tuple[int, ...]]) -> list[int]:
        return _normalized(
            [sum([weigh(code) for weigh, code in zip(weights, key, strict=True)]) for key in keys]
        )

    return GroupScores(columns, scores)


def _normalized(scores: list[int]) -> list[int]:
    """As :func:`normalize` for few scores."""
    lowest = min(scores)
    spread = float(max(scores) - lowest)
    if not spread:
        return [0] * len(scores)
    return [int(float(MAX_SCORE) * (float(score - lowest) / spread)) for score in scores]


def normalize(scores: Scores) -> Scores:
    """Stretch to 0…100 between the lowest and the highest; all 0 if they are equal. *scores* is changed."""
    lowest = int(scores.min())
    spread = int(scores.max()) - lowest
    if spread == 0:
        return np.zeros_like(scores)
    scores -= lowest
    if spread <= min(len(scores), _WIDEST):
        return _stretched(spread).take(scores)
    return _stretch(scores, spread)


@lru_cache(maxsize=256)
def _stretched(spread: int) -> Scores:
    """The results for 0 … *spread*."""
    return _stretch(np.arange(spread + 1), spread)


def _stretch(distances: Scores, spread: int) -> Scores:
    """Floats in the order in which the reference has them."""
    stretched = float(MAX_SCORE) * (distances.astype(np.float64) / float(spread))
    return stretched.astype(np.int64)
