"""Two runs compared pod by pod and in their measures, and gates for pipelines."""

from __future__ import annotations

from .comparison import Comparable, Comparison, compare
from .gates import Gate, GateResult, GateResults, check_gates

__all__ = ["Comparable", "Comparison", "Gate", "GateResult", "GateResults", "check_gates", "compare"]
