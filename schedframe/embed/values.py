"""The vocabulary of an embedding: tasks, workers, requirements and limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from attrs import field

from .._base.value import record, value
from ..api import label_key_problem, label_value_problem
from ..errors import ClusterError, InputError
from .amounts import Amount

Values = str | Collection[str]
"""One value of a label, or several of which any one is accepted."""

MAX_PRIORITY = 2**31 - 1


class TaskLike(Protocol):
    """Anything that can be placed: an object of yours with these three attributes."""

    @property
    def key(self) -> str:
        """Unique among the tasks that are there at the same time; any text."""
        ...

    @property
    def requests(self) -> Mapping[str, Amount]:
        """Resource → how much of it the task takes while it is placed."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels that other tasks may refer to, see :class:`Spread`."""
        ...


class WorkerLike(Protocol):
    """Anything that takes tasks: an object of yours with these three attributes."""

    @property
    def key(self) -> str:
        """Unique among the workers; any text."""
        ...

    @property
    def capacity(self) -> Mapping[str, Amount]:
        """Resource → how much of it the tasks on the worker may take together."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels that tasks may refer to, see :class:`Requirements`."""
        ...


T = TypeVar("T", bound=TaskLike)
W = TypeVar("W", bound=WorkerLike)


@value
class Task:
    """A task, for programs without a class of their own for it."""

    key: str
    requests: Mapping[str, Amount] = field(factory=dict, hash=False)
    labels: Mapping[str, str] = field(factory=dict, hash=False)


@value
class Worker:
    """A worker, for programs without a class of their own for it."""

    key: str
    capacity: Mapping[str, Amount] = field(factory=dict, hash=False)
    labels: Mapping[str, str] = field(factory=dict, hash=False)


def _check_labels(owner: object, attribute: Any, labels: Mapping[str, Values]) -> None:
    for key, values in labels.items():
        where = f"{attribute.name}[{key!r}]"
        if problem := label_key_problem(key):
            raise InputError(
                where, f"the label {key!r}: {problem}", "rename it, on the workers and tasks too"
            )
        for each in (values,) if isinstance(values, str) else values:
            if problem := label_value_problem(each):
                raise InputError(where, f"the value {each!r}: {problem}", "change it")
        if not isinstance(values, str) and not values:
            raise InputError(where, "no value is accepted", "name at least one, or leave the label out")


def _check_by(owner: object, attribute: Any, key: str) -> None:
    if key and (problem := label_key_problem(key)):
        raise InputError(attribute.name, f"the label {key!r}: {problem}", "rename it, on the workers too")


@value
class Spread:
    """Spread tasks with the labels ``among`` (all tasks, if empty) over the values of a label of the workers.

    ``by``: that label; empty: over the workers. ``max_skew``: how many more tasks one value may have than
    another. ``required=False`` makes it a preference.
    """

    by: str = field(default="", validator=_check_by)
    among: Mapping[str, str] = field(factory=dict, validator=_check_labels)
    max_skew: int = field(default=1)
    required: bool = True

    @max_skew.validator
    def _positive(self, attribute: object, value: int) -> None:
        if value < 1:
            raise InputError("max_skew", f"{value} is below 1", "1 is as even as possible")


@value
class AntiAffinity:
    """Keep a task away from tasks with the labels ``among``.

    ``by``: not on workers that share the value of this label; empty: not on the same worker.
    ``required=False`` makes it a preference.
    """

    among: Mapping[str, str] = field(validator=_check_labels)
    by: str = field(default="", validator=_check_by)
    required: bool = True


@value
class Affinity:
    """Place a task near tasks with the labels ``among``; one that has these labels itself may be the first.

    ``by``: on a worker with the same value of this label; empty: on the same worker. ``required=False`` makes
    it a preference.
    """

    among: Mapping[str, str] = field(validator=_check_labels)
    by: str = field(default="", validator=_check_by)
    required: bool = True


