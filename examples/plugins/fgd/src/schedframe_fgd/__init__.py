"""GPU sharing by fragmentation gradient descent (Weng et al., USENIX ATC 2023)."""

from __future__ import annotations

from .args import FGDArgs, TaskType
from .measure import Workload, compile_workload, fragmentation
from .plugin import FGD

__all__ = ["FGD", "FGDArgs", "TaskType", "Workload", "compile_workload", "fragmentation"]
