"""Trials of an embedding: a fork in the words of tasks and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Self

from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.undo import UndoDict
from .._base.value import record
from ..api import Node, Pod, PodCondition
from ..cluster import NotFound
from ..cycle import Scheduler
from ..errors import ClusterError
from ..fork import Diff, Fork, Trial
from ..fork.cluster import ForkCluster
from ..fork.copying import parts_of_scheduler
from ..fork.evicting import made_again
from ..fork.placements import Placement
from .translation import in_words_of_tasks, pod_key
from .values import Limits, Requirements, T, W

_POD: Final = Pod.KIND


@record(frozen=True)
class Assignment(Generic[T, W]):
    """A task and the worker that it gets in a fork. True if there is one."""

    task: T
    worker: W | None
    why: str = ""
    """Why no worker can take the task; empty if one can."""

    def __bool__(self) -> bool:
        """Return whether there is a worker."""
        return self.worker is not None


@record(eq=False)
class EmbeddedForkCluster(ForkCluster):
    """The cluster of such a fork: a task that has to stop waits again at once."""

    can_evict: bool = field(default=True, kw_only=True)

    @override
    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """See :class:`ClusterPort`."""
        if not self.can_evict:
            raise ClusterError(f"{pod.name} cannot be stopped; give on_evict, or disable preemption")
        current: Pod | None = self.get(_POD, pod.key)
        if current is None or pod.uid not in ("", current.uid):
            raise NotFound(f"{pod.name} is not there")
        self.delete(current)
        self.create(made_again(current))


class _TaskFork(Fork):
    """A fork in which every task that loses its worker waits again."""

    @override
    def _is_made_again(self, pod: Pod) -> bool:
        return True


@record(frozen=True, eq=False)
class Translation(Generic[T, W]):
    """The functions that translate tasks and workers."""

    to_pod: Callable[[T, Requirements | None], Pod]
    to_node: Callable[[W, Limits | None], Node]


class EmbeddingFork(Generic[T, W]):
    """A copy of an embedding to try things out in, made by :meth:`.Embedding.fork`. For one thread at a time.

    ``inner`` is the fork in which tasks are pods and workers are nodes. Tasks that are held back until a
    retry are left out. No callback is called.
    """

    def __init__(
        self, scheduler: Scheduler, tasks: dict[str, T], workers: dict[str, W], translation: Translation[T, W]
    ) -> None:
        can_evict = getattr(scheduler.core.cluster, "can_evict", True)
        parts = parts_of_scheduler(
            scheduler, cluster_of=lambda **keywords: EmbeddedForkCluster(can_evict=can_evict, **keywords)
        )
        self.inner: Fork = _TaskFork(parts)
        undo = self.inner.cluster.undo
        self._tasks: UndoDict[str, T] = UndoDict(undo, tasks)
        self._workers: UndoDict[str, W] = UndoDict(undo, workers)
        self._translation = translation

    # ---- changes -----------------------------------------------------------------------------------------

    def add_worker(self, worker: W, limits: Limits | None = None) -> None:
        """Add a worker, or replace the one of its key. Raises :class:`InputError`."""
        node = self._translation.to_node(worker, limits)
        self._workers[node.name] = worker
        self.inner.add(node)

    def remove_worker(self, worker: W | str) -> tuple[T, ...]:
        """Remove a worker; return its tasks, which wait again. Raises :class:`NotFound`."""
        key = _key_of(worker)
        waiting = self.inner.remove_node(key)
        self._workers.pop(key, None)
        return tuple([self._tasks[pod.name] for pod in waiting])

    def submit(self, task: T, needs: Requirements | None = None) -> None:
        """Add a task that waits. Raises :class:`Conflict` if its key is taken, :class:`InputError`."""
        pod = self._translation.to_pod(task, needs)
        self.inner.cluster.create(pod)
        self._tasks[pod.name] = task
        self.inner.scheduler.sync()

    def finish(self, task: T | str) -> None:
        """Remove a task, and free its room. Raises :class:`NotFound`."""
        key = _key_of(task)
        self.inner.remove(_POD, pod_key(key))
        self._tasks.pop(key, None)

    # ---- questions ---------------------------------------------------------------------------------------

    def would_fit(self, task: T, needs: Requirements | None = None) -> Assignment[T, W]:
        """Return which worker *task* would get now, or why none. Changes nothing; preempts nothing."""
        fit = self.inner.would_fit(self._translation.to_pod(task, needs))
        worker = None if fit.node_name is None else self._workers[fit.node_name]
        return Assignment(task, worker, in_words_of_tasks(fit.message))

    def schedule(self, tasks: Iterable[T | str] | None = None) -> list[Assignment[T, W]]:
        """Place tasks, and return what each one gets: *tasks*, which are submitted if they are not there.

        A task that is there may be given by its key. ``None``: all that wait. Raises :class:`NotFound` for a
        key that no task has.
        """
        if tasks is None:
            return [self._assignment(each) for each in self.inner.schedule()]
        pods: list[Pod] = []
        for task in tasks:
            if self._pod_of(task) is None:
                if isinstance(task, str):
                    raise NotFound(f"task {task} is not there; submit it first")
                self.submit(task)
            pod = self._pod_of(task)
            assert pod is not None
            pods.append(pod)
        return [self._assignment(each) for each in self.inner.schedule(pods)]

    def _assignment(self, placement: Placement) -> Assignment[T, W]:
        task, name = self._tasks[placement.pod.name], placement.node_name
        worker = None if name is None else self._workers[name]
        return Assignment(task, worker, in_words_of_tasks(placement.message))

    def worker_of(self, task: T | str) -> W | None:
        """Return where a task is placed; ``None`` if it waits, or is not there."""
        pod = self._pod_of(task)
        return None if pod is None or not pod.node_name else self._workers.get(pod.node_name)

    def _pod_of(self, task: T | str) -> Pod | None:
        pod: Pod | None = self.inner.cluster.get(_POD, pod_key(_key_of(task)))
        return pod

    def trial(self) -> Trial:
        """Return a trial: a ``with`` block at whose end everything is as it was. Trials may be nested."""
        return self.inner.trial()

    def diff(self) -> Diff:
        """Return what is not as it was when the fork was made, and which tasks wait and why; as pods."""
        return self.inner.diff()

    def close(self) -> None:
        """Close the plugins. A ``with`` block does it at its end."""
        self.inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return brief_of(self, tasks=len(self._tasks), workers=len(self._workers))


def _key_of(thing: Any) -> str:
    return thing if isinstance(thing, str) else str(thing.key)
