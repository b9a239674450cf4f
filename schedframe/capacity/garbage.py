"""The garbage collector during one question."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_later() -> Iterator[None]:
    """Context in which no cycles of garbage are looked for.

    What is placed stays until the question is answered. To look at it again and again took a third of the
    time of 80,000 pods on 5,000 nodes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
