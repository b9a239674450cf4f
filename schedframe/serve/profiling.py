"""Stacks of all threads: the present ones, or samples of some seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from types import FrameType
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from .._base.validators import number

LEAST_SECONDS: Final = 0.01
"""Time of one sample."""
LONGEST_SECONDS: Final = 60.0
SAMPLES_A_SECOND: Final = 100
"""Samples of all threads: few enough to cost less than a hundredth of a core."""

_SECONDS: Final = f"give a number from {LEAST_SECONDS:g}, of which {LONGEST_SECONDS:g} count at most"
_under_way: Final = threading.Lock()
"""Held while a profile is taken: each takes a thread of the server for a while, which probes need, too."""


def profile(request: Request) -> Response:
    """Sample for ``?seconds=`` (5 by default) and return one line a stack with its count.

    The form is that of folded stacks, which flame graph tools read. More than a minute is cut to one.
    """
    try:
        seconds = float(request.query_params.get("seconds", "5"))
        number("seconds", seconds, _SECONDS, least=LEAST_SECONDS)
    except ValueError:
        return PlainTextResponse(f"seconds: {_SECONDS}\n", 400)
    if not _under_way.acquire(blocking=False):
        return PlainTextResponse("another profile is being taken\n", 503)
    try:
        counts = _sampled(min(seconds, LONGEST_SECONDS))
    finally:
        _under_way.release()
    return PlainTextResponse("".join(f"{stack} {count}\n" for stack, count in counts.most_common()))


def _sampled(seconds: float) -> Counter[str]:
    """Return how often each stack was seen, other than those of this thread."""
    own, counts = threading.get_ident(), Counter[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(1 / SAMPLES_A_SECOND)
        names = {each.ident: each.name for each in threading.enumerate()}
        for ident, frame in sys._current_frames().items():
            if ident != own:
                counts[_folded(names.get(ident, str(ident)), frame)] += 1
    return counts


def threads(request: Request) -> Response:
    """Return the present stack of each thread, the innermost call last."""
    names = {each.ident: each.name for each in threading.enumerate()}
    frames = sys._current_frames()
    stacks = [_folded(names.get(ident, str(ident)), frame).split(";") for ident, frame in frames.items()]
    return PlainTextResponse("\n".join("\n  ".join(stack) + "\n" for stack in stacks))


def _folded(name: str, frame: FrameType | None) -> str:
    calls = []
    while frame is not None:
        code = frame.f_code
        file = code.co_filename.rpartition("/")[2]
        calls.append(f"{code.co_qualname} ({file}:{frame.f_lineno})")
        frame = frame.f_back
    return ";".join([name, *reversed(calls)])
