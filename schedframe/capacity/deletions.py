"""The pods that go while something is scheduled in a fork: the victims of preemption."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..api import Pod
from ..cluster import WatchEvent
from ..fork import Fork


@contextmanager
def deleted_in(fork: Fork) -> Iterator[list[Pod]]:
    """Context that gives the pods that are deleted in it, in order."""
    deleted: list[Pod] = []

    def note(event: WatchEvent) -> None:
        if event.type == "DELETED":
            assert isinstance(event.old, Pod)
            deleted.append(event.old)

    watch = fork.cluster.watch(note, (Pod.KIND,))
    try:
        yield deleted
    finally:
        watch.close()
