"""Mapping files: which columns of a table become what of a trace, declared in YAML.

This module reads the declarations and refuses what it does not know, with line and fix; :mod:`.mapped` reads
tables by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from .._base.brief import shown
from .._base.value import record
from ..api._text import meant
from ..api.documents import read_documents
from ..api.paths import located, steps_of
from ..api.resources import CPU, MEMORY
from ..errors import InputError
from .node_events import NodeEvent
from .reading import Paths, opened
from .times import UNITS as TIME_UNITS
from .times import micros
from .trace import FOREVER

AMOUNT_UNITS: Final[dict[str, dict[str, float]]] = {
    CPU: {"milli": 1, "cores": 1_000, "percent": 10},
    MEMORY: {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
}
"""Resource → unit of a column → factor. No unit is guessed."""
TIMES: Final = ("submit", "start", "end", "run", "requested")
POD_COLUMNS: Final = (*TIMES, "name", "owner", "group", "min_count", "count", "priority")
EVENTS: Final = {each.name.lower(): each for each in NodeEvent}


@record(frozen=True)
class Field:
    """Source of a value: a column (``from``), changed by ``times`` or ``map``, or a constant."""

    path: str
    column: str = ""
    times: float = 1
    default: float | str | None = None
    values: Mapping[str, Any] | None = None
    split: str = "|"


@record(frozen=True)
class EventFields:
    """Rows that are events of pods: ``key`` names the pod, ``type`` the column with the kind of event."""

    key: tuple[str, ...]
    type: str
    time: Field
    kinds: Mapping[str, str]
    """Text → ``submit``, ``start`` or ``end``; all others count for nothing."""


@record(frozen=True)
class TableFields:
    """Fields that a table of pods or nodes becomes."""

    file: str
    format: str
    header: tuple[str, ...]
    delimiter: str
    where: Mapping[str, tuple[frozenset[str], bool]]
    """Column → texts, and whether rows with one of them are kept, or those without."""
    columns: Mapping[str, Field]
    amounts: Mapping[str, Field]
    labels: Mapping[str, Field]
    events: EventFields | None = None

    def used(self) -> list[str]:
        """Return the columns that are read."""
        fields = [*self.columns.values(), *self.amounts.values(), *self.labels.values()]
        names = [each.column for each in fields if each.column] + list(self.where)
        if self.events is not None:
            names += [*self.events.key, self.events.type, self.events.time.column]
        return list(dict.fromkeys(names))


@record(frozen=True)
class MappingFile:
    """A mapping file that was read."""

    path: str
    pods: TableFields
    nodes: TableFields | None
    origin: int
    """Microseconds that are 0 in the trace; what happened before happens at 0."""
    namespace: str


def read_mapping(path: Paths) -> MappingFile:
    """Read a mapping file. Raises :class:`InputError` with the line of what is wrong."""
    with opened(path) as stream:
        documents = list(read_documents(stream.read(), str(path)))
    if len(documents) != 1:
        raise InputError(
            "", "is no single document", "write pods: and nodes: in one document", location=str(path)
        )
    try:
        top = _keys(documents[0].value, "", ("pods", "nodes", "origin", "namespace"))
        return MappingFile(
            str(path),
            _pods(top.get("pods"), "pods"),
            _nodes(top["nodes"], "nodes") if top.get("nodes") is not None else None,
            micros(top.get("origin", 0), "origin"),
            str(top.get("namespace", "default")),
        )
    except InputError as error:
        line = documents[0].line_of(steps_of(error.path))
        raise error.in_location(located(str(path), line)) from None


_TABLE: Final = ("file", "format", "header", "delimiter", "where", "columns")


def _pods(value: Any, path: str) -> TableFields:
    given = _keys(value, path, (*_TABLE, "requests", "only_on", "events"))
    fields = _keys(given.get("columns", {}), f"{path}.columns", POD_COLUMNS)
    columns = {n: _field(each, f"{path}.columns.{n}", _units(n)) for n, each in fields.items()}
    events = None if given.get("events") is None else _events(given["events"], f"{path}.events")
    if events is None and "submit" not in columns:
        raise InputError(
            f"{path}.columns", "has no submit", "name the column of the arrival: submit: {from: …, unit: s}"
        )
    if events is None and not {"run", "end"} & columns.keys():
        fix = "name the column of the run time (run:) or the end (end:), or write run: {value: forever}"
        raise InputError(f"{path}.columns", "has neither run nor end", fix)
    return _table(given, path, columns, "requests", "only_on", events)


def _nodes(value: Any, path: str) -> TableFields:
    given = _keys(value, path, (*_TABLE, "allocatable", "labels"))
    fields = _keys(given.get("columns", {}), f"{path}.columns", ("name", "time", "event", "price"))
    columns = {n: _field(each, f"{path}.columns.{n}", _units(n)) for n, each in fields.items()}
    if "name" not in columns:
        raise InputError(f"{path}.columns", "has no name", "name the column of the node: name: …")
    for text, event in (columns["event"].values or {}).items() if "event" in columns else ():
        if event not in EVENTS:
            fix = meant(str(event), EVENTS) or f"write one of {', '.join(EVENTS)}"
            raise InputError(f"{path}.columns.event.map.{text}", f"{shown(event)} is no event", fix)
    return _table(given, path, columns, "allocatable", "labels", None)


def _table(
    given: Mapping[str, Any],
    path: str,
    columns: Mapping[str, Field],
    amounts: str,
    labels: str,
    events: EventFields | None,
) -> TableFields:
    file, format_ = str(given.get("file", "")), str(given.get("format", ""))
    if format_ not in ("", "csv", "jsonl"):
        raise InputError(f"{path}.format", f"{shown(format_)} is not known", "write csv or jsonl")
    is_json = format_ == "jsonl" or (not format_ and ".json" in "".join(Path(file).suffixes))
    return TableFields(
        file=file,
        format="jsonl" if is_json else "csv",
        header=tuple(map(str, _list(given.get("header", []), f"{path}.header"))),
        delimiter=str(given.get("delimiter", ",")),
        where={
            n: _where(each, f"{path}.where.{n}")
            for n, each in _map(given.get("where"), f"{path}.where").items()
        },
        columns=columns,
        amounts=_fields(given.get(amounts), f"{path}.{amounts}", _amount_units),
        labels=_fields(given.get(labels), f"{path}.{labels}", lambda _: None),
        events=events,
    )


Units = Mapping[str, float] | None


def _units(column: str) -> Units:
    return TIME_UNITS if column in (*TIMES, "time") else None


def _amount_units(resource: str) -> Units:
    return AMOUNT_UNITS.get(resource)


def _fields(value: Any, path: str, units: Callable[[str], Units]) -> dict[str, Field]:
    return {name: _field(each, f'{path}["{name}"]', units(name)) for name, each in _map(value, path).items()}


def _field(value: Any, path: str, units: Units) -> Field:
    """Return a field. With *units* it must have one of them, or ``times``, so that no unit is guessed."""
    if not isinstance(value, Mapping):
        value = {"from": value}
    given = _keys(value, path, ("from", "value", "unit", "times", "default", "map", "split"))
    column = given.get("from", "")
    if not isinstance(column, str) or (not column) == ("value" not in given):
        raise InputError(
            path, f"{shown(value)} names no column", "write the name of a column, or value: for all rows"
        )
    default = given.get("value") if "value" in given else given.get("default")
    factor = _factor(given, path, units, needed=bool(column) and "map" not in given)
    values = (
        None
        if given.get("map") is None
        else {str(k): v for k, v in _map(given["map"], f"{path}.map").items()}
    )
    return Field(
        path, column, factor, _constant(default, path, factor, units), values, str(given.get("split", "|"))
    )


def _factor(given: Mapping[str, Any], path: str, units: Units, *, needed: bool) -> float:
    times, unit = given.get("times", 1), given.get("unit")
    if isinstance(times, bool) or not isinstance(times, int | float) or not 0 < times < float("inf"):
        raise InputError(
            f"{path}.times", f"{shown(times)} is not a number above 0", "write a number such as 1000"
        )
    if unit is None:
        if units is not None and needed and "times" not in given:
            fix = f"write unit: and one of {', '.join(units)}"
            raise InputError(path, f"the unit of {given['from']} is not said", fix)
        return times
    if units is None or unit not in units:
        known = ", ".join(units) if units else ""
        fix = meant(str(unit), units or ()) or (
            f"write one of {known}" if known else "leave it out, or write times:"
        )
        raise InputError(f"{path}.unit", f"{shown(unit)} is no unit here", fix)
    return times * units[unit]


def _constant(value: Any, path: str, factor: float, units: Units) -> float | str | None:
    if value == "forever":
        return FOREVER
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            path, f"{shown(value)} is no text and no number", "write a number, or forever for run"
        )
    if units is TIME_UNITS and factor == 1:
        return micros(value, path)
    amount = value * factor
    return round(amount) if units is not None or amount == round(amount) else amount


def _events(value: Any, path: str) -> EventFields:
    given = _keys(value, path, ("key", "type", "time", "submit", "start", "end"))
    for name in ("key", "type", "time", "submit", "end"):
        if given.get(name) is None:
            fix = "write key:, type:, time:, and the types that are submit:, start: and end:"
            raise InputError(path, f"has no {name}", fix)
    kinds = {
        str(text): kind
        for kind in ("submit", "start", "end")
        for text in _list(given.get(kind, []), f"{path}.{kind}")
    }
    key = tuple(map(str, _list(given["key"], f"{path}.key")))
    return EventFields(key, str(given["type"]), _field(given["time"], f"{path}.time", TIME_UNITS), kinds)


def _where(value: Any, path: str) -> tuple[frozenset[str], bool]:
    keeps = not (isinstance(value, Mapping) and value.keys() == {"not"})
    values = value if keeps else value["not"]
    return frozenset("" if each is None else str(each) for each in _list(values, path)), keeps


def _keys(value: Any, path: str, known: Iterable[str]) -> dict[str, Any]:
    """Return *value* as a mapping whose keys are all *known*."""
    found, names = _map(value, path), tuple(known)
    for key in found:
        if key not in names:
            where = f"{path}.{key}" if path else str(key)
            raise InputError(
                where, "is not known", meant(str(key), names) or f"the keys are {', '.join(names)}"
            )
    return found


def _map(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(path, f"{shown(value)} is no mapping", "write name: value, one on a line")
    return {key if isinstance(key, str) else str(key): each for key, each in value.items()}


def _list(value: Any, path: str) -> list[Any]:
    if isinstance(value, Mapping):
        raise InputError(path, f"{shown(value)} is no list", "write a list in brackets")
    return list(value) if isinstance(value, list | tuple) else [value]
