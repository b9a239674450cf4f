"""The result of a run of a trace: tables, measures and their forms."""

from __future__ import annotations

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from .._base.brief import brief_of
from .._base.checked import checked
from ..errors import InputError
from ..traces import Figures, Trace
from ..traces.columns import ColumnTable, digest_of
from ..traces.figures import split
from ..traces.times import SECOND, Span, micros, spelled
from .history import History
from .levels import default_distance, node_table, sampled
from .measures import in_window, measured, slowdowns
from .owners import by_owner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = Literal["csv", "jsonl", "parquet"]


class Run:
    """A run of a trace; a :class:`RunRecorder` makes it.

    ``history`` has the events; tables and measures are computed from it when they are first read. ``window``
    is the part of the run, in µs, that the measures are about: see :meth:`between`.
    """

    def __init__(self, history: History, window: tuple[int, int] | None = None) -> None:
        self.history: Final = history
        """Events, and spans of pods and nodes."""
        self.window: Final = (0, history.end) if window is None else window
        """The part of the run that the measures are about, in µs."""

    @property
    def trace(self) -> Trace:
        """The trace, with the pods and nodes that came during the run."""
        return self.history.trace

    @property
    def end(self) -> int:
        """The last instant, in µs."""
        return self.history.end

    @checked
    def between(self, start: Span, end: Span | None = None) -> Run:
        """Return the same run with measures of a part of it: without warm-up and cool-down."""
        first, last = micros(start, "start"), self.end if end is None else micros(end, "end")
        if not first < last <= self.end:
            fix = f"give times in this order, up to the end of the run, {self.end / SECOND:g} s"
            raise InputError("end", f"from {start} to {end} is no window", fix)
        return Run(self.history, (first, last))

    # ---- tables ------------------------------------------------------------------------------------------

    @property
    def events(self) -> ColumnTable:
        """``time``, ``event``, ``pod``, ``node`` and ``kept``: work that an eviction left, in µs."""
        return self.history.events

    @property
    def pods(self) -> ColumnTable:
        """A row for each pod that arrived.

        ``pod`` is its number in the trace; ``submit``, ``start`` (the first one) and ``end`` are times, −1 if
        there is none; ``wait`` is the time until the first start, or until the end of the run; ``run`` its
        work by the trace; ``node`` the last one; ``state`` that at the end of the run; ``lost`` the work that
        evictions cost; ``waited_for`` the plugin that rejected it last.
        """
        return self.history.pods

    @cached_property
    def nodes(self) -> ColumnTable:
        """A row for each node: ``joined``, ``left`` (−1: it is up), time ``up``, time ``busy`` with pods,
        ``pods``."""
        return node_table(self.history)

    @cached_property
    def samples(self) -> ColumnTable:
        """The run at 1,000 equal distances, which are whole seconds: see :meth:`sampled`."""
        return sampled(self.history, default_distance(self.history))

    @checked
    def sampled(self, distance: Span) -> ColumnTable:
        """Return the run at equal distances of time, after all events of each instant.

        ``waiting`` and ``running`` are pods, ``nodes`` are those that are up; by resource there are
        ``allocated[…]`` and ``allocatable[…]``.
        """
        length = micros(distance, "distance")
        if length <= 0:
            raise InputError("distance", "is 0", "give a time such as 60s")
        return sampled(self.history, length)

    @cached_property
    def owners(self) -> ColumnTable:
        """A row for each owner of counted pods: ``pods``, dominant ``share``, means of ``wait`` and
        ``slowdown``."""
        counted = in_window(self.pods["submit"], *self.window, self.end)
        return by_owner(self.history, *self.window, counted, slowdowns(self.history))

    @cached_property
    def summary(self) -> Figures:
        """The measures of the window, see the page *Measures* of the reference."""
        return Figures(*split(measured(self.history, *self.window)))

    # ---- forms -------------------------------------------------------------------------------------------

    def digest(self) -> str:
        """Return the SHA-256 of the decoded rows and of the summary: equal runs have equal ones."""
        from hashlib import sha256

        digest = sha256()
        for table in (self.pods, self.nodes, self.samples, self.events):
            digest.update(digest_of(table).encode())
        digest.update(json.dumps(dict(self.summary.values), sort_keys=True).encode())
        return digest.hexdigest()

    def plot(self) -> Figure:
        """Return a figure of matplotlib: utilisation, waiting times, nodes, owners; needs the extra
        ``plot``."""
        from .plot import drawn

        return drawn(self.history, self.samples, self.owners)

    @checked
    def write(self, folder: str | os.PathLike[str], format: Format = "csv") -> None:
        """Write the tables and ``summary.json`` to a folder, which is made; ``parquet`` needs polars."""
        from .writing import write

        tables = {"pods": self.pods, "nodes": self.nodes, "samples": self.samples, "events": self.events}
        about = {
            "end": self.end,
            "window": list(self.window),
            "trace": self.trace.digest(),
            "digest": self.digest(),
        }
        write(folder, format, tables, self.summary, about)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the events are no run: such as a pod that ends and does not
        run."""
        self.history.check_invariants()

    def __repr__(self) -> str:
        return brief_of(self, pods=len(self.pods), events=len(self.events), end=spelled(self.end))

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def __str__(self) -> str:
        return str(self.summary)
