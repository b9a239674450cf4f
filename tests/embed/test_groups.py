"""Tasks that start together or not at all."""

from __future__ import annotations

import pytest

from schedframe import Conflict, InputError, VirtualClock
from schedframe.embed import Embedding, Group, Requirements, Task, Worker

Placements = list[tuple[str, str]]


def embedding_of(racks: dict[str, int], cpus: int = 2, **options: object) -> tuple[Embedding, Placements]:
    """Workers named by rack and number; what is placed is listed."""
    placed: Placements = []
    workers = [
        Worker(f"{rack}{i}", {"cpu": cpus}, {"rack": rack})
        for rack, count in racks.items()
        for i in range(count)
    ]
    made = Embedding(
        workers,
        clock=VirtualClock(),
        groups=True,
        on_place=lambda task, worker: placed.append((task.key, worker.key)),
        **options,  # type: ignore[arg-type]
    )
    return made, placed


def tasks(prefix: str, count: int, cpu: int = 2) -> tuple[Task, ...]:
    return tuple(Task(f"{prefix}{i}", {"cpu": cpu}) for i in range(count))


def test_a_group_starts_together() -> None:
    embedding, placed = embedding_of({"a": 2})
    embedding.submit_group(Group(tasks("t", 2)))
    embedding.run_until_idle()
    assert sorted(placed) == [("t0", "a0"), ("t1", "a1")] or sorted(placed) == [("t0", "a1"), ("t1", "a0")]
    embedding.check_invariants()


def test_a_group_that_does_not_fit_starts_no_task() -> None:
    embedding, placed = embedding_of({"a": 2})
    embedding.submit_group(Group(tasks("t", 3)))
    embedding.run_until_idle()
    assert placed == []
    assert all(each.why is not None for each in embedding.waiting())
    embedding.add_worker(Worker("a2", {"cpu": 2}, {"rack": "a"}))
    embedding.run_until_idle()
    assert len(placed) == 3


def test_at_least_some_of_a_group_start() -> None:
    embedding, placed = embedding_of({"a": 2})
    embedding.submit_group(Group(tasks("t", 3), at_least=2))
    embedding.run_until_idle()
    assert len(placed) == 2
    assert len(embedding.waiting()) == 1


def test_a_group_stays_within_one_rack() -> None:
    embedding, placed = embedding_of({"a": 2, "b": 3, "c": 1})
    embedding.submit_group(Group(tasks("t", 3), within="rack"))
    embedding.run_until_idle()
    assert {worker[0] for _, worker in placed} == {"b"}


def test_a_group_ends_with_its_last_task() -> None:
    embedding, _ = embedding_of({"a": 2})
    embedding.submit_group(Group(tasks("t", 2), key="job"))
    embedding.run_until_idle()
    with pytest.raises(Conflict):
        embedding.submit_group(Group(tasks("t", 2)))
    embedding.finish("t0")
    embedding.check_invariants()
    embedding.finish("t1")
    embedding.check_invariants()
    embedding.submit_group(Group(tasks("t", 2), key="job"))
    embedding.run_until_idle()
    assert len(embedding) == 2


def test_a_task_that_failed_comes_back_to_its_group() -> None:
    embedding, placed = embedding_of({"a": 2, "b": 2})
    embedding.submit_group(Group(tasks("t", 2), within="rack"))
    embedding.run_until_idle()
    rack = placed[0][1][0]
    embedding.fail("t0", retry_after=0.0)
    embedding.run_until_idle()
    assert len(placed) == 3
    assert placed[-1][1][0] == rack


def test_needs_hold_for_each_task() -> None:
    embedding, placed = embedding_of({"a": 2, "b": 2})
    embedding.submit_group(Group(tasks("t", 2)), Requirements(on={"rack": "b"}))
    embedding.run_until_idle()
    assert {worker[0] for _, worker in placed} == {"b"}


def test_groups_are_refused_where_they_are_off() -> None:
    embedding: Embedding = Embedding([Worker("w", {"cpu": 1})])
    with pytest.raises(InputError, match="groups=True"):
        embedding.submit_group(Group(tasks("t", 1)))


@pytest.mark.parametrize("wrong", [{"tasks": ()}, {"tasks": tasks("t", 2), "at_least": 3}])
def test_groups_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Group(**wrong)  # type: ignore[arg-type]
