"""The garbage collector of a scheduler that runs: it does not look again and again at what stays.

Modules, nodes and pods of the start stay as long as the process. With 1,000 nodes and 3,000 pods the
collector took 8 % of the CPU time of ``schedframe run`` before it passed over them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_postponed() -> Iterator[None]:
    """Collect no garbage inside before :func:`exempt_present_objects` is called; at the end all as before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def exempt_present_objects() -> None:
    """Collect garbage from now on, among the objects that are made later."""
    gc.freeze()
    gc.enable()
