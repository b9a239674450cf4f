"""What may be set of an embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypedDict

from attrs import field

from .._base.validators import one_of, optional_call
from .._base.value import record
from ..config import ConfigSource
from ..cycle import Clock, SchedulerObserver
from ..framework import PluginsToPass
from .amounts import Amount
from .retry import Retry
from .values import Limits, PlacementFailure, Requirements, T, W

_OF_TASK_AND_WORKER: Final = optional_call("give a function of a task and a worker")


@record(frozen=True, kw_only=True)
class EmbeddingOptions(Generic[T, W]):
    """Options of an :class:`Embedding`, which takes each of them as a keyword argument too."""

    on_place: Callable[[T, W], None] | None = field(default=None, validator=_OF_TASK_AND_WORKER)
    """``on_place(task, worker)``: start the task there; raise :class:`NotStarted` if that fails.

    Any other error of this, ``on_unplaced`` or ``on_evict`` is a fault, reported with the key of the task,
    which stays as it was decided: placed, waiting, or to be stopped.
    """
    on_unplaced: Callable[[T, PlacementFailure], None] | None = field(
        default=None, validator=optional_call("give a function of a task and the reason")
    )
    """``on_unplaced(task, why)``: no worker can take the task now. Called again when the reason changes."""
    on_evict: Callable[[T, W], None] | None = field(default=None, validator=_OF_TASK_AND_WORKER)
    """``on_evict(task, worker)``: stop the task to make room for one of higher priority, then call
    :meth:`Embedding.fail` (it waits again, at once) or :meth:`Embedding.finish`. ``None``: no evictions.
    """
    needs: Callable[[T], Requirements] | None = field(
        default=None, validator=optional_call("give a function of a task")
    )
    """What a task needs if :meth:`Embedding.submit` is called without requirements.

    An error leaves that call, and the task is not added.
    """
    limits: Callable[[W], Limits] | None = field(
        default=None, validator=optional_call("give a function of a worker")
    )
    """What a worker allows if :meth:`Embedding.add_worker` is called without limits.

    An error leaves that call, which changes nothing.
    """
    retry: Retry | None = field(
        default=None, validator=optional_call("give a function of the number of failures, such as Backoff()")
    )
    """``retry(failures)``: seconds until a failed task is tried again, finite and not below 0; ``None``:
    :class:`Backoff`. If it raises an error or returns anything else, that is a fault, reported with the key
    of the task, and the task waits as :class:`Backoff` says.
    """
    config: ConfigSource = None
    """A KubeSchedulerConfiguration. ``None``: :func:`configuration` for the resources of the first workers,
    with all of ``plugins`` enabled.
    """
    groups: bool = field(default=False, validator=one_of(True, False))
    """Whether :meth:`Embedding.submit_group` may be called: the scheduler then counts the members of groups.
    A ``config`` of your own must enable the plugins of groups, see :func:`configuration`.
    """
    plugins: PluginsToPass | None = None
    """Further plugins, as for :class:`Scheduler`."""
    steps: Mapping[str, Amount] | None = None
    """Resource → smallest step in which it is counted, see :class:`Amounts`."""
    clock: Clock | None = field(
        default=None, validator=optional_call("give a function that returns seconds, such as VirtualClock()")
    )
    """As for :class:`Scheduler`, like the rest; it must not go back, or retries wait for the former time."""
    seed: int | None = 0
    """Breaks ties; ``None``: at random. With a number, equal calls lead to equal placements."""
    verify: float = 0.0
    observers: Iterable[SchedulerObserver] = ()
    """Pods in what they get are named by the keys of tasks, nodes by those of workers."""
    wake_up: Callable[[], None] | None = None
    """Called, in any thread, when there is something to do before the deadline that ``step`` returned. Its
    first error is a fault.
    """


class EmbeddingKeywords(TypedDict, Generic[T, W], total=False):
    """The fields of :class:`EmbeddingOptions` as type checkers know keyword arguments."""

    on_place: Callable[[T, W], None] | None
    on_unplaced: Callable[[T, PlacementFailure], None] | None
    on_evict: Callable[[T, W], None] | None
    needs: Callable[[T], Requirements] | None
    limits: Callable[[W], Limits] | None
    retry: Retry | None
    config: ConfigSource
    groups: bool
    plugins: PluginsToPass | None
    steps: Mapping[str, Amount] | None
    clock: Clock | None
    seed: int | None
    verify: float
    observers: Iterable[SchedulerObserver]
    wake_up: Callable[[], None] | None
