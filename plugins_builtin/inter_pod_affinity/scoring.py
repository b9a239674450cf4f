"""Preferred terms of the pod at hand, and what the terms of running pods say about it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, Node, Pod, Rows, StateKey

from .counts import Counts, ExistingTerms, own_weighted, weights
from .terms import terms_of_pod

Scores = npt.NDArray[np.int64]


@define(eq=False)
class ScoreState:
    """Topology key → weight of the pods in each domain."""

    weights: Counts


SCORE_STATE: StateKey[ScoreState] = StateKey("PreScoreInterPodAffinity")


def count_for_score(existing: ExistingTerms, pod: Pod, ignore_existing: bool) -> ScoreState | None:
    """Weights for *pod*; ``None`` if no term of anybody means any pod.

    *ignore_existing*: a pod without preferred terms of its own does not care for those of others.
    """
    terms, table = terms_of_pod(pod), existing.table
    own = bool(terms.preferred or terms.preferred_anti)
    if not own and (ignore_existing or not table.pods_with_affinity):
        return None
    by_weight, by_number = existing.scores(pod) if table.pods_with_affinity else ({}, {})
    if not own and not by_weight:
        return None
    mine = own_weighted(terms, existing.objects)
    found = weights(table, mine, by_weight)
    if any(counts.any() for counts in found.values()):
        return ScoreState(found)
    # Weights that cancel out are not the same as no terms at all.
    numbers = weights(table, tuple((1, term) for _, term in mine), by_number)
    return ScoreState(found) if any(counts.any() for counts in numbers.values()) else None


def score_node(state: ScoreState, node: Node) -> int:
    """Sum of the weights in the node's domains."""
    labels = node.labels
    return sum(counts.at(labels[key]) for key, counts in state.weights.items() if key in labels)


def score_rows(state: ScoreState, rows: Rows) -> Scores:
    """As :func:`score_node` for many rows; O(rows + topology values)."""
    total = np.zeros(len(rows), np.int64)
    for counts in state.weights.values():
        assert counts.sums is not None
        total += counts.per_code().take(rows.take(counts.sums.labels.codes))
    return total


def normalize(scores: Scores) -> Scores:
    """Stretch to 0…100 between the lowest and the highest; all 0 if they are equal. Floats as the
    reference has them.
    """
    lowest, highest = int(scores.min()), int(scores.max())
    spread = highest - lowest
    if spread == 0:
        return np.zeros_like(scores)
    stretched = float(MAX_SCORE) * ((scores - lowest).astype(np.float64) / float(spread))
    return stretched.astype(np.int64)
