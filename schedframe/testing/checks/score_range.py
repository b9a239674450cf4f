"""Scores after normalisation."""

from __future__ import annotations

from ...framework import MAX_SCORE, MIN_SCORE
from ..worlds.world import World
from .contract import of_hook
from .probe import Probe, rows_of
from .subject import Subject
from .violation import SCORES, Check, Violation, having_any


def scores_in_range(subject: Subject, world: World) -> None:
    """Scores of any choice of feasible nodes are from 0 to 100."""
    for pod in world.pods:
        table = Probe(subject, world).table
        positions = table.rows().positions.tolist()
        choices = [positions, positions[:1], positions[1:][::-1]]
        for chosen in (choice for choice in choices if choice):
            probe = Probe(subject, world)
            search = probe.search(pod)
            rows = rows_of(probe.table, chosen)
            if not (search.goes_on or search.status.is_skip):
                continue
            rows = search.feasible(rows)
            if not len(rows) or not search.pre_score(rows):
                continue
            scores = search.scores(rows)
            for name, score in zip(rows.names(), scores, strict=True):
                if not MIN_SCORE <= score <= MAX_SCORE:
                    raw = dict(zip(rows.names(), search.raw_scores(rows), strict=True))
                    raise Violation(
                        f"pod {pod.key} on node {name}: the score is {score}, outside of {MIN_SCORE} to "
                        f"{MAX_SCORE} (feasible are {rows.names()}, before normalisation {raw})"
                    )


CHECKS = (
    Check(
        "scores_are_in_range",
        of_hook("normalize_scores", "Bring the raw scores of all feasible rows into 0 to 100"),
        scores_in_range,
        having_any(*SCORES),
    ),
)
