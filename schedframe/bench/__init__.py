"""Benchmarks: how fast the scheduler is, on workloads that are declared in :mod:`.templates` or in a file."""

from __future__ import annotations

from .compare import compare, compare_text
from .perf import Workload, load_workloads, run_workload, select
from .report import as_line, as_text
from .run import run
from .templates import TEMPLATES, Template
from .workload import Options

__all__ = [
    "TEMPLATES",
    "Options",
    "Template",
    "Workload",
    "as_line",
    "as_text",
    "compare",
    "compare_text",
    "load_workloads",
    "run",
    "run_workload",
    "select",
]
