"""Signals at moments that repeat exactly: before the n-th line that the main thread runs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

WORLDS_FACTOR = int(os.environ.get("SCHEDFRAME_INTERRUPTS", "1"))
"""How many times as many worlds as usual are interrupted."""


def interrupted_at(line: int, call: Callable[[], object], number: int = signal.SIGINT) -> bool:
    """Call *call* and raise the signal before the line of that number; whether KeyboardInterrupt left it.

    Every line of Python counts that is run within *call*, whatever module it belongs to.
    """
    left, raised = line, False

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left, raised
        if event == "line" and not raised:
            left -= 1
            if left < 0:
                raised = True
                signal.raise_signal(number)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
