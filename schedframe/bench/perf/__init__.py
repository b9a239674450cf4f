"""Workloads of scheduler_perf, the benchmark of kube-scheduler, read from its own files and carried out here.

A file holds test cases; a test case is a list of operations and several workloads with their parameters.
"""

from __future__ import annotations

from .definitions import Workload, load_workloads, select
from .run import run_workload

__all__ = ["Workload", "load_workloads", "run_workload", "select"]
