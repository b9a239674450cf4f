"""Parts of a cluster between a manifest and a running pod: admission, and controllers.

Each part is played for a cluster in memory, once for the command line, for programs and for copies of a
cluster. Nothing here knows the scheduler.
"""

from __future__ import annotations

from .manager import ControllerManager, Without
from .switches import PARTS
from .workloads import Workloads

__all__ = ["PARTS", "ControllerManager", "Without", "Workloads"]
