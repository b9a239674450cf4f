"""What a preemption weighed, in words: victims, budgets, and by which criterion one node won."""

from __future__ import annotations

from collections.abc import Iterator

from ..framework.preemption import Candidate, Preemption, Ranking, rank

TRIED_FIRST = "equal by all criteria, and tried first"
EQUAL = "equal by all criteria"
ONLY = "the only candidate"


def decided_by(ranking: Ranking) -> str:
    """Why the chosen node won."""
    if len(ranking.best) > 1:
        return TRIED_FIRST
    criterion = ranking.decided_by
    return criterion.wins if criterion is not None else ONLY


def verdict(candidate: Candidate, ranking: Ranking, chosen: Candidate) -> str:
    """Why that node won or lost."""
    if candidate is chosen:
        return decided_by(ranking)
    lost = ranking.lost.get(candidate.node_name)
    return lost.loses if lost is not None else EQUAL


def victims(candidate: Candidate) -> str:
    """Who would have to go, most important first, and what that violates."""
    pods = ", ".join(f"{pod.key} (priority {pod.priority})" for pod in candidate.victims)
    violations = candidate.pdb_violations
    return f"{pods}; {violations} budget violation{'s' if violations != 1 else ''}"


def lines(preemption: Preemption) -> Iterator[tuple[str, str, str]]:
    """Of each candidate, the chosen one first: node, why it won or lost, victims."""
    ranking, chosen = rank(preemption.candidates), preemption.chosen
    assert chosen is not None
    # The later a node was ruled out, the closer it came.
    place = {name: -i for i, name in enumerate(ranking.lost, 1)}
    order = sorted(
        preemption.candidates,
        key=lambda c: (c is not chosen, c.node_name in place, place.get(c.node_name, 0)),
    )
    for candidate in order:
        yield candidate.node_name, verdict(candidate, ranking, chosen), victims(candidate)
