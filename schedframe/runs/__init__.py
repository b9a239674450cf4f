"""Runs of traces: what the driver of simulated time writes, and the tables and measures that follow from
it."""

from __future__ import annotations

from .history import History
from .recorder import RunRecorder
from .run import Run
from .saved import SavedRun, read_run
from .spans import RunEvent, Spans

__all__ = ["History", "Run", "RunEvent", "RunRecorder", "SavedRun", "Spans", "read_run"]
