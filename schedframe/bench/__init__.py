"""Benchmarks: how fast the scheduler is on templates and on workload files of scheduler_perf.

Both are sequences of operations, which :class:`.runner.WorkloadRunner` carries out.
"""

from __future__ import annotations

from .compare import compare, compare_text
from .options import Options
from .perf import Workload, load_workloads, run_workload, select
from .report import as_line, as_text
from .run import run
from .templates import TEMPLATES, Template

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
