"""Anything that may happen to an embedding, in any order, against a model of what must be true."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from schedframe import Status, VirtualClock
from schedframe.cycle import Tuning, observing
from schedframe.embed import (
    Amount,
    Embedding,
    NotStarted,
    PlacementFailure,
    Requirements,
    Task,
    TaskState,
    Worker,
)
from schedframe.errors import CacheFault, VerificationError

WORKERS = st.sampled_from(["w0", "w1", "w2"])
TASKS = st.sampled_from([f"t{i}" for i in range(8)])
AMOUNTS = st.sampled_from([0, 0.1, 0.3, "500m", 1, 1.2])


def exact(amount: Amount) -> Fraction:
    assert isinstance(amount, int | float | str)
    return Fraction(1, 2) if amount == "500m" else Fraction(str(amount))


class Anything(RuleBasedStateMachine):
    """Every task is in exactly one place, no room is ever given twice, and every task that fits is placed."""

    @initialize(seed=st.integers(0, 3))
    def begin(self, seed: int) -> None:
        self.clock = VirtualClock()
        self.workers: dict[str, Worker] = {}
        self.tasks: dict[str, Task] = {}
        self.running: dict[str, str] = {}
        self.faults: list[Status] = []
        self.refuses = False
        self.embedding: Embedding[Task, Worker] = Embedding(
            on_place=self.on_place,
            on_evict=self.on_evict,
            on_unplaced=self.on_unplaced,
            clock=self.clock,
            seed=seed,
            tuning=Tuning(verify=1.0),
            observers=[observing(faulted=lambda status, pod: self.faults.append(status))],
        )

    @invariant()
    def the_cache_changes_no_decision(self) -> None:
        assert not [each for each in self.faults if isinstance(each.error, CacheFault | VerificationError)]

    def on_place(self, task: Task, worker: Worker) -> None:
        assert task.key not in self.running
        assert self.tasks[task.key] is task
        assert self.workers[worker.key] is worker
        if self.refuses:
            self.refuses = False
            raise NotStarted("not now")
        self.running[task.key] = worker.key
        used = sum(
            exact(self.tasks[key].requests["gpu"]) for key, at in self.running.items() if at == worker.key
        )
        if exact(task.requests["gpu"]):
            assert used <= exact(worker.capacity["gpu"])

    def on_evict(self, task: Task, worker: Worker) -> None:
        assert self.running[task.key] == worker.key

    def on_unplaced(self, task: Task, why: PlacementFailure) -> None:
        assert task.key not in self.running
        assert not why.fault

    @rule(key=TASKS, amount=AMOUNTS, priority=st.integers(0, 2), worker=st.none() | WORKERS)
    def submit(self, key: str, amount: Amount, priority: int, worker: str | None) -> None:
        if key not in self.tasks:
            self.tasks[key] = Task(key, {"gpu": amount})
            needs = Requirements(priority=priority, workers=[worker] if worker else ())
            self.embedding.submit(self.tasks[key], needs)

    @rule(key=TASKS)
    def finish(self, key: str) -> None:
        assert self.embedding.finish(key) == (key in self.tasks)
        self.tasks.pop(key, None)
        self.running.pop(key, None)

    @rule(key=TASKS, after=st.sampled_from([None, 0, 5]))
    def fail(self, key: str, after: float | None) -> None:
        assert self.embedding.fail(key, retry_after=after) == (key in self.running)
        self.running.pop(key, None)

    @rule(key=WORKERS, amount=AMOUNTS)
    def add_or_update(self, key: str, amount: Amount) -> None:
        worker = Worker(key, {"gpu": amount})
        change = self.embedding.update_worker if key in self.workers else self.embedding.add_worker
        self.workers[key] = worker
        change(worker)

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.workers)))
        lost = self.embedding.remove_worker(key)
        del self.workers[key]
        assert {task.key for task in lost} == {name for name, at in self.running.items() if at == key}
        for task in lost:
            del self.running[task.key]

    @rule()
    def refuse_the_next(self) -> None:
        self.refuses = True

    @rule()
    def step(self) -> None:
        self.embedding.step()

    @rule(seconds=st.sampled_from([0, 1, 60, 1000]))
    def run(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.embedding.run_until_idle()

    @invariant()
    def every_task_is_in_one_place(self) -> None:
        self.embedding.check_invariants()
        assert len(self.embedding) == len(self.tasks)
        states = {key: self.embedding.state_of(key) for key in self.tasks}
        placed = {key for key, state in states.items() if state in (TaskState.PLACED, TaskState.STOPPING)}
        assert placed == set(self.running)
        assert {waiting.task.key for waiting in self.embedding.waiting()} == set(self.tasks) - placed
        for key, at in self.running.items():
            assert self.embedding.worker_of(key) is self.workers[at]

    def teardown(self) -> None:
        """With room for all tasks, all tasks run in the end."""
        self.refuses = False
        for key in ("w0", "w1", "w2"):
            change = self.embedding.update_worker if key in self.workers else self.embedding.add_worker
            self.workers[key] = Worker(key, {"gpu": 100})
            change(self.workers[key])
        for _ in range(3):
            for key in [key for key in self.tasks if self.embedding.state_of(key) is TaskState.STOPPING]:
                self.fail(key, None)
            self.run(1000)
        assert set(self.running) == set(self.tasks)
        self.every_task_is_in_one_place()


TestAnything = Anything.TestCase
