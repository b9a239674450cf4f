"""Generated traces: arrivals in bursts and by the hour of the day, run times with heavy tails, owners,
groups.

Every number is drawn by seed, purpose and place, and rounded to microseconds: the same trace in each version.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
from attrs import field

from .._base.checked import checked
from .._base.validators import number
from .._base.value import value
from ..errors import InputError
from .building import PodPart, TraceBuilder
from .columns import NONE, Ints
from .draws import Draws, exponential, normal
from .template import NodeTemplate, PodTemplate
from .times import SECOND, UNITS, Span, micros
from .trace import FOREVER, Trace

TAIL: Final = 0.95
"""Share of the run times that are log-normal; the longer ones have a Pareto tail."""
HOURS: Final = 24
_BLOCK: Final = 4_096
"""Arrivals that are drawn at once."""


def _positive(_: Any, attribute: Any, value: float) -> None:
    number(attribute.name, value, "give a number above 0")
    if value <= 0:
        raise InputError(attribute.name, f"{value} is not above 0", "give a number above 0")


@value
class RunTimes:
    """Distribution of run times: log-normal below rank 0.95, and a Pareto tail above it.

    ``median`` and ``longest`` are seconds. ``sigma`` is the deviation of the logarithms (0: all are equal),
    ``tail`` the exponent of the tail: the smaller, the heavier; below 1 only ``longest`` keeps the mean
    finite.
    """

    median: float = field(default=600.0, validator=_positive)
    sigma: float = 1.0
    tail: float = field(default=2.0, validator=_positive)
    longest: float = field(default=30 * 86_400.0, validator=_positive)

    def at(self, rank: float) -> int:
        """Return the run time at a rank from 0 to 1 in microseconds."""
        body = self.median * math.exp(self.sigma * normal(min(rank, TAIL)))
        if rank > TAIL and self.sigma:
            body *= ((1 - rank) / (1 - TAIL)) ** (-1 / self.tail)
        return round(min(body, self.longest) * SECOND)


@value
class Kind:
    """A kind of job: ``size`` equal pods, of which ``min_count`` must start together (all by default).

    ``weight`` is its share among the kinds; ``run`` is ``None`` for pods that never end.
    """

    template: PodTemplate
    weight: float = field(default=1.0, validator=_positive)
    size: int = 1
    min_count: int | None = None
    run: RunTimes | None = RunTimes()


@value
class Workload:
    """Parameters of a generated trace; :func:`fit` finds those of a trace.

    ``rate`` is jobs an hour on average; ``burst`` how many arrive together on average (1: one by one, as a
    Poisson process); ``rhythm`` 24 weights, one for each hour of the day (empty: all hours alike); ``owners``
    how many there are, and ``skew`` the exponent by which the *k*-th of them submits less (0: all alike).
    """

    kinds: tuple[Kind, ...]
    rate: float = field(default=60.0, validator=_positive)
    burst: float = 1.0
    rhythm: tuple[float, ...] = ()
    owners: int = 1
    skew: float = 1.0

    def __attrs_post_init__(self) -> None:
        if not self.kinds:
            raise InputError("kinds", "there is none", "give at least one Kind")
        number("burst", self.burst, "give the mean size of a burst", least=1)
        number("owners", self.owners, "give the number of owners", whole=True, least=1)
        wrong = self.rhythm and (
            len(self.rhythm) != HOURS or min(self.rhythm) < 0 or not max(self.rhythm) > 0
        )
        if wrong:
            raise InputError("rhythm", f"{len(self.rhythm)} weights", "give 24 weights from 0, not all 0")


@checked
def generate(
    workload: Workload,
    length: Span,
    *,
    seed: int = 0,
    nodes: Sequence[tuple[int, NodeTemplate]] = (),
    epoch: int = 0,
) -> Trace:
    """Return a trace of that *length* with *nodes* (number and template) that join at 0.

    The day of ``rhythm`` begins at the epoch. O(pods).
    """
    draws = Draws(seed)
    builder = TraceBuilder()
    for index in range(workload.owners):
        builder.owners.id(f"owner-{index}")
    submit = _arrivals(workload, micros(length, "length"), draws)
    builder.add(_pods(workload, submit, draws, builder))
    for place, (count, template) in enumerate(nodes):
        builder.add_nodes([f"node-{place}-{index}" for index in range(count)], template)
    return builder.build(epoch=epoch)


def _pods(workload: Workload, submit: Ints, draws: Draws, builder: TraceBuilder) -> PodPart:
    count = len(submit)
    kinds = workload.kinds
    kind = _chosen(draws.uniform(count, "kind").tolist(), [each.weight for each in kinds])
    shares = [(rank + 1) ** -workload.skew for rank in range(workload.owners)]
    owner = _chosen(draws.uniform(count, "owner").tolist(), shares)
    ranks = draws.uniform(count, "run").tolist()
    runs = [kinds[each].run for each in kind]
    run = np.array(
        [FOREVER if times is None else times.at(rank) for times, rank in zip(runs, ranks, strict=True)],
        np.int64,
    )
    size = np.array([kinds[each].size for each in kind], np.int64)
    least = np.array(
        [kinds[each].size if (n := kinds[each].min_count) is None else n for each in kind], np.int64
    )
    group = np.full(count, NONE, np.int32)
    group[size > 1] = builder.new_groups(least[size > 1])
    templates = np.array(
        [builder.template(each.template, index) for index, each in enumerate(kinds)], np.int32
    )
    job = np.repeat(np.arange(count), size)
    columns: dict[str, Any] = {
        "owner": np.array(owner, np.int32)[job],
        "group": group[job],
        "template": templates[np.array(kind, np.int64)][job],
    }
    return PodPart(submit[job], run[job], {}, **columns)


def _arrivals(workload: Workload, length: int, draws: Draws) -> Ints:
    """Return the times of arrival of the jobs before *length*.

    Bursts come as a Poisson process at the peak of the rhythm, and are kept by its weight at their time
    (thinning); the size of a burst has a geometric distribution.
    """
    weights = workload.rhythm or (1.0,)
    peak = max(weights) / (math.fsum(weights) / len(weights))
    mean_gap = UNITS["h"] * workload.burst / (workload.rate * peak)
    kept = [each / max(weights) for each in weights]
    times: list[int] = []
    now, block = 0, 0
    while now < length:
        gaps, accepted, sizes = (
            draws.uniform(_BLOCK, name, block).tolist() for name in ("gap", "keep", "burst")
        )
        for gap, accept, size in zip(gaps, accepted, sizes, strict=True):
            now += round(exponential(gap) * mean_gap)
            if now >= length:
                break
            if accept < kept[now // UNITS["h"] % HOURS % len(kept)]:
                times += [now] * _burst(size, workload.burst)
        block += 1
    return np.array(times, np.int64)


def _burst(uniform: float, mean: float) -> int:
    """Return the size of a burst: a number of the geometric distribution on 1, 2, … with that mean."""
    return 1 if mean == 1 else 1 + int(math.log1p(-uniform) / math.log1p(-1 / mean))


def _chosen(uniform: Iterable[float], weights: Sequence[float]) -> list[int]:
    """Return an index for each uniform number, by *weights*."""
    total = math.fsum(weights)
    bounds = [each / total for each in accumulate(weights)]
    last = len(bounds) - 1
    return [min(bisect_right(bounds, each), last) for each in uniform]
