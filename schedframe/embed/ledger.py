"""The tasks and workers of an embedding: the state that several threads share."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic

from attrs import field

from .._base.value import record
from ..api import Node, Pod, PodGroup
from ..cluster import Conflict, InMemoryCluster, NotFound
from ..cycle.runtime.interrupts import Hold
from ..errors import InvariantError
from .translation import NAMESPACE, pod_key
from .values import PlacementFailure, T, TaskState, W


@record(eq=False)
class TaskEntry(Generic[T]):
    """One task."""

    task: T
    key: str
    pod: Pod
    """The task as a pod, without uid and node."""
    uid: str = ""
    """Of the pod in the cluster; empty while the task is held."""
    state: TaskState = TaskState.WAITING
    worker: str = ""
    failures: int = 0
    due: float | None = None
    """When a held task is tried again."""
    why: PlacementFailure | None = None
    group: str = ""
    """Key of its group in the cluster; empty: none."""


@record(frozen=True)
class Placement:
    """The placement of a task at one moment."""

    pod: Pod
    uid: str
    """Of the pod in the cluster; each placement has another one."""
    failures: int
    is_stopping: bool


@record(eq=False)
class WorkerEntry(Generic[W]):
    """One worker and the tasks that are placed on it."""

    worker: W
    tasks: dict[str, None] = field(factory=dict)


@record(eq=False)
class Ledger(Generic[T, W]):
    """Tasks and workers by key, in step with the cluster. Methods may be called from any thread.

    Each task that is not held has exactly one pod in the cluster, and each worker one node.
    """

    cluster: InMemoryCluster
    clock: Callable[[], float]
    tasks: dict[str, TaskEntry[T]] = field(factory=dict)
    workers: dict[str, WorkerEntry[W]] = field(factory=dict)
    _groups: dict[str, int] = field(factory=dict)
    """Key of a group in the cluster → number of its tasks that have not ended."""
    # A heap by due time. An entry whose task has another due time by now is stale and skipped.
    _held: list[tuple[float, int, TaskEntry[T]]] = field(factory=list)
    _sequence: Iterator[int] = field(factory=count)
    _lock: threading.RLock = field(factory=threading.RLock)

    # ---- workers ----

    def add_worker(self, worker: W, node: Node) -> None:
        """Add a worker. Raises :class:`Conflict` if its key is taken."""
        with Hold(), self._lock:
            if node.name in self.workers:
                raise Conflict(f"worker {node.name} is there already; update it, or choose another key")
            self.workers[node.name] = WorkerEntry(worker)
            self.cluster.create(node)

    def update_worker(self, worker: W, node: Node) -> None:
        """Replace a worker by a newer version. Raises :class:`NotFound`."""
        with Hold(), self._lock:
            self._worker(node.name).worker = worker
            self.cluster.update(node)

    def remove_worker(self, key: str) -> tuple[T, ...]:
        """Remove a worker; return its tasks, which wait again in the order in which they were placed.

        Raises :class:`NotFound`.
        """
        with Hold(), self._lock:
            lost = [self.tasks[name] for name in self._worker(key).tasks]
            del self.workers[key]
            self.cluster.delete("Node", key)
            for entry in lost:
                self._withdraw(entry)
                self._enqueue(entry)
            return tuple([entry.task for entry in lost])

    def _worker(self, key: str) -> WorkerEntry[W]:
        if key not in self.workers:
            raise NotFound(f"worker {key} is not there; add it first")
        return self.workers[key]

    # ---- tasks ----

    def submit(self, task: T, pod: Pod) -> None:
        """Add a task. Raises :class:`Conflict` if its key is taken."""
        with Hold(), self._lock:
            if pod.name in self.tasks:
                raise Conflict(f"task {pod.name} is there already; finish it first, or choose another key")
            entry = self.tasks[pod.name] = TaskEntry(task, pod.name, pod)
            self._enqueue(entry)

    def submit_group(self, tasks: tuple[T, ...], group: PodGroup, pods: tuple[Pod, ...]) -> None:
        """Add the tasks of a group, or none of them. Raises :class:`Conflict` if a key is taken."""
        with Hold(), self._lock:
            names = [pod.name for pod in pods]
            taken = [name for name in names if name in self.tasks]
            if taken:
                raise Conflict(f"tasks {taken} are there already; finish them, or choose other keys")
            twice = sorted(name for name, times in Counter(names).items() if times > 1)
            if twice:
                raise Conflict(f"the group has several tasks with the keys {twice}; choose others")
            self.cluster.create(group)
            self._groups[group.key] = len(names)
            for task, pod in zip(tasks, pods, strict=True):
                entry = self.tasks[pod.name] = TaskEntry(task, pod.name, pod, group=group.key)
                self._enqueue(entry)

    def _leave_group(self, entry: TaskEntry[T]) -> None:
        """Remove the group of a task that ended with its last task."""
        if not entry.group:
            return
        self._groups[entry.group] -= 1
        if not self._groups[entry.group]:
            del self._groups[entry.group]
            self.cluster.delete(PodGroup.KIND, entry.group)

    def finish(self, key: str, on: str | None) -> bool:
        """Remove a task; return whether it was there (on that worker)."""
        with Hold(), self._lock:
            entry = self._entry_on(key, on)
            if entry is None:
                return False
            self._withdraw(entry)
            del self.tasks[key]
            self._leave_group(entry)
            return True

    def placement_of(self, key: str, on: str | None) -> Placement | None:
        """Return the present placement of a task; ``None`` if it is not placed (on that worker)."""
        with self._lock:
            entry = self._entry_on(key, on)
            if entry is None or entry.state not in (TaskState.PLACED, TaskState.STOPPING):
                return None
            return Placement(entry.pod, entry.uid, entry.failures, entry.state is TaskState.STOPPING)

    def fail(self, placement: Placement, delay: float) -> bool:
        """Free the room of a placed task and hold it back for *delay* seconds.

        A task that had to stop waits again at once, and has not failed. Return whether the task still had
        that placement; if not, nothing changes.
        """
        with Hold(), self._lock:
            entry = self.tasks.get(placement.pod.name)
            if entry is None or entry.uid != placement.uid:
                return False
            stopped = entry.state is TaskState.STOPPING
            self._withdraw(entry)
            if stopped:
                self._enqueue(entry)
                return True
            entry.failures += 1
            entry.state = TaskState.HELD
            entry.due = self.clock() + delay
            heappush(self._held, (entry.due, next(self._sequence), entry))
            return True

    def _entry_on(self, key: str, on: str | None) -> TaskEntry[T] | None:
        """Return the task, ``None`` if it is not there or placed elsewhere; ``on=None``: wherever it is."""
        entry = self.tasks.get(key)
        return entry if entry is not None and on in (None, entry.worker) else None

    def _enqueue(self, entry: TaskEntry[T]) -> None:
        """Give the task to the scheduler."""
        entry.state, entry.due = TaskState.WAITING, None
        entry.uid = self.cluster.create(entry.pod).uid

    def _withdraw(self, entry: TaskEntry[T]) -> None:
        """Take the task from its worker, from the queue, or from the held tasks."""
        if entry.uid:
            self.cluster.delete("Pod", entry.pod.key)
        worker = self.workers.get(entry.worker)
        if worker is not None:
            del worker.tasks[entry.key]
        entry.uid = entry.worker = ""
        entry.due = None

    # ---- decisions of the scheduler, recorded by the thread that drives it ----

    def placed(self, uid: str, key: str, worker: str) -> tuple[T, W] | None:
        """Record that a task was placed; ``None`` if that is out of date already."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid:
                return None
            there = self.workers.get(worker)
            if there is None:
                self._withdraw(entry)
                self._enqueue(entry)
                return None
            entry.state, entry.worker, entry.why = TaskState.PLACED, worker, None
            there.tasks[key] = None
            return entry.task, there.worker

    def evicted(self, uid: str, key: str) -> tuple[T, W] | None:
        """Record that a placed task has to stop; ``None`` if it is no longer placed, or stopping already."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid or entry.state is not TaskState.PLACED:
                return None
            entry.state = TaskState.STOPPING
            return entry.task, self.workers[entry.worker].worker

    def unplaced(self, uid: str, key: str, why: PlacementFailure) -> T | None:
        """Record why no worker can take a task; ``None`` if that is out of date, or known already."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid or entry.why == why:
                return None
            entry.why = why
            return entry.task

    # ---- time ----

    def release_due(self) -> None:
        """Give the held tasks that are due to the scheduler. O(log n) each."""
        held = self._held
        # Without the lock: only the thread that drives takes entries out, and an entry that another thread
        # just put in is seen at the next step. A stale entry comes before those that follow.
        if not held or held[0][0] > (now := self.clock()):
            return
        with self._lock:
            while (due := self.next_due()) is not None and due <= now:
                self._enqueue(heappop(self._held)[2])

    def next_due(self) -> float | None:
        """Return when the first held task is tried again; ``None`` if no task is held."""
        held = self._held
        if not held:
            return None
        with self._lock:
            while held and held[0][2].due != held[0][0]:
                heappop(held)
            return held[0][0] if held else None

    # ---- looking ----

    def entries(self) -> list[TaskEntry[T]]:
        """Return all tasks, in order of submission."""
        with self._lock:
            return [*self.tasks.values()]

    def worker_of(self, key: str) -> W | None:
        """Return the worker of a placed task."""
        with self._lock:
            entry = self.tasks.get(key)
            worker = self.workers.get(entry.worker) if entry is not None else None
            return worker.worker if worker is not None else None

    def tasks_on(self, key: str) -> tuple[T, ...]:
        """Return the tasks of a worker, in the order in which they were placed. Raises :class:`NotFound`."""
        with self._lock:
            return tuple([self.tasks[name].task for name in self._worker(key).tasks])

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless ledger and cluster agree; between steps. O(all)."""
        with self._lock:
            pods = {pod.key: pod for pod in self.cluster.list("Pod")}
            for entry in self.tasks.values():
                self._check(entry, pods.pop(pod_key(entry.key), None))
            _expect(not pods, f"pods without a task: {sorted(pods)}")
            groups = {group.key for group in self.cluster.list(PodGroup.KIND)}
            _expect(groups == self._groups.keys(), f"groups {sorted(groups)} for {sorted(self._groups)}")
            names = {node.name for node in self.cluster.list("Node")}
            _expect(names == set(self.workers), f"nodes {sorted(names)} for workers {sorted(self.workers)}")
            given = {(name, key) for key, entry in self.workers.items() for name in entry.tasks}
            placed = {(entry.key, entry.worker) for entry in self.tasks.values() if entry.worker}
            _expect(given == placed, f"workers have {sorted(given)}, tasks say {sorted(placed)}")

    def _check(self, entry: TaskEntry[T], pod: Pod | None) -> None:
        about = f"task {entry.key} ({entry.state})"
        if entry.state is TaskState.HELD:
            held = any(one is entry and due == entry.due for due, _, one in self._held)
            _expect(pod is None and not entry.uid, f"{about} is in the cluster")
            _expect(held, f"{about} has no entry in the heap of held tasks")
            return
        _expect(pod is not None and pod.uid == entry.uid, f"{about} is not what is in the cluster")
        assert pod is not None
        _expect(
            pod.namespace == NAMESPACE and pod.node_name == entry.worker, f"{about} is on {pod.node_name!r}"
        )
        _expect((entry.state is TaskState.WAITING) == (not entry.worker), f"{about} has {entry.worker!r}")
        _expect(pod.is_terminating == (entry.state is TaskState.STOPPING), f"{about} is to stop, or is not")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvariantError(otherwise)
