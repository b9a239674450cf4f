"""Options of an embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic

from .._base.options import Option, completed
from .._base.validators import one_of, optional_call
from ..config import ConfigSource
from ..cycle import Clock, SharedOptions
from ..cycle.options import CLOCK, SHARED
from .amounts import Amount
from .retry import Retry
from .values import Limits, PlacementFailure, Requirements, T, W


class EmbeddingOptions(SharedOptions, Generic[T, W], total=False):
    """Options of an :class:`Embedding`.

    ``seed`` is 0 unless it is given: equal calls lead to equal placements; ``None`` breaks ties at random.
    Observers see tasks as pods and workers as nodes, named by their keys.
    """

    on_place: Callable[[T, W], None] | None
    """``on_place(task, worker)``: start the task there; raise :class:`NotStarted` if that fails.

    Any other error of this, ``on_unplaced`` or ``on_evict`` is a fault, reported with the key of the task,
    which stays as it was decided: placed, waiting, or to be stopped.
    """
    on_unplaced: Callable[[T, PlacementFailure], None] | None
    """``on_unplaced(task, why)``: no worker can take the task now. Called again when the reason changes."""
    on_evict: Callable[[T, W], None] | None
    """``on_evict(task, worker)``: stop the task to make room for one of higher priority, then call
    :meth:`Embedding.fail` (it waits again, at once) or :meth:`Embedding.finish`. ``None``: no evictions.
    """
    needs: Callable[[T], Requirements] | None
    """What a task needs if :meth:`Embedding.submit` is called without requirements.

    An error leaves that call, and the task is not added.
    """
    limits: Callable[[W], Limits] | None
    """What a worker allows if :meth:`Embedding.add_worker` is called without limits.

    An error leaves that call, which changes nothing.
    """
    retry: Retry | None
    """``retry(failures)``: seconds until a failed task is tried again, finite and not below 0; ``None``:
    :class:`Backoff`. If it raises an error or returns anything else, that is a fault, reported with the key
    of the task, and the task waits as :class:`Backoff` says.
    """
    config: ConfigSource
    """A KubeSchedulerConfiguration. ``None``: :func:`configuration` for the resources of the first workers,
    with all of ``plugins`` enabled.
    """
    groups: bool
    """Whether :meth:`Embedding.submit_group` may be called: the scheduler then counts the members of groups.
    A ``config`` of your own must enable the plugins of groups, see :func:`configuration`.
    """
    steps: Mapping[str, Amount] | None
    """Resource → smallest step in which it is counted, see :class:`Amounts`."""
    clock: Clock | None
    """As for :class:`Scheduler`; it must not go back, or retries wait for the former time."""
    wake_up: Callable[[], None] | None
    """Called, in any thread, when there is something to do before the deadline that ``step`` returned. Its
    first error is a fault.
    """


_OF_TASK_AND_WORKER: Final = optional_call("give a function of a task and a worker")
_OPTIONS: Final[Mapping[str, Option]] = {
    "on_place": Option(None, _OF_TASK_AND_WORKER),
    "on_unplaced": Option(None, optional_call("give a function of a task and the reason")),
    "on_evict": Option(None, _OF_TASK_AND_WORKER),
    "needs": Option(None, optional_call("give a function of a task")),
    "limits": Option(None, optional_call("give a function of a worker")),
    "retry": Option(None, optional_call("give a function of the number of failures, such as Backoff()")),
    "config": Option(),
    "groups": Option(False, one_of(True, False)),
    "steps": Option(),
    "clock": Option(None, CLOCK),
    "wake_up": Option(None, optional_call("give a function without arguments")),
    **SHARED,
    "seed": Option(0, SHARED["seed"].validator),
}


def embedding_options(given: EmbeddingOptions[T, W]) -> EmbeddingOptions[T, W]:
    """Return *given* options, checked, with defaults for the others."""
    return completed(_OPTIONS, "Embedding", given)


def options_of_scheduler(options: EmbeddingOptions[Any, Any]) -> SharedOptions:
    """Return those of *options* that are the scheduler's."""
    shared: Any = {name: options[name] for name in SHARED}  # type: ignore[literal-required]  # names of options
    found: SharedOptions = shared
    return found
