"""Tasks come, are placed, fail, end; workers come and go."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define, field, frozen

from schedframe import Conflict, InputError, NodeInfo, NotFound, Pod, Status, VirtualClock, hookimpl
from schedframe.cycle import observing
from schedframe.embed import (
    Affinity,
    AntiAffinity,
    Embedding,
    Limits,
    NotStarted,
    PlacementFailure,
    Requirements,
    Spread,
    Task,
    TaskState,
    Worker,
    configuration,
)


@define(eq=False)
class Orchestrator:
    """Records the callbacks."""

    clock: VirtualClock = field(factory=VirtualClock)
    calls: list[tuple[str, ...]] = field(factory=list)

    def on_place(self, task: Task, worker: Worker) -> None:
        self.calls.append((task.key, worker.key))

    def on_unplaced(self, task: Task, why: PlacementFailure) -> None:
        self.calls.append((task.key, "unplaced", why.message))

    def on_evict(self, task: Task, worker: Worker) -> None:
        self.calls.append((task.key, "stop", worker.key))

    def embedding(self, *workers: Worker, evicts: bool = False, **options: Any) -> Embedding[Task, Worker]:
        defaults: dict[str, Any] = {"on_place": self.on_place, "on_unplaced": self.on_unplaced}
        options = defaults | {"clock": self.clock} | options
        return Embedding(workers, on_evict=self.on_evict if evicts else None, **options)

    def run(self, embedding: Embedding[Task, Worker]) -> list[tuple[str, ...]]:
        """Run until idle; return the callbacks since the last time."""
        embedding.run_until_idle()
        embedding.check_invariants()
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def orchestrator() -> Orchestrator:
    return Orchestrator()


def gpus(key: str, amount: float, **labels: str) -> Worker:
    return Worker(key, {"gpu": amount}, labels)


def test_tasks_get_the_room_that_there_is(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1))
    for key in ("t1", "t2", "t3"):
        embedding.submit(Task(key, {"gpu": 0.4}))
    calls = orchestrator.run(embedding)
    reason = "0 of 1 workers can take it: 1 Insufficient gpu"
    assert calls == [("t1", "a"), ("t2", "a"), ("t3", "unplaced", reason)]
    (waiting,) = embedding.waiting()
    assert (waiting.task.key, waiting.state, waiting.attempts) == ("t3", "waiting", 1)
    assert waiting.why == PlacementFailure(reason, {"Insufficient gpu": 1})
    assert embedding.finish("t1")
    assert orchestrator.run(embedding) == [("t3", "a")]
    assert embedding.worker_of("t3") == gpus("a", 1)
    assert [task.key for task in embedding.tasks_on("a")] == ["t2", "t3"]


@frozen
class Job:
    """A class of the orchestrator, without any reference to schedframe."""

    key: int
    memory: int


@frozen
class Wrapped:
    job: Job

    @property
    def key(self) -> str:
        return f"job {self.job.key}"

    @property
    def requests(self) -> dict[str, int]:
        return {"memory": self.job.memory}

    @property
    def labels(self) -> dict[str, str]:
        return {}


def test_any_object_with_the_three_attributes_is_accepted() -> None:
    embedding: Embedding[Wrapped, Worker] = Embedding(
        [Worker("w", {"memory": "1Gi"})], [Wrapped(Job(1, 2**30)), Wrapped(Job(2, 1))]
    )
    embedding.run_until_idle()
    assert [task.job.key for task in embedding.tasks_on("w")] == [1]
    assert [waiting.task.job.key for waiting in embedding.waiting()] == [2]


def test_failures_are_tried_again_later_and_later(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1))
    embedding.submit(Task("t", {"gpu": 1}))
    assert not embedding.fail("t")  # nothing runs yet
    for pause in (1, 2, 4):
        assert orchestrator.run(embedding) == [("t", "a")]
        assert embedding.fail("t")
        assert embedding.state_of("t") is TaskState.HELD
        assert embedding.step() == orchestrator.clock() + pause
        (waiting,) = embedding.waiting()
        assert waiting.wakes_at == orchestrator.clock() + pause
        orchestrator.clock.advance(pause)
    assert embedding.failures_of("t") == 3
    assert orchestrator.run(embedding) == [("t", "a")]
    assert embedding.fail("t", retry_after=100)
    assert embedding.finish("t")  # given up
    orchestrator.clock.advance(1000)
    assert orchestrator.run(embedding) == []
    assert len(embedding) == 0


def test_a_late_report_changes_nothing(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1))
    embedding.submit(Task("t", {"gpu": 1}))
    assert orchestrator.run(embedding) == [("t", "a")]
    embedding.add_worker(gpus("b", 1))
    assert [task.key for task in embedding.remove_worker("a")] == ["t"]
    assert orchestrator.run(embedding) == [("t", "b")]
    assert not embedding.fail("t", on="a")
    assert not embedding.finish("t", on="a")
    assert embedding.finish("t", on="b")
    assert not embedding.finish("t")


def test_a_task_that_could_not_be_started_is_tried_elsewhere(orchestrator: Orchestrator) -> None:
    broken = True

    def on_place(task: Task, worker: Worker) -> None:
        if broken:
            raise NotStarted("connection refused")
        orchestrator.on_place(task, worker)

    embedding = orchestrator.embedding(gpus("a", 1), on_place=on_place)
    embedding.submit(Task("t", {"gpu": 1}))
    assert orchestrator.run(embedding) == []
    (waiting,) = embedding.waiting()
    assert (waiting.state, str(waiting.why), waiting.failures) == ("held", "connection refused", 1)
    broken = False
    orchestrator.clock.advance(1)
    assert orchestrator.run(embedding) == [("t", "a")]


def test_callbacks_may_call_everything(orchestrator: Orchestrator) -> None:
    def on_place(task: Task, worker: Worker) -> None:
        orchestrator.on_place(task, worker)
        embedding.finish(task)
        number = int(task.key)
        if number < 5:
            embedding.submit(Task(str(number + 1), {"gpu": 1}))
        if number == 3:
            embedding.run_until_idle()  # the callbacks that it causes run after this one

    embedding = orchestrator.embedding(gpus("a", 1), on_place=on_place)
    embedding.submit(Task("1", {"gpu": 1}))
    assert orchestrator.run(embedding) == [(str(number), "a") for number in range(1, 6)]
    assert len(embedding) == 0


def test_higher_priority_goes_first_and_evicts(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1), evicts=True)
    embedding.submit(Task("low", {"gpu": 1}))
    embedding.submit(Task("mid", {"gpu": 1}), Requirements(priority=1))
    calls = orchestrator.run(embedding)
    assert calls[0] == ("mid", "a")
    embedding.submit(Task("high", {"gpu": 1}), Requirements(priority=2))
    stop, unplaced = orchestrator.run(embedding)
    assert stop == ("mid", "stop", "a")
    assert unplaced[2].endswith("room is being made on a")
    assert embedding.state_of("mid") is TaskState.STOPPING
    assert embedding.fail("mid")  # it has stopped
    orchestrator.clock.advance(1)
    assert ("high", "a") in orchestrator.run(embedding)
    assert (embedding.state_of("mid"), embedding.failures_of("mid")) == (TaskState.WAITING, 0)


def test_without_on_evict_no_task_is_evicted(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1))
    embedding.submit(Task("low", {"gpu": 1}))
    assert orchestrator.run(embedding) == [("low", "a")]
    embedding.submit(Task("high", {"gpu": 1}), Requirements(priority=2))
    ((key, *_),) = orchestrator.run(embedding)
    assert key == "high"
    assert embedding.state_of("low") is TaskState.PLACED


def test_labels_of_workers(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(
        gpus("a", 9, zone="x"), gpus("b", 9, zone="y", disk="ssd"), gpus("c", 9, zone="z")
    )
    embedding.submit(Task("on"), Requirements(on={"zone": ("y", "q")}))
    embedding.submit(Task("not"), Requirements(not_on={"zone": ("x", "y")}))
    embedding.submit(Task("named"), Requirements(workers=["a"]))
    embedding.submit(Task("prefers"), Requirements(prefers={"disk": "ssd"}))
    embedding.submit(Task("never"), Requirements(workers=["b"], not_on={"disk": "ssd"}))
    calls = orchestrator.run(embedding)
    assert calls[:4] == [("on", "b"), ("not", "c"), ("named", "a"), ("prefers", "b")]
    assert calls[4][:2] == ("never", "unplaced")


def test_tasks_among_themselves(orchestrator: Orchestrator) -> None:
    workers = [gpus(f"{zone}{i}", 9, zone=zone) for zone in "xyz" for i in (1, 2)]
    embedding = orchestrator.embedding(*workers)
    alone, web = {"app": "alone"}, {"app": "web"}
    for i in range(3):
        embedding.submit(Task(f"alone {i}", {}, alone), Requirements(apart=[AntiAffinity(alone, by="zone")]))
    for i in range(4):
        embedding.submit(Task(f"web {i}", {}, web), Requirements(spread=[Spread("zone", web)]))
    embedding.submit(Task("beside"), Requirements(together=[Affinity({"app": "alone"})]))
    embedding.submit(Task("too many", {}, alone), Requirements(apart=[AntiAffinity(alone, by="zone")]))
    *calls, (key, what, _) = orchestrator.run(embedding)
    assert (key, what) == ("too many", "unplaced")
    place: dict[str, str] = dict(calls)  # type: ignore[arg-type]  # pairs, but for the last
    assert {place[f"alone {i}"][0] for i in range(3)} == set("xyz")
    assert {place[f"web {i}"][0] for i in range(3)} == set("xyz")
    assert place["beside"] in {place[f"alone {i}"] for i in range(3)}


def test_limits_of_workers(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(limits=lambda worker: Limits(max_tasks=1))
    embedding.add_worker(gpus("one", 9))
    embedding.add_worker(gpus("closed", 9), Limits(closed=True))
    embedding.add_worker(gpus("kept", 9), Limits(reserved={"team"}))
    for key in ("t1", "t2"):
        embedding.submit(Task(key))
    embedding.submit(Task("team"), Requirements(accepts={"team"}, workers=["kept"]))
    calls = orchestrator.run(embedding)
    assert calls[0] == ("t1", "one")
    assert calls[1][:2] == ("t2", "unplaced")
    assert calls[2] == ("team", "kept")
    embedding.update_worker(gpus("closed", 9), Limits())
    orchestrator.clock.advance(1)
    assert orchestrator.run(embedding) == [("t2", "closed")]


def test_a_worker_that_shrinks_keeps_its_tasks(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 2))
    embedding.submit(Task("t", {"gpu": 2}))
    assert orchestrator.run(embedding) == [("t", "a")]
    embedding.update_worker(gpus("a", 1))
    assert orchestrator.run(embedding) == []
    assert embedding.worker_of("t") == gpus("a", 1)
    embedding.finish("t")
    embedding.submit(Task("u", {"gpu": 2}))
    ((key, what, _),) = orchestrator.run(embedding)
    assert (key, what) == ("u", "unplaced")


def test_a_worker_removed_after_the_decision(orchestrator: Orchestrator) -> None:
    """The callback is still due when the worker is removed: the task must not be started on it."""
    embedding = orchestrator.embedding(gpus("a", 1))
    embedding.submit(Task("t", {"gpu": 1}))
    decision = embedding.scheduler.schedule_one()
    assert decision is not None
    assert decision.node_name == "a"
    assert embedding.remove_worker("a") == ()
    ((key, what, why),) = orchestrator.run(embedding)
    assert (key, what, why) == ("t", "unplaced", "no workers available to schedule tasks")
    embedding.submit(Task("u"))
    embedding.add_worker(gpus("b", 1))
    assert embedding.scheduler.schedule_one() is not None
    assert embedding.finish("u")
    assert orchestrator.run(embedding) == [("t", "b")]


def test_the_first_worker_gets_the_waiting_tasks_at_once(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding()
    for i in range(3):
        embedding.submit(Task(str(i)))
    assert [what for _, what, _ in orchestrator.run(embedding)] == ["unplaced"] * 3
    embedding.add_worker(gpus("a", 1))
    assert orchestrator.run(embedding) == [("0", "a"), ("1", "a"), ("2", "a")]


def test_tasks_and_workers_go_into_sets() -> None:
    assert len({Task("t", {"gpu": 1}), Task("t", {"gpu": 1}), Task("t", {"gpu": 2}), Task("u")}) == 3
    assert len({gpus("a", 1, zone="x"), gpus("a", 1, zone="x")}) == 1


def test_keys_are_unique(orchestrator: Orchestrator) -> None:
    embedding = orchestrator.embedding(gpus("a", 1))
    embedding.submit(Task("t"))
    with pytest.raises(Conflict, match="task t is there already"):
        embedding.submit(Task("t"))
    with pytest.raises(Conflict, match="worker a is there already"):
        embedding.add_worker(gpus("a", 1))
    for call in (embedding.remove_worker, embedding.tasks_on):
        with pytest.raises(NotFound, match="worker b is not there"):
            call("b")
    with pytest.raises(NotFound, match="worker b is not there"):
        embedding.update_worker(gpus("b", 1))
    assert (embedding.worker_of("b"), embedding.state_of("b"), embedding.failures_of("b")) == (None, None, 0)


@define(eq=False)
class Even:
    """Accepts tasks with an even number only."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if pod.labels.get("number") == "bad":
            raise ValueError("no number")
        return Status.unschedulable("the pod is odd") if int(pod.labels["number"]) % 2 else None


