"""Tasks, workers, limits and groups that cannot be used are refused, and leave nothing behind."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from schedframe import hookimpl
from schedframe.cluster import Conflict
from schedframe.embed import Backoff, Embedding, Group, Limits, Task, Worker
from schedframe.errors import InputError


def embedding(**options: Any) -> Embedding[Any, Any]:
    return Embedding([Worker("w", {"cpu": 4, "gpu": 2})], **options)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(np.float64(0.5), "500m"), (np.int64(2), "2"), (np.int8(2), "2"), (np.uint64(2), "2")],
)
def test_amounts_may_be_of_numpy(amount: Any, text: str) -> None:
    """Of NumPy 2, whose numbers write their type, too."""
    with embedding(steps={"gpu": np.float64(0.25)}) as there:
        there.submit(Task("t", {"cpu": amount, "gpu": amount}))
        there.run_until_idle()
        (pod,) = there.scheduler.core.cluster.list("Pod")
        assert str(pod.spec.containers[0].resources.requests["cpu"]) == text
        assert pod.node_name == "w"


@pytest.mark.parametrize(
    "amount",
    [10**5000, Fraction(10**400 + 1, 3), Fraction(1, 10**5000), Decimal("1e300"), 1e300],
    ids=["int", "fraction", "small fraction", "decimal", "float"],
)
def test_amounts_beyond_all_counting_are_refused(amount: Any) -> None:
    """As an overflow of a float, or of the digits that Python writes."""
    with embedding() as there, pytest.raises(InputError, match=r"requests\['cpu'\]: .* is (more than|not a)"):
        there.submit(Task("t", {"cpu": amount}))


@pytest.mark.parametrize("part", ["requests", "labels"])
def test_a_task_needs_mappings(part: str) -> None:
    task = SimpleNamespace(**{"key": "t", "requests": {}, "labels": {}, part: None})
    with embedding() as there:
        with pytest.raises(InputError, match=f"{part}: None is not a mapping; give a dict"):
            there.submit(task)
        assert len(there) == 0


@pytest.mark.parametrize("part", ["capacity", "labels"])
def test_a_worker_needs_mappings(part: str) -> None:
    worker = SimpleNamespace(**{"key": "v", "capacity": {}, "labels": {}, part: [1]})
    with embedding() as there, pytest.raises(InputError, match=rf"{part}: .* is not a mapping; give a dict"):
        there.add_worker(worker)


def test_limits_are_limits() -> None:
    wrong: Any = {"max_tasks": 2}
    with embedding() as there, pytest.raises(InputError, match=r"limits: .* is not what a worker allows"):
        there.add_worker(Worker("v"), wrong)
    with pytest.raises(InputError, match="limits: 5 is not what a worker allows; give Limits"):
        embedding(limits=lambda worker: 5)
    with embedding(limits=lambda worker: Limits(max_tasks=1)) as there:
        there.add_worker(Worker("v"))


def test_a_group_is_a_group_of_different_tasks() -> None:
    wrong: Any = [Task("t")]
    with embedding(groups=True) as there:
        with pytest.raises(InputError, match=r"group: .* is not a group"):
            there.submit_group(wrong)
        with pytest.raises(
            Conflict, match=r"the group has several tasks with the keys \['t'\]; choose others"
        ):
            there.submit_group(Group([Task("t"), Task("u"), Task("t")]))
        assert len(there) == 0
        there.check_invariants()


def test_seconds_that_never_end_are_refused() -> None:
    with embedding() as there:
        there.submit(Task("t", {"cpu": 1}))
        there.run_until_idle()
        with pytest.raises(InputError, match="retry_after: the number of seconds is larger than any float"):
            there.fail("t", retry_after=10**400)
        assert there.fail("t", retry_after=np.float64(3))
    with pytest.raises(InputError, match="initial: "):
        Backoff(-(10**400))


def test_plugins_of_an_embedding_that_cannot_be_made_are_closed() -> None:
    closed = []

    class Closing:
        @hookimpl
        def filter(self) -> None:
            return None

        @hookimpl
        def close(self) -> None:
            closed.append(self)

    with pytest.raises(InputError, match="is below 0"):
        Embedding([Worker("w", {"cpu": 1})], [Task("t", {"cpu": -1})], plugins=[Closing])
    assert len(closed) == 1
