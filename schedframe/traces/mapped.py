"""Traces of any table, by a mapping file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from .._base.checked import checked_except
from ..errors import InputError
from .building import PodPart, TraceBuilder
from .columns import NONE, Array, Ids, Ints, Names
from .folding import Folded, fold
from .mapping import EVENTS, Field, MappingFile, TableFields, read_mapping
from .node_events import NodeEvent
from .reading import OnFault, Paths, Rows, Treated, concatenated, csv_rows, json_rows
from .template import NodeTemplate
from .trace import FOREVER, Trace

KINDS: Final = ("", "submit", "start", "end")
"""Codes of events of pods; 0 is all others."""


@checked_except("mapping", "pods", "nodes")
def read_trace(
    mapping: Paths, pods: Paths | None = None, nodes: Paths | None = None, *, on_fault: OnFault = "error"
) -> Trace:
    """Read tables of pods and nodes as a mapping file says.

    *pods* and *nodes* come before the files that the mapping names, which are relative to it. The format is
    on the page *Trace files* of the reference. Rows that ``where`` leaves out are counted. Raises
    :class:`InputError`, with the line of the mapping or of the table.
    """
    declared = read_mapping(mapping)
    treated = Treated()
    reader = _Reader(declared, TraceBuilder(treated, declared.namespace), treated, on_fault)
    reader.read_pods(pods)
    if declared.nodes is not None:
        reader.read_nodes(declared.nodes, nodes)
    return reader.builder.build()


class _Reader:
    def __init__(
        self, mapping: MappingFile, builder: TraceBuilder, treated: Treated, on_fault: OnFault
    ) -> None:
        self.mapping, self.builder, self.treated, self.on_fault = mapping, builder, treated, on_fault
        self.groups = Names()
        self.labels = {label: Names() for label in mapping.pods.labels}

    def parts(self, table: TableFields, given: Paths | None, name: str) -> Iterator[Rows]:
        """Yield the rows of a table that ``where`` keeps."""
        if given is None and not table.file:
            fix = "give the file to read_trace, or name it in the mapping: file: …"
            raise InputError(f"{name}.file", "no file is named", fix, location=self.mapping.path)
        path = Path(self.mapping.path).parent / table.file if given is None else given
        if table.format == "jsonl":
            parts = json_rows(path, self.treated, table.used(), on_fault=self.on_fault)
        else:
            options: dict[str, Any] = {"header": table.header, "delimiter": table.delimiter}
            parts = csv_rows(path, self.treated, on_fault=self.on_fault, **options)
        for rows in parts:
            for column, (values, keeps) in table.where.items():
                rows.leave_out(rows.is_one_of(column, values) != keeps, f"left out: where {column}")
            yield rows

    # ---- pods --------------------------------------------------------------------------------------------

    def read_pods(self, given: Paths | None) -> None:
        table = self.mapping.pods
        columns: dict[str, list[Array]] = {}
        keys = Names()
        for rows in self.parts(table, given, "pods"):
            found = self._columns(rows, table)
            if table.events is not None:
                found |= self._event_columns(rows, table, keys)
            kept = ~rows.dropped
            for name, column in found.items():
                columns.setdefault(name, []).append(column[kept])
        if columns:
            whole = {name: concatenated(parts) for name, parts in columns.items()}
            self._add(self._folded(whole) if table.events is not None else self._timed(whole))

    def _columns(self, rows: Rows, table: TableFields) -> dict[str, Array]:
        """Return the columns of a part; amounts and labels under the names of their fields."""
        found: dict[str, Array] = {}
        for name, field in table.columns.items():
            found[name] = self._column(rows, name, field)
        for name, field in table.amounts.items():
            found[f"amount {name}"] = whole_of(rows, field)
        for name, field in table.labels.items():
            found[f"label {name}"] = ids_of(rows, field, self.labels[name])
        if "start" in found and table.events is None:
            self._refuse_order(rows, table, found)
        return found

    def _column(self, rows: Rows, name: str, field: Field) -> Array:
        if name == "owner":
            return ids_of(rows, field, self.builder.owners)
        if name == "group":
            return ids_of(rows, field, self.groups)
        if name == "name":
            return np.array([each.encode() for each in texts_of(rows, field)] or [b""], np.bytes_)[
                : rows.size
            ]
        return whole_of(rows, field, least=None if name == "priority" else 0)

    def _refuse_order(self, rows: Rows, table: TableFields, found: Mapping[str, Array]) -> None:
        if "end" in found:
            column = table.columns["end"].column
            wrong = (found["end"] != FOREVER) & (found["end"] < found["start"])
            rows.refuse(
                wrong, column, "is before the start", "correct the times, or their units in the mapping"
            )

    def _event_columns(self, rows: Rows, table: TableFields, keys: Names) -> dict[str, Array]:
        events = table.events
        assert events is not None
        cells = zip(*(rows.column(each) for each in events.key), strict=True)
        codes = [KINDS.index(events.kinds.get(each, "")) for each in rows.column(events.type)]
        return {
            "key": keys.ids(map("/".join, cells)),
            "event": np.array(codes, np.int64),
            "time": whole_of(rows, events.time),
        }

    def _folded(self, columns: dict[str, Array]) -> dict[str, Array]:
        folded: Folded = fold(columns["key"], columns["event"], columns["time"])
        self.treated.update({name: count for name, count in folded.treated.items() if count})
        chosen = {n: c[folded.rows] for n, c in columns.items() if n not in ("key", "event", "time")}
        return {**chosen, "submit": folded.submit, "run": folded.run, "start": folded.start}

    def _timed(self, columns: dict[str, Array]) -> dict[str, Array]:
        """Return *columns* with a run time; that of an end if there is none."""
        if "run" not in columns:
            start = columns.get("start", columns["submit"])
            is_endless = columns["end"] == FOREVER
            columns["run"] = np.where(is_endless, FOREVER, columns["end"] - start)
            wrong = ~is_endless & (columns["run"] < 0)
            if wrong.any():
                self._refuse_ends(columns, wrong)
                columns = {name: column[~wrong] for name, column in columns.items()}
        return columns

    def _refuse_ends(self, columns: Mapping[str, Array], wrong: Array) -> None:
        index, count = int(wrong.argmax()), int(wrong.sum())
        field = self.mapping.pods.columns["end"]
        if self.on_fault == "error":
            problem = (
                f"pod {index} ends at {columns['end'][index]} µs, before it arrives ({count:,} such pods)"
            )
            fix = "correct the times, or their units in the mapping; on_fault='skip' leaves such rows out"
            raise InputError(field.column or field.path, problem, fix, location=self.mapping.path)
        self.treated["left out: end before the arrival"] += count

    def _add(self, columns: dict[str, Array]) -> None:
        submit = columns["submit"] - self.mapping.origin
        early = submit < 0
        if self.mapping.origin and early.any():
            self.treated["before the origin: arrive at 0"] += int(early.sum())
        submit = np.maximum(submit, 0)
        each, group = self._expanded(columns)
        labels = {n: (columns[f"label {n}"][each], self.labels[n]) for n in self.mapping.pods.labels}
        amounts = {n: columns[f"amount {n}"][each] for n in self.mapping.pods.amounts}
        optional: dict[str, Any] = {
            n: columns[n][each] for n in ("name", "owner", "priority", "requested") if n in columns
        }
        if "name" in optional and len(each) > len(submit):
            optional["name"] = numbered(optional["name"], each)
        split = next((f.split for f in self.mapping.pods.labels.values()), "|")
        part = PodPart(
            submit[each], columns["run"][each], amounts, group=group, labels=labels, split=split, **optional
        )
        self.builder.add(part)

    def _expanded(self, columns: Mapping[str, Array]) -> tuple[Ints, Ids | None]:
        """Return the row of each pod, ``count`` pods for a row, and the groups."""
        size = len(columns["submit"])
        count = columns.get("count", np.ones(size, np.int64))
        each = np.repeat(np.arange(size), count)
        if "group" not in columns and "count" not in columns:
            return each, None
        key = (
            columns["group"].astype(np.int64)
            if "group" in columns
            else np.where(count > 1, np.arange(size), NONE)
        )
        in_group = key[each] != NONE
        _, ids = np.unique(key[each][in_group], return_inverse=True)
        members = np.bincount(ids) if len(ids) else np.zeros(0, np.int64)
        least = members.astype(np.int64)
        if "min_count" in columns:
            least[ids] = columns["min_count"][each][in_group]
        group = np.full(len(each), NONE, np.int32)
        if len(ids):
            group[in_group] = self.builder.new_groups(least)[ids]
        return each, group

    # ---- nodes -------------------------------------------------------------------------------------------

    def read_nodes(self, table: TableFields, given: Paths | None) -> None:
        """Add the nodes of a table: a row for each, or one for each of their events."""
        known: dict[str, int] = {}
        for rows in self.parts(table, given, "nodes"):
            amounts = {n: whole_of(rows, field) for n, field in table.amounts.items()}
            labels = {n: texts_of(rows, field) for n, field in table.labels.items()}
            names = texts_of(rows, table.columns["name"])
            zero = np.zeros(rows.size, np.int64)
            time = (
                whole_of(rows, table.columns["time"]) - self.mapping.origin
                if "time" in table.columns
                else zero
            )
            event = (
                texts_of(rows, table.columns["event"]) if "event" in table.columns else ["join"] * rows.size
            )
            price = prices_of(rows, table.columns["price"]) if "price" in table.columns else [0.0] * rows.size
            rows.leave_out(
                np.array([each not in EVENTS for each in event], bool), "left out: other events of nodes"
            )
            for index in np.flatnonzero(~rows.dropped).tolist():
                at, name, kind = max(0, int(time[index])), names[index], EVENTS[str(event[index])]
                if name in known:
                    again = NodeEvent.REPAIRED if kind is NodeEvent.JOIN else kind
                    self.builder.node_event(at, known[name], again)
                elif kind is NodeEvent.JOIN:
                    known[name] = len(known)
                    room = {n: int(column[index]) for n, column in amounts.items()}
                    marks = {n: column[index] for n, column in labels.items() if column[index]}
                    self.builder.add_nodes([name], NodeTemplate(room, marks, price[index]), at)


def whole_of(rows: Rows, field: Field, *, least: int | None = 0) -> Ints:
    """Return a field of a part as whole numbers."""
    default = field.default if isinstance(field.default, int) else None
    if not field.column:
        return np.full(rows.size, 0 if default is None else default, np.int64)
    if field.values is None:
        return rows.whole(field.column, field.times, least=least, missing=default)
    known = {text: value for text, value in field.values.items() if isinstance(value, int | float)}
    cells = rows.column(field.column)
    wrong = np.array([each not in known for each in cells], bool)
    if default is None:
        fix = f"add it to {field.path}.map, or write a default"
        rows.refuse(wrong, field.column, "is not in the map", fix)
    values = [round(known[each] * field.times) if each in known else default or 0 for each in cells]
    return np.array(values, np.int64)


def texts_of(rows: Rows, field: Field) -> list[str]:
    """Return a field of a part as texts."""
    default = "" if field.default is None else str(field.default)
    if not field.column:
        return [default] * rows.size
    cells: Any = rows.column(field.column)
    if field.values is not None:
        cells = (str(field.values.get(each, default)) for each in cells)
    return [each or default for each in cells]


def ids_of(rows: Rows, field: Field, names: Names) -> Ids:
    """Return a field of a part as ids of texts."""
    return names.ids(texts_of(rows, field))


def prices_of(rows: Rows, field: Field) -> list[float]:
    """Return a field of a part as prices, which are exact to a millionth."""
    scaled: Callable[[Any], float] = lambda each: int(each) / 1_000_000  # noqa: E731
    if not field.column:
        return [float(field.default or 0)] * rows.size
    return [scaled(each) for each in rows.whole(field.column, 1_000_000, missing=0)]


def numbered(names: Array, each: Ints) -> Array:
    """Return names of pods of one row, which have the numbers of the pods behind them."""
    place = np.arange(len(each)) - np.searchsorted(each, each)
    result: Array = np.char.add(np.char.add(names, b"-"), place.astype("S"))
    return result
