"""Another configuration for a running scheduler: compiled aside, then exchanged between two cycles.

Attempts under way end with the plugins that they began with. All other pods are tried with the new ones; the
cluster is not read again, but for kinds and profiles that are new. A configuration that is refused, or whose
plugins cannot be made, changes nothing.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager

from attrs import field

from .._base.value import record
from ..api import Pod
from ..api.podspec import forget_shared_specs
from ..config import EffectiveConfig
from ..errors import ConfigError, PluginError
from ..framework import Extender, Framework, Registry
from ..queue import QueueOptions
from .build import (
    build_frameworks,
    close_frameworks,
    extenders_of,
    queue_options,
    samples,
    search_for,
    use_frameworks,
    use_search,
)
from .core import Core, logger
from .findings import log_findings
from .messages import Reload
from .options import SchedulerOptions
from .rejections import KnownRejections, known_rejections
from .runtime.interrupts import Hold
from .runtime.socket_wait import SocketWait
from .search.search import Search
from .watching import Watching

CLOSE_AFTER = 1.0
"""Seconds between two looks whether attempts of former profiles are still under way."""
LOOK_AFTER = 0.05
"""Seconds between two looks whether the thread that drives the scheduler has ended."""


_LIBRARY = __name__.partition(".")[0]
"""The package whose functions are no hooks and no callbacks of users."""


@record(frozen=True)
class Compiled:
    """All that a configuration changes, ready to be used."""

    config: EffectiveConfig
    frameworks: dict[str, Framework]
    extenders: tuple[Extender, ...]
    search: Search
    queue: QueueOptions


def compiled(core: Core, config: EffectiveConfig, registry: Registry, options: SchedulerOptions) -> Compiled:
    """Make the plugins and plans of *config*, and use none of them. Core only.

    Raises :class:`ConfigError` if a plugin fails, or for other feature gates than those of the scheduler.
    """
    if config.feature_gates != core.feature_gates:
        raise ConfigError("feature gates cannot change while a scheduler runs; make a new one")
    frameworks = build_frameworks(core, config, registry, options)
    try:
        extenders = extenders_of(config, options)
        queue = queue_options(core, config, frameworks, extenders)
        for framework in frameworks.values():
            framework.kinds()
    except PluginError as error:
        close_frameworks(core, frameworks.values(), core.frameworks.values())
        raise ConfigError(str(error)) from error
    search = search_for(core.cache, core.objects, core.rng, config, options)
    return Compiled(config, frameworks, extenders, search, queue)


def refuse_within_step(scheduler: object) -> None:
    """Raise :class:`PluginError` if this thread is in a hook or callback that a step of *scheduler* runs.

    The stack tells that: a flag would be set and reset for each pod.
    """
    hook, asking = "", sys._getframe(1)
    frame = asking.f_back
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == asking.f_globals["__name__"] and frame.f_locals.get("self") is scheduler:
            raise PluginError(
                f"reload() was called within {hook or frame.f_code.co_qualname}, while a step of the "
                "scheduler is under way; call it between two steps, or in another thread"
            )
        # Calls of hooks are lambdas that are compiled for their parameters.
        if module.partition(".")[0] != _LIBRARY and frame.f_code.co_name != "<lambda>":
            hook = frame.f_code.co_qualname
        frame = frame.f_back


@record(eq=False)
class Reloader:
    """Exchanges the profiles of a scheduler. Core only."""

    config: EffectiveConfig
    """The one in use."""
    core: Core
    registry: Registry
    options: SchedulerOptions
    watching: Watching
    socket_wait: SocketWait
    take_in: Callable[[], None]
    """Handles the messages of the inbox, then :meth:`exchange`."""
    requests: deque[Reload] = field(factory=deque, init=False)
    """Configurations to go on with at the next cycle."""
    rejections: KnownRejections | None = field(init=False)
    """What lets pods wait together."""
    _former: list[Framework] = field(factory=list)
    """Frameworks of earlier configurations that attempts still use."""

    def __attrs_post_init__(self) -> None:
        self.rejections = known_rejections(self.core, self.options)
        self._connect_extenders()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Call the observers with the reload inside: refused if it raises, else accepted. Any thread."""
        reloaded = self.core.observers.reloaded
        try:
            yield
        except Exception:
            if reloaded is not None:
                reloaded(False)
            raise
        if reloaded is not None:
            reloaded(True)

    def reload(self, config: EffectiveConfig, driving: threading.RLock | None) -> None:
        """Go on with *config*; return when that is so. Any thread.

        *driving* is held by a thread as long as it drives the scheduler; ``None`` if none does so by ``run``.
        """
        request = Reload(config)
        self.core.inbox.put(request)
        if self.core.owner in (0, threading.get_ident()):
            self.take_in()
        while not request.done.done():
            if driving is not None and driving.acquire(blocking=False):
                self.take_in()  # the thread that drove it has ended
                driving.release()
            wait([request.done], LOOK_AFTER)
        request.done.result()

    def exchange(self) -> None:
        """Go on with the configurations that were asked for, one after another, and take in what they bring.

        Between two cycles only.
        """
        while self.requests:
            request = self.requests.popleft()
            try:
                new = compiled(self.core, request.config, self.registry, self.options)
                with Hold():
                    self.use(new)
            except Exception as error:  # noqa: BLE001 - raised in the thread that asked for it
                request.done.set_exception(error)
            else:
                request.done.set_result(None)
            self.core.inbox.drain()

    def use(self, new: Compiled) -> None:
        """Go on with *new*. O(pods · log pods + nodes)."""
        core = self.core
        before = frozenset(core.frameworks)
        kept = {id(extender) for extender in new.extenders}
        for extender in core.extenders:
            if id(extender) not in kept:  # those that were passed stay
                extender.close()
        self._former += core.frameworks.values()
        use_frameworks(core, new.frameworks)
        if (new.extenders or samples(new.config, self.options)) and not core.cache.ordered:
            core.cache.keep_order()
        use_search(core, new.search, new.extenders)
        self._connect_extenders()
        self._forget_answers()
        core.queue.reconfigure(new.queue)
        self.rejections = known_rejections(core, self.options)
        self.watching.handlers.profiles_changed(before)
        if self.watching.begun:
            self.watching.follow()
        self._close_former()
        self.config = new.config
        logger.info("configuration in use, with the profiles %s", ", ".join(core.frameworks))
        for framework in core.frameworks.values():
            log_findings(framework)

    def _connect_extenders(self) -> None:
        remote = [each for each in self.core.extenders if hasattr(each, "send_filter")]
        if not remote:
            return
        from ..extenders import HttpExtender  # needs an extra, which extenders in this process do not

        for extender in remote:
            if isinstance(extender, HttpExtender):
                extender.wait, extender.next_pod = self.socket_wait, self._next_pod

    def _next_pod(self) -> Pod | None:
        """Return the pod that the queue would return now; ``None`` if none is active."""
        info = self.core.queue.parts.active.peek()
        return None if info is None else info.pod

    def _forget_answers(self) -> None:
        """Drop what former plugins and caches keep with the specs of pods."""
        core = self.core
        for pod in core.pending.values():
            pod.spec.forget()
        for state in core.cache.states.values():
            state.pod.spec.forget()
        forget_shared_specs()  # pods that are gone had some of them

    def _close_former(self) -> None:
        """Close the former plugins that no attempt uses any more, the others as soon as that is so."""
        core = self.core
        used = {attempt.framework for attempt in core.binding.values()}
        ended = [each for each in self._former if each not in used]
        self._former = [each for each in self._former if each in used]
        close_frameworks(core, ended, [*core.frameworks.values(), *self._former])
        if self._former:
            core.timers.add(core.now + CLOSE_AFTER, self._close_former)

    def close(self) -> None:
        """Close all former plugins, and let the specs of pods hold on to no plugin."""
        close_frameworks(self.core, self._former, self.core.frameworks.values())
        self._former.clear()
        self._forget_answers()
        self._former = []
