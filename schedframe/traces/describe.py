"""A trace in figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from typing_extensions import override

from .._base.tables import Table
from .._base.value import record
from .columns import NONE, ColumnTable, Ints, ranks
from .figures import Figures, Named, split
from .times import SECOND, UNITS

RANKS: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


@record(frozen=True, eq=False)
class Description(Figures):
    """Figures of a trace. ``treated`` counts rows of the file that were changed or left out, by treatment."""

    treated: Mapping[str, int] = {}  # a field of a frozen class

    @override
    def _table(self) -> Table:
        table = super()._table()
        rows = [(name, float(count), "rows") for name, count in self.treated.items()]
        return Table(table.columns, [*table.rows, *rows])


def describe(
    pods: ColumnTable,
    requests: Ints,
    resources: Sequence[str],
    capacity: Mapping[str, int],
    treated: Mapping[str, int],
) -> Description:
    """Return the figures of a trace. O(pods log pods)."""
    figures: Named = dict(_counts(pods))
    run = np.sort(pods["run"][pods["run"] != NONE])
    figures |= _spread("run", run, SECOND, "s")
    template, size = np.unique(pods["template"], return_counts=True)
    for index, resource in enumerate(resources):
        amounts = np.repeat(requests[template, index], size)
        figures |= _spread(f"requests[{resource}]", np.sort(amounts), 1, _unit(resource))
    for resource, offered in _offered(pods, requests, resources).items():
        if capacity.get(resource):
            figures[f"capacity[{resource}]"] = (capacity[resource], _unit(resource))
            if offered is not None:
                figures[f"offered[{resource}]"] = (offered / capacity[resource], "")
    return Description(*split(figures), dict(treated))


def _counts(pods: ColumnTable) -> Iterator[tuple[str, tuple[float, str]]]:
    submit = pods["submit"]
    span = int(submit[-1] - submit[0]) if len(submit) else 0
    yield "pods", (len(submit), "pods")
    yield "endless", (int(np.count_nonzero(pods["run"] == NONE)), "pods")
    yield "templates", (len(np.unique(pods["template"])), "")
    yield "owners", (len(np.unique(pods["owner"][pods["owner"] != NONE])), "")
    yield "groups", (len(np.unique(pods["group"][pods["group"] != NONE])), "")
    yield "span", (span / UNITS["d"], "d")
    if span:
        yield "arrivals", (len(submit) * UNITS["h"] / span, "pods/h")


def _spread(name: str, ordered: Ints, unit: int, spelled: str) -> dict[str, tuple[float, str]]:
    if not len(ordered):
        return {}
    mean = sum(map(int, ordered.tolist())) / len(ordered) / unit
    values = ranks(ordered, *RANKS.values())
    found = {f"{name}_{rank}": (value / unit, spelled) for rank, value in zip(RANKS, values, strict=True)}
    return {f"{name}_mean": (mean, spelled), **found}


def _offered(pods: ColumnTable, requests: Ints, resources: Sequence[str]) -> dict[str, float | None]:
    """Return resource → mean amount that the pods request while they would run if none waited.

    ``None`` without a span of time.
    """
    submit = pods["submit"]
    span = int(submit[-1] - submit[0]) if len(submit) else 0
    busy = np.zeros(len(requests), object)
    ends = pods["run"] != NONE
    np.add.at(busy, pods["template"][ends], pods["run"][ends].astype(object))
    return {
        resource: sum(map(int, requests[:, index].astype(object) * busy)) / span if span else None
        for index, resource in enumerate(resources)
    }


def _unit(resource: str) -> str:
    return {"cpu": "milli-CPU", "memory": "bytes"}.get(resource, "")
