"""Gates: conditions on measures under which a comparison fails, decided over runs with paired seeds.

A gate fails only if the runs leave no doubt: the whole interval of the median over the pairs lies beyond the
limit. The interval is that of order statistics, which assumes nothing about the distribution.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from typing_extensions import override

from .._base.brief import brief_of, shown
from .._base.checked import checked
from .._base.tables import Table, Tabular
from .._base.validators import collection
from .._base.value import record
from ..api._text import meant
from ..errors import InputError
from ..traces import Figures
from .comparison import Comparable

ENOUGH: Final = 5
"""Pairs from which an interval decides; fewer decide by their median, and the result says so."""
COVERAGE: Final = 0.9
"""Least probability with which an interval has the median in it; for five pairs 0.94."""
Kind = Literal["times", "change", "value"]

_FORM: Final = re.compile(
    r"\s*([a-z]\w*(?:\[[^\]\s]+\])?)\s*(>=|<=|>|<)\s*([+-]?)([0-9]+(?:\.[0-9]+)?)(x?)\s*", re.ASCII
)
_HOW: Final = "write it like 'wait_p99 > 1.05x', 'evictions > +3' or 'utilisation[cpu] < 0.6'"


@record(frozen=True)
class Gate:
    """A condition under which a comparison fails, such as ``wait_p99 > 1.05x``.

    ``kind`` is ``times`` (``1.05x``: the other run divided by the base), ``change`` (``+3`` or ``-3``: the
    other less the base) or ``value`` (``3``: the other run alone).
    """

    text: str
    measure: str
    sign: str
    limit: float
    kind: Kind

    @staticmethod
    @checked
    def parse(text: str) -> Gate:
        """Read a gate. Raises :class:`InputError` for anything else than a measure, a sign and a limit."""
        found = _FORM.fullmatch(text)
        if found is None or (found[3] and found[5]):
            raise InputError("fail_if", f"{shown(text, 80)} is no condition", _HOW)
        measure, sign, plus, digits, times = found.groups()
        kind: Kind = "times" if times else "change" if plus else "value"
        return Gate(text.strip(), measure, sign, float(plus + digits), kind)

    def statistic(self, base: Figures, other: Figures) -> float:
        """Return the number of a pair that is compared with the limit; infinite for growth from 0."""
        for figures in (base, other):
            if self.measure not in figures:
                fix = meant(self.measure, figures) or f"the measures are {', '.join(figures)}"
                raise InputError("fail_if", f"there is no measure {self.measure} in a run", fix)
        a, b = base[self.measure], other[self.measure]
        if self.kind == "value":
            return b
        if self.kind == "change":
            return b - a
        return b / a if a else (1.0 if not b else math.inf)

    def is_beyond(self, value: float) -> bool:
        """Return whether the condition holds for *value*."""
        if self.sign == ">":
            return value > self.limit
        if self.sign == ">=":
            return value >= self.limit
        return value < self.limit if self.sign == "<" else value <= self.limit


@record(frozen=True)
class GateResult:
    """The result of a gate over pairs of runs. ``low`` and ``high`` bound the median of the pairs."""

    gate: Gate
    median: float
    low: float
    high: float
    pairs: int
    failed: bool
    remark: str = ""


class GateResults(Tabular, list[GateResult]):
    """A list of :class:`GateResult`; ``str()``, rich and notebooks show a table."""

    @property
    def failed(self) -> bool:
        """Return whether any gate failed."""
        return any(each.failed for each in self)

    @override
    def __repr__(self) -> str:
        return brief_of(self, len=len(self), failed=self.failed)

    @override
    def _table(self) -> Table:
        columns = {
            "gate": str,
            "result": str,
            "median": float,
            "low": float,
            "high": float,
            "pairs": int,
            "remark": str,
        }
        rows = [
            (r.gate.text, "failed" if r.failed else "passed", r.median, r.low, r.high, r.pairs, r.remark)
            for r in self
        ]
        return Table(columns, list(rows))


@checked
def check_gates(fail_if: Iterable[str], pairs: Iterable[tuple[Comparable, Comparable]]) -> GateResults:
    """Return the result of each condition over *pairs* of a base and another run with the same seed.

    With five pairs or more a gate fails if the whole interval is beyond its limit; with fewer if the median
    is, and the remark says so. Raises :class:`InputError` for a condition or a measure that is not known.
    """
    gates = [Gate.parse(text) for text in collection("fail_if", fail_if, "give a list of conditions")]
    summaries = [(base.summary, other.summary) for base, other in pairs]
    if not summaries:
        raise InputError("pairs", "there is none", "give at least one pair of runs")
    return GateResults(_result(gate, [gate.statistic(*pair) for pair in summaries]) for gate in gates)


def _result(gate: Gate, statistics: Sequence[float]) -> GateResult:
    values = sorted(statistics)
    count = len(values)
    median = values[count // 2] if count % 2 else (values[count // 2 - 1] + values[count // 2]) / 2
    if count < ENOUGH:
        remark = f"{count} pair{'s' if count > 1 else ''}: no interval, decided by the median"
        return GateResult(gate, median, median, median, count, gate.is_beyond(median), remark)
    below = order_below(count)
    low, high = values[below], values[count - 1 - below]
    return GateResult(gate, median, low, high, count, gate.is_beyond(low) and gate.is_beyond(high))


def order_below(count: int) -> int:
    """Return how many of the smallest and of the largest of *count* values the interval leaves out.

    The median is outside of what is left with the probability 2 Σ C(count, i) ÷ 2^count over i from 0 to that
    number: the largest number with which it is inside with :data:`COVERAGE` is returned.
    """
    outside, left_out = 0, -1
    for index in range(count // 2):
        outside += math.comb(count, index)
        if 1 - 2 * outside / 2**count < COVERAGE:
            break
        left_out = index
    return max(left_out, 0)