@value
class Requirements:
    """Requirements and preferences of a task besides its requests. By default none."""

    priority: int = field(default=0)
    """Tasks of higher priority go first, and may evict tasks of lower priority if ``on_evict`` is given."""
    profile: str = ""
    """Name of the profile of the configuration that places the task; the first one if empty."""
    on: Mapping[str, Values] = field(factory=dict, validator=_check_labels)
    """Labels that the worker must have."""
    not_on: Mapping[str, Values] = field(factory=dict, validator=_check_labels)
    """Labels that the worker must not have with these values."""
    prefers: Mapping[str, Values] = field(factory=dict, validator=_check_labels)
    """Preferred labels of the worker."""
    workers: Collection[str] = ()
    """Keys of the only workers that are considered; all if empty."""
    accepts: Collection[str] = ()
    """Reservations (:attr:`Limits.reserved`) that the task tolerates."""
    spread: Collection[Spread] = ()
    apart: Collection[AntiAffinity] = ()
    together: Collection[Affinity] = ()

    @priority.validator
    def _in_range(self, attribute: object, value: int) -> None:
        if not -MAX_PRIORITY <= value <= MAX_PRIORITY:
            raise InputError("priority", f"{value} is out of range", f"stay within ±{MAX_PRIORITY}")


def _as_tuple(tasks: Iterable[T]) -> tuple[T, ...]:
    return tuple(tasks)


@value
class Group(Generic[T]):
    """Tasks that start together: ``at_least`` of them at a time, or none.

    ``within``: a label of the workers; all tasks of the group go to workers that share one value of it. Tasks
    beyond ``at_least`` start as there is room. For :meth:`Embedding.submit_group`.
    """

    tasks: tuple[T, ...] = field(converter=_as_tuple)
    at_least: int | None = field(default=None)
    """``None``: all of ``tasks``."""
    within: str = field(default="", validator=_check_by)
    key: str = ""
    """Unique among the groups that are there at the same time; by default that of the first task."""

    @tasks.validator
    def _not_empty(self, attribute: object, value: tuple[T, ...]) -> None:
        if not value:
            raise InputError("tasks", "a group has no task", "give at least one")

    @at_least.validator
    def _in_reach(self, attribute: object, value: int | None) -> None:
        if value is not None and not 1 <= value <= len(self.tasks):
            raise InputError(
                "at_least", f"{value} is out of range", f"give a number from 1 to {len(self.tasks)}"
            )

    @property
    def name(self) -> str:
        """``key``, or the key of the first task."""
        return self.key or self.tasks[0].key

    @property
    def min_count(self) -> int:
        """The least number of tasks that start together."""
        return len(self.tasks) if self.at_least is None else self.at_least


@value
class Limits:
    """Limits of a worker besides its capacity. By default none."""

    max_tasks: int | None = field(default=None)
    """How many tasks it takes at a time; ``None``: any number."""
    closed: bool = False
    """Whether it takes no new tasks; its present tasks stay."""
    reserved: Collection[str] = ()
    """Only tasks that accept all of these marks may go there."""

    @max_tasks.validator
    def _not_negative(self, attribute: object, value: int | None) -> None:
        if value is not None and value < 0:
            raise InputError("max_tasks", f"{value} is below 0", "give 0 or more, or None for any number")


class TaskState(StrEnum):
    """Place of a task."""

    WAITING = "waiting"
    """It has no worker yet."""
    HELD = "held"
    """It failed and waits until it is due to be tried again."""
    PLACED = "placed"
    """It has a worker."""
    STOPPING = "stopping"
    """It has to make room: stop it, then call ``fail`` or ``finish``."""


@record(frozen=True)
class PlacementFailure:
    """Reason why a task has no worker."""

    message: str
    """One line for people."""
    reasons: Mapping[str, int] = field(factory=dict)
    """Reason → number of workers it applies to; empty if no worker was considered, or something failed."""
    fault: bool = False
    """Whether something failed, such as a plugin. The task is tried again after a while anyway."""

    def __str__(self) -> str:
        """Return the message."""
        return self.message


@record(frozen=True)
class Waiting(Generic[T]):
    """A task without a worker, as :meth:`Embedding.waiting` returns it."""

    task: T
    state: TaskState
    attempts: int
    """How often the task was tried since it was submitted or failed last."""
    failures: int
    why: PlacementFailure | None
    """``None`` if it was not tried yet."""
    wakes_at: float | None
    """When it is tried again without any event, in seconds of the clock; ``None``: now, or after an event."""


class NotStarted(ClusterError):
    """Raised by ``on_place``: the task could not be started there. It counts as a failure of the task."""
