"""``schedframe run``: schedule the pods of a real cluster until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial

from ..._base.value import record
from ...cluster.kubernetes import KubernetesCluster
from ...config import EffectiveConfig, dump_config
from ...cycle import Scheduler, SchedulerObserver
from ...framework import Registry
from ..configurations import write_text
from ..exits import INTERRUPTED
from ..garbage import exempt_present_objects
from .config_watch import ConfigWatch, following
from .configuration import configured, connected
from .finishing import finish_binds
from .leadership import Leadership, election_settings, new_fence
from .logs import DecisionLog, set_up
from .observed import Observed
from .options import RunOptions
from .refusals import RefusalEvents
from .serving import new_metrics, serving
from .serving_settings import ServingSettings, serving_settings
from .signals import handling
from .spans import exported_spans
from .status import StatusDisplay

logger = logging.getLogger("schedframe.run")


@record(eq=False)
class _Ending:
    """Actions of signals: SIGTERM and SIGINT end the scheduler gracefully, the second one the process."""

    leadership: Leadership | None = None
    """``None`` until the cluster is connected."""
    observed: Observed | None = None
    """Source of the log entries for SIGUSR2; ``None`` until there is a scheduler."""
    watch: ConfigWatch | None = None
    """Reads the configuration again at SIGHUP; ``None`` without a file."""
    came: bool = False

    def actions(self) -> dict[signal.Signals, Callable[[], None]]:
        """Return what each signal does."""
        actions = {each: partial(self.begin, each) for each in (signal.SIGTERM, signal.SIGINT)}
        if hasattr(signal, "SIGUSR2"):
            return {**actions, signal.SIGUSR2: self._log_state, signal.SIGHUP: self._reload}
        return {**actions}

    def _reload(self) -> None:
        if self.watch is None:
            logger.info("there is no file to read the configuration from again")
        else:
            self.watch.ask()

    def _log_state(self) -> None:
        if self.observed is not None:
            self.observed.log_state()

    def begin(self, number: signal.Signals) -> None:
        """End what runs now. Safe to call in any thread."""
        if self.came:
            os._exit(INTERRUPTED)
        self.came = True
        logger.info("%s: ending", number.name)
        if self.observed is not None:
            self.observed.is_ending = True
        if self.leadership is not None:
            self.leadership.end()
            self.leadership.cluster.interrupt()


def run(options: RunOptions) -> None:
    """Run until a signal comes. Raises :class:`SchedframeError` if it cannot begin."""
    set_up(options.log_format, options.verbose)
    settings = serving_settings(options)
    registry = Registry.installed(options.allow_import or [])
    config = configured(options, registry)
    if options.write_config_to is not None:
        write_text(options.write_config_to, dump_config(config))
        return
    ending = _Ending()
    with exported_spans(options) as tracing, handling(ending.actions()):
        chosen = config.config.leader_election
        election = election_settings(chosen) if chosen.leader_elect else None
        cluster = connected(options, config, new_fence(election))
        leadership = ending.leadership = Leadership(cluster, election)
        if ending.came:
            leadership.end()
            cluster.interrupt()
        try:
            _schedule(options, settings, config, registry, leadership, ending, tracing)
        except CancelledError:
            logger.info("nothing was scheduled yet")
        finally:
            leadership.resign()
            cluster.close()
    logger.info("ended")


def _schedule(
    options: RunOptions,
    settings: ServingSettings,
    config: EffectiveConfig,
    registry: Registry,
    leadership: Leadership,
    ending: _Ending,
    tracing: SchedulerObserver | None,
) -> None:
    cluster = leadership.cluster
    display, metrics = StatusDisplay(cluster), new_metrics(settings, leadership)
    log = DecisionLog(logger) if options.verbose else None
    scheduler = Scheduler(
        cluster,
        config,
        registry=registry,
        seed=options.seed,
        observers=[each for each in (display, metrics, log, tracing) if each is not None],
    )
    cluster.kinds = tuple(cls for each in scheduler.core.frameworks.values() for cls in each.kinds().values())
    observed = ending.observed = Observed(
        cluster, scheduler, leadership, None if metrics is None else metrics.exposition
    )
    if options.config is not None:
        events = RefusalEvents(scheduler, leadership)
        watch = ConfigWatch(options.config, partial(configured, options, registry), scheduler, events.record)
        ending.watch, observed.refused = watch, lambda: watch.problem is not None
    with scheduler, serving(settings, observed), following(ending.watch):
        if not _joined(leadership, observed, delays=config.config.delay_cache_until_active):
            return
        display.begin(scheduler)
        try:
            leadership.drive(scheduler)
        finally:
            display.end()
        finish_binds(scheduler, cluster, options.grace)
        leadership.resign()


def _joined(leadership: Leadership, observed: Observed, *, delays: bool) -> bool:
    """Read the cluster and take part in the election, first in the latter if that *delays* the caches.

    Return whether to go on: not if the process ended while it waited for the lease.
    """
    if delays:
        exempt_present_objects()  # it may wait for days
        leadership.join()
        if not leadership.wait_until_it_leads():
            return False
    _read(observed.scheduler, leadership.cluster)
    observed.is_synced = True
    leadership.join()
    return True


def _read(scheduler: Scheduler, cluster: KubernetesCluster) -> None:
    """Read the cluster, and follow it from then on."""
    began = time.monotonic()
    logger.info("reading the cluster at %s", cluster.access.server)
    scheduler.start()
    scheduler.sync()
    exempt_present_objects()
    logger.info("synced in %.2f s: %s", time.monotonic() - began, cluster.summary())
