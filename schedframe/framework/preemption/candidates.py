"""Candidates: nodes on which preemption would work, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from operator import attrgetter
from typing import Final

from attrs import field

from ..._base.value import record
from ...api import Pod

_PRIORITY_OFFSET = 2**31
"""Makes every priority positive, so that more victims never sum up to less."""


@record(frozen=True)
class Candidate:
    """A node and the pods that would have to be removed, most important first."""

    node_name: str
    victims: tuple[Pod, ...]
    pdb_violations: int
    """Victims whose eviction violates a disruption budget."""
    measures: tuple[float, ...] = field(init=False, eq=False, repr=False)
    """The measures of all criteria as a sort key; the best candidate has the smallest."""

    @measures.default
    def _measure(self) -> tuple[float, ...]:
        return tuple(criterion.measure(self) for criterion in CRITERIA) if self.victims else ()


@record(frozen=True)
class Preemption:
    """The outcome of a preemption, as the details of its PostFilterResult."""

    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    evicted: tuple[Pod, ...] = ()
    """Victims of the chosen node that were deleted; not those that were being deleted already."""
    cleared: tuple[Pod, ...] = ()
    """Pods of lower priority that were nominated to the chosen node and are not any more."""
    stopped: tuple[Pod, ...] = ()
    """Victims that did not run yet and returned to the queue."""


def start_time(pod: Pod) -> float:
    """Return when the pod started; a pod that has not counts as starting now, later than all others."""
    started = pod.status.start_time
    return inf if started is None else started


def importance(pod: Pod) -> tuple[int, float]:
    """Sort key, most important first: higher priority, then longer running."""
    return (-pod.priority, start_time(pod))


def earliest_start(candidate: Candidate) -> float:
    """Earliest start among the victims of the highest priority."""
    highest = max(pod.priority for pod in candidate.victims)
    return min(start_time(pod) for pod in candidate.victims if pod.priority == highest)


@record(frozen=True)
class Criterion:
    """A measure to minimise, with the words for it in explanations."""

    wins: str
    loses: str
    measure: Callable[[Candidate], float]


CRITERIA: Final = (
    Criterion(
        "fewest violations of disruption budgets",
        "more violations of disruption budgets",
        lambda candidate: candidate.pdb_violations,
    ),
    Criterion(
        "lowest priority of its most important victim",
        "a more important victim",
        lambda candidate: candidate.victims[0].priority,
    ),
    Criterion(
        "smallest sum of its victims' priorities",
        "a higher sum of priorities",
        lambda candidate: sum(pod.priority + _PRIORITY_OFFSET for pod in candidate.victims),
    ),
    Criterion("fewest victims", "more victims", lambda candidate: len(candidate.victims)),
    Criterion(
        "its most important victims started latest",
        "a victim that has run longer",
        lambda candidate: -earliest_start(candidate),
    ),
)
"""What decides between candidates, in this order: violations, the highest priority among the victims, the sum
of priorities, the number of victims; then the latest start among the earliest of the highest-priority victims
wins. Source: the reference's pickOneNodeForPreemption."""


standing: Final = attrgetter("measures")
"""Sort key of candidates."""


@record(frozen=True)
class Ranking:
    """Order of the candidates."""

    best: tuple[Candidate, ...]
    """Those that are equal by all criteria and better than the rest, in the order given."""
    lost: dict[str, Criterion]
    """Node → the criterion by which it lost, in the order in which they were ruled out."""

    @property
    def decided_by(self) -> Criterion | None:
        """The criterion that ruled out the last of those that lost; ``None`` if none did."""
        return next(reversed(self.lost.values()), None)


def rank(candidates: Sequence[Candidate]) -> Ranking:
    """Apply the criteria one after another; each only to those that are equal by all before it."""
    left = list(candidates)
    lost: dict[str, Criterion] = {}
    for criterion in CRITERIA:
        if len(left) <= 1:
            break
        values = [criterion.measure(candidate) for candidate in left]
        best = min(values)
        lost |= {c.node_name: criterion for c, value in zip(left, values, strict=True) if value != best}
        left = [candidate for candidate, value in zip(left, values, strict=True) if value == best]
    return Ranking(tuple(left), lost)