def test_plugins_are_enabled_by_name(orchestrator: Orchestrator) -> None:
    faults: list[str] = []
    embedding = orchestrator.embedding(
        gpus("a", 1),
        plugins={"Even": Even},
        observers=[observing(faulted=lambda status, pod: faults.append(status.plugin))],
    )
    for number in ("2", "3", "bad"):
        embedding.submit(Task(number, {}, {"number": number}))
    placed, odd, bad = orchestrator.run(embedding)
    assert placed == ("2", "a")
    assert odd == ("3", "unplaced", "0 of 1 workers can take it: 1 the task is odd")
    assert "no number" in bad[2]
    assert faults == ["Even"]
    whys = {waiting.task.key: waiting.why for waiting in embedding.waiting()}
    assert [key for key, why in whys.items() if why is not None and why.fault] == ["bad"]


def test_profiles(orchestrator: Orchestrator) -> None:
    config = configuration(("gpu",), name="spread")
    config["profiles"] += configuration(("gpu",), strategy="pack", name="pack")["profiles"]
    embedding = orchestrator.embedding(
        gpus("a", 4), gpus("b", 4), config=config, needs=lambda task: Requirements(profile=task.labels["how"])
    )
    for how in ("pack", "pack", "spread", "spread"):
        embedding.submit(Task(f"{how} {len(embedding)}", {"gpu": 1}, {"how": how}))
    calls = orchestrator.run(embedding)
    (first,) = {where for key, where in calls if key.startswith("pack")}
    assert [where for key, where in calls if key.startswith("spread")] == [{"a": "b", "b": "a"}[first]] * 2
    with pytest.raises(InputError, match="there is no profile 'x'; known are: spread, pack"):
        embedding.submit(Task("t"), Requirements(profile="x"))


def test_the_same_calls_lead_to_the_same_places() -> None:
    def run(seed: int) -> list[tuple[str, ...]]:
        orchestrator = Orchestrator()
        embedding = orchestrator.embedding(*(gpus(f"w{i}", 4) for i in range(6)), seed=seed)
        for i in range(30):
            embedding.submit(Task(f"t{i}", {"gpu": 1 + i % 3}))
        orchestrator.run(embedding)
        embedding.remove_worker("w3")
        return orchestrator.calls + orchestrator.run(embedding)

    assert run(1) == run(1)
    assert run(1) != run(2)
