"""The Azure packing trace of 2020 (AzureTracesForPacking2020): virtual machines in a file of SQLite.

Times are days, requests fractions of a machine of some kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._base.checked import checked_except
from ..errors import InputError
from .building import PodPart, TraceBuilder
from .columns import NONE
from .reading import CHUNK, OnFault, Paths, Rows, Treated
from .template import NodeTemplate, PodTemplate
from .times import UNITS
from .trace import FOREVER, Trace

if TYPE_CHECKING:
    import sqlite3

WHOLE: Final = {
    "cpu": 100_000,
    "memory": 100 * 2**30,
    "azure.microsoft.com/hdd": 1_000_000,
    "azure.microsoft.com/ssd": 1_000_000,
    "azure.microsoft.com/nic": 1_000_000,
}
"""What a machine has of each resource here: the trace has fractions only."""
_COLUMNS: Final = ("core", "memory", "hdd", "ssd", "nic")
_HIGH: Final = 1_000
_VM: Final = "SELECT vmId, tenantId, vmTypeId, priority, starttime, endtime FROM vm ORDER BY rowid"
_TYPES: Final = "SELECT vmTypeId, machineId, core, memory, hdd, ssd, nic FROM vmType ORDER BY id"


@checked_except("path")
def read_azure_2020(
    path: Paths, *, machine: int | None = None, machines: int = 0, on_fault: OnFault = "error"
) -> Trace:
    """Read the file of the trace for *machines* machines of one kind.

    A type of virtual machine fits several kinds of machine; *machine* is the kind, by default the one that
    most of the virtual machines fit. A machine has 100 cores, 100 GiB and a million parts of disks and
    network here. Priority 0 (high) becomes 1,000, 1 (low) becomes 0; owners are tenants.

    Treated and counted: machines that run since before the trace arrive at 0 with the rest of their time,
    those that run beyond its 90 days never end, those whose type does not fit the kind are left out. Raises
    :class:`InputError`.
    """
    import sqlite3

    treated = Treated()
    builder = TraceBuilder(treated)
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            kind, types = _kind(database, machine, str(path))
            first = 1
            for rows in _parts(database):
                _add(
                    builder, Rows(str(path), first, rows, len(rows["vmId"]), treated, on_fault, False), types
                )
                first += len(rows["vmId"])
    except sqlite3.Error as error:
        fix = "give the SQLite file of the trace, unpacked"
        raise InputError("", f"cannot be read as this trace: {error}", fix, location=str(path)) from None
    builder.add_nodes([f"machine-{kind}-{index}" for index in range(machines)], NodeTemplate(WHOLE))
    return builder.build()


def _kind(
    database: sqlite3.Connection, machine: int | None, location: str
) -> tuple[int, dict[Any, dict[str, int]]]:
    """Return the kind of machine, and the requests of each type that fits it."""
    rows = database.execute(_TYPES).fetchall()
    kinds = {row[1] for row in rows}
    if machine is None:
        count = Counter(dict(database.execute("SELECT vmTypeId, COUNT(*) FROM vm GROUP BY vmTypeId")))
        fits = Counter[int]()
        for row in rows:
            fits[row[1]] += count[row[0]]
        machine = min(kinds, key=lambda each: (-fits[each], each), default=None)
    if machine is None or machine not in kinds:
        known = ", ".join(map(str, sorted(kinds)[:20])) or "none"
        raise InputError(
            "machine", f"there is no kind {machine}", f"the kinds are {known}", location=location
        )
    types = {
        row[0]: {name: round((part or 0) * WHOLE[name]) for name, part in zip(WHOLE, row[2:], strict=True)}
        for row in rows
        if row[1] == machine
    }
    return machine, types


def _parts(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    cursor = database.execute(_VM)
    names = [each[0] for each in cursor.description]
    while rows := cursor.fetchmany(CHUNK):
        yield dict(zip(names, zip(*rows, strict=True), strict=True))


def _add(builder: TraceBuilder, rows: Rows, types: dict[Any, dict[str, int]]) -> None:
    kinds: Any = rows.column("vmTypeId")
    priorities: Any = rows.column("priority")
    rows.leave_out(_mask(each not in types for each in kinds), "left out: types that do not fit the machine")
    fix = "write days as numbers"
    for name in ("starttime", "endtime"):
        wrong = _mask(not isinstance(each, int | float | None) for each in rows.column(name))
        rows.refuse(wrong, name, "is not a number", fix)
    rows.refuse(_mask(each is None for each in rows.column("starttime")), "starttime", "is empty", fix)
    start, end = (_micros(rows.column(name)) for name in ("starttime", "endtime"))
    is_endless = _mask(each is None for each in rows.column("endtime"))
    rows.refuse(~is_endless & (end < start), "endtime", "is before starttime", "correct the times")
    rows.leave_out(~is_endless & (end < 0), "left out: ended before the trace")
    rows.note(start < 0, "ran before the trace: arrive at 0 with the rest of their time")
    rows.note(is_endless, "run beyond the trace: never end")
    submit = np.maximum(start, 0)
    high = [each == 0 for each in priorities]
    ids = [
        NONE
        if kind not in types
        else builder.template(
            PodTemplate({k: n for k, n in types[kind].items() if n}, _HIGH if is_high else 0), (kind, is_high)
        )
        for kind, is_high in zip(kinds, high, strict=True)
    ]
    part = PodPart(
        submit,
        np.where(is_endless, FOREVER, end - submit),
        {},
        name=np.array([f"vm-{each}" for each in rows.column("vmId")], np.bytes_),
        owner=builder.owners.ids(map(str, rows.column("tenantId"))),
        template=np.array(ids, np.int32),
    )
    builder.add(part, rows)


def _micros(days: Any) -> Any:
    return np.array(
        [round(each * UNITS["d"]) if isinstance(each, int | float) else 0 for each in days], np.int64
    )


def _mask(values: Any) -> Any:
    return np.array(list(values), bool)
