"""Named numbers with units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import Table, Tabular
from .._base.value import record


@record(frozen=True, eq=False)
class Figures(Tabular):
    """Numbers by name, with their units: ``figures["wait_p99"]`` is a number, ``units`` has the unit."""

    values: Mapping[str, float]
    units: Mapping[str, str]

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    @override
    def _table(self) -> Table:
        rows = [(name, float(value), self.units.get(name, "")) for name, value in self.values.items()]
        return Table({"figure": str, "value": float, "unit": str}, list(rows))

    @override
    def __repr__(self) -> str:
        return brief_of(self, len=len(self.values), names=list(self.values))


Named = dict[str, tuple[float, str]]
"""Name → number and unit."""


def split(named: Named) -> tuple[dict[str, float], dict[str, str]]:
    """Return the numbers and the units of figures."""
    return {name: value for name, (value, _) in named.items()}, {
        name: unit for name, (_, unit) in named.items()
    }
