"""What is known of each task and worker: the part of an embedding that several threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic

from attrs import define, field, frozen

from ..api import Node, Pod
from ..cluster import Conflict, InMemoryCluster, NotFound
from ..errors import InvariantError
from .translation import NAMESPACE, pod_key
from .values import T, TaskState, W, Why


@define(eq=False)
class Entry(Generic[T]):
    """One task."""

    task: T
    key: str
    pod: Pod
    """What stands for it in the world, without uid and node."""
    uid: str = ""
    """Of the pod in the world; empty while the task is held."""
    state: TaskState = TaskState.WAITING
    worker: str = ""
    failures: int = 0
    due: float | None = None
    why: Why | None = None


@frozen
class Placement:
    """A placement of a task, as it was at one moment."""

    pod: Pod
    uid: str
    """Of the pod in the world: another one for each placement."""
    failures: int
    is_stopping: bool


@define(eq=False)
class WorkerEntry(Generic[W]):
    """One worker and the tasks that it was given."""

    worker: W
    tasks: dict[str, None] = field(factory=dict)


@define(eq=False)
class Ledger(Generic[T, W]):
    """Tasks and workers by key, in step with the world. Methods may be called from any thread."""

    world: InMemoryCluster
    clock: Callable[[], float]
    tasks: dict[str, Entry[T]] = field(factory=dict)
    workers: dict[str, WorkerEntry[W]] = field(factory=dict)
    _held: list[tuple[float, int, Entry[T]]] = field(factory=list)
    """A heap; entries that are due at another time by now are passed over."""
    _number: Iterator[int] = field(factory=count)
    _lock: threading.RLock = field(factory=threading.RLock)

    # ---- workers ----

    def add_worker(self, worker: W, node: Node) -> None:
        """Raises :class:`Conflict` if its key is taken."""
        with self._lock:
            if node.name in self.workers:
                raise Conflict(f"worker {node.name} is there already; update it, or choose another key")
            self.workers[node.name] = WorkerEntry(worker)
            self.world.create(node)

    def update_worker(self, worker: W, node: Node) -> None:
        """Raises :class:`NotFound`."""
        with self._lock:
            self._worker(node.name).worker = worker
            self.world.update(node)

    def remove_worker(self, key: str) -> tuple[T, ...]:
        """Its tasks wait again, in the order in which they came there. Raises :class:`NotFound`."""
        with self._lock:
            lost = [self.tasks[name] for name in self._worker(key).tasks]
            del self.workers[key]
            self.world.delete("Node", key)
            for entry in lost:
                self._leave(entry)
                self._wait(entry)
            return tuple([entry.task for entry in lost])

    def _worker(self, key: str) -> WorkerEntry[W]:
        if key not in self.workers:
            raise NotFound(f"worker {key} is not there; add it first")
        return self.workers[key]

    # ---- tasks ----

    def submit(self, task: T, pod: Pod) -> None:
        """Raises :class:`Conflict` if its key is taken."""
        with self._lock:
            if pod.name in self.tasks:
                raise Conflict(f"task {pod.name} is there already; finish it first, or choose another key")
            entry = self.tasks[pod.name] = Entry(task, pod.name, pod)
            self._wait(entry)

    def finish(self, key: str, on: str | None) -> bool:
        """Forget the task; whether it was (still) there."""
        with self._lock:
            entry = self._concerned(key, on)
            if entry is None:
                return False
            self._leave(entry)
            del self.tasks[key]
            return True

    def placement_of(self, key: str, on: str | None) -> Placement | None:
        """The present placement of a task; ``None`` if it is not placed (on that worker)."""
        with self._lock:
            entry = self._concerned(key, on)
            if entry is None or entry.state not in (TaskState.PLACED, TaskState.STOPPING):
                return None
            return Placement(entry.pod, entry.uid, entry.failures, entry.state is TaskState.STOPPING)

    def fail(self, placement: Placement, delay: float) -> bool:
        """Free the room of a placed task and hold it back for *delay* seconds.

        One that was asked to stop waits again at once, and has not failed. Return whether the task still had
        that placement; if not, nothing changes.
        """
        with self._lock:
            entry = self.tasks.get(placement.pod.name)
            if entry is None or entry.uid != placement.uid:
                return False
            stopped = entry.state is TaskState.STOPPING
            self._leave(entry)
            if stopped:
                self._wait(entry)
                return True
            entry.failures += 1
            entry.state = TaskState.HELD
            entry.due = self.clock() + delay
            heappush(self._held, (entry.due, next(self._number), entry))
            return True

    def _concerned(self, key: str, on: str | None) -> Entry[T] | None:
        entry = self.tasks.get(key)
        return entry if entry is not None and on in (None, entry.worker) else None

    def _wait(self, entry: Entry[T]) -> None:
        """Let the scheduler look for a worker."""
        entry.state, entry.due = TaskState.WAITING, None
        entry.uid = self.world.create(entry.pod).uid

    def _leave(self, entry: Entry[T]) -> None:
        """Take the task from its worker, from the queue, or from those that are held."""
        if entry.uid:
            self.world.delete("Pod", entry.pod.key)
        worker = self.workers.get(entry.worker)
        if worker is not None:
            del worker.tasks[entry.key]
        entry.uid = entry.worker = ""
        entry.due = None

    # ---- what the scheduler decides; called by whoever drives ----

    def placed(self, uid: str, key: str, worker: str) -> tuple[T, W] | None:
        """A task got a worker; ``None`` if that is out of date already."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid:
                return None
            there = self.workers.get(worker)
            if there is None:
                self._leave(entry)
                self._wait(entry)
                return None
            entry.state, entry.worker, entry.why = TaskState.PLACED, worker, None
            there.tasks[key] = None
            return entry.task, there.worker

    def evicted(self, uid: str, key: str) -> tuple[T, W] | None:
        """A placed task has to make room; ``None`` if it did already."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid or entry.state is not TaskState.PLACED:
                return None
            entry.state = TaskState.STOPPING
            return entry.task, self.workers[entry.worker].worker

    def explained(self, uid: str, key: str, why: Why) -> T | None:
        """A task got no worker; ``None`` if that is out of date, or not news."""
        with self._lock:
            entry = self.tasks.get(key)
            if entry is None or entry.uid != uid or entry.why == why:
                return None
            entry.why = why
            return entry.task

    # ---- time ----

    def release_due(self) -> None:
        """Let those wait again whose time has come. O(log n) each."""
        with self._lock:
            now = self.clock()
            while (due := self.next_due()) is not None and due <= now:
                self._wait(heappop(self._held)[2])

    def next_due(self) -> float | None:
        """When the first held task is to be tried again."""
        with self._lock:
            held = self._held
            while held and held[0][2].due != held[0][0]:
                heappop(held)
            return held[0][0] if held else None

    # ---- looking ----

    def entries(self) -> list[Entry[T]]:
        """All tasks, in order of submission."""
        with self._lock:
            return [*self.tasks.values()]

    def worker_of(self, key: str) -> W | None:
        """The worker of a placed task."""
        with self._lock:
            entry = self.tasks.get(key)
            worker = self.workers.get(entry.worker) if entry is not None else None
            return worker.worker if worker is not None else None

    def tasks_on(self, key: str) -> tuple[T, ...]:
        """Tasks of a worker, in the order in which they came. Raises :class:`NotFound`."""
        with self._lock:
            return tuple([self.tasks[name].task for name in self._worker(key).tasks])

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless ledger and world agree. Between steps; O(tasks + workers)."""
        with self._lock:
            pods = {pod.key: pod for pod in self.world.list("Pod")}
            for entry in self.tasks.values():
                self._check(entry, pods.pop(pod_key(entry.key), None))
            _expect(not pods, f"pods of nobody: {sorted(pods)}")
            names = {node.name for node in self.world.list("Node")}
            _expect(names == set(self.workers), f"nodes {sorted(names)} for workers {sorted(self.workers)}")
            given = {(name, key) for key, entry in self.workers.items() for name in entry.tasks}
            placed = {(entry.key, entry.worker) for entry in self.tasks.values() if entry.worker}
            _expect(given == placed, f"workers have {sorted(given)}, tasks say {sorted(placed)}")

    def _check(self, entry: Entry[T], pod: Pod | None) -> None:
        about = f"task {entry.key} ({entry.state})"
        if entry.state is TaskState.HELD:
            held = any(one is entry and due == entry.due for due, _, one in self._held)
            _expect(
                pod is None and not entry.uid and held, f"{about} is in the world, or nobody knows until when"
            )
            return
        _expect(pod is not None and pod.uid == entry.uid, f"{about} is not what is in the world")
        assert pod is not None
        _expect(
            pod.namespace == NAMESPACE and pod.node_name == entry.worker, f"{about} is on {pod.node_name!r}"
        )
        _expect((entry.state is TaskState.WAITING) == (not entry.worker), f"{about} has {entry.worker!r}")
        _expect(pod.is_terminating == (entry.state is TaskState.STOPPING), f"{about} is to stop, or is not")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvariantError(otherwise)
