"""Benchmarks: how fast the scheduler is, on workloads that are declared in :mod:`.templates`."""

from __future__ import annotations

from .report import as_line, as_text
from .run import run
from .templates import TEMPLATES, Template
from .workload import Options

__all__ = ["TEMPLATES", "Options", "Template", "as_line", "as_text", "run"]
