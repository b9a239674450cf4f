"""A preemption in words: victims, budgets, and the criterion by which one node won."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..framework.preemption import Candidate, Preemption, Ranking, rank

TRIED_FIRST: Final = "equal by all criteria, and tried first"
EQUAL: Final = "equal by all criteria"
ONLY: Final = "the only candidate"


def decided_by(ranking: Ranking) -> str:
    """Return why the chosen node won."""
    if len(ranking.best) > 1:
        return TRIED_FIRST
    criterion = ranking.decided_by
    return criterion.wins if criterion is not None else ONLY


def lines(preemption: Preemption) -> Iterator[tuple[str, str, str]]:
    """Yield node, why it won or lost, and victims of each candidate; the chosen one first."""
    ranking, chosen = rank(preemption.candidates), preemption.chosen
    assert chosen is not None
    # A node that was ruled out later came closer.
    place = {name: -i for i, name in enumerate(ranking.lost, 1)}
    order = sorted(
        preemption.candidates,
        key=lambda c: (c is not chosen, c.node_name in place, place.get(c.node_name, 0)),
    )
    for candidate in order:
        yield candidate.node_name, _verdict(candidate, ranking, chosen), _victims(candidate)


def _verdict(candidate: Candidate, ranking: Ranking, chosen: Candidate) -> str:
    if candidate is chosen:
        return decided_by(ranking)
    lost = ranking.lost.get(candidate.node_name)
    return lost.loses if lost is not None else EQUAL


def _victims(candidate: Candidate) -> str:
    """Return the victims, the most important first, and the number of violated budgets."""
    pods = ", ".join(f"{pod.key} (priority {pod.priority})" for pod in candidate.victims)
    violations = candidate.pdb_violations
    return f"{pods}; {violations} budget violation{'s' if violations != 1 else ''}"
