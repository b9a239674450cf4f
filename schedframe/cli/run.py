"""``schedframe run``: schedule the pods of a real cluster until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import FrameType
from typing import Final

from attrs import define, evolve

from ..cluster.kubernetes import KubernetesCluster
from ..config import EffectiveConfig, load_config
from ..cycle import Scheduler
from ..errors import InputError
from ..framework import Registry
from .commands import configuration
from .exits import INTERRUPTED
from .health import HealthServer
from .logs import DecisionLog, set_up
from .run_options import RunOptions
from .status import StatusDisplay

logger = logging.getLogger("schedframe.run")

POLL_SECONDS: Final = 0.02
"""Seconds between two looks at the binds that are still under way at the end."""


@define(eq=False)
class _Signals:
    """SIGTERM and SIGINT: the first ends the scheduler gracefully, the second one the process."""

    cluster: KubernetesCluster | None = None
    """The cluster that is being read."""
    scheduler: Scheduler | None = None
    """The scheduler that runs; ``None`` before."""
    came: bool = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals inside."""
        before = {each: signal.signal(each, self._handle) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            os._exit(INTERRUPTED)
        self.came = True
        logger.info("%s: ending", signal.Signals(number).name)
        if self.scheduler is not None:
            self.scheduler.stop()
        elif self.cluster is not None:
            self.cluster.interrupt()


def run(options: RunOptions) -> None:
    """Run until a signal comes. Raises :class:`SchedframeError` if it cannot begin."""
    set_up(options.log_format, options.verbose)
    registry = Registry.installed(options.allow_import or [])
    config = _config(options, registry)
    signals = _Signals()
    with signals.handled():
        cluster = signals.cluster = _cluster(options, config)
        if signals.came:
            cluster.interrupt()
        try:
            _schedule(options, config, registry, cluster, signals)
        except CancelledError:
            logger.info("nothing was scheduled yet")
        finally:
            cluster.close()
    logger.info("ended")


def _config(options: RunOptions, registry: Registry) -> EffectiveConfig:
    config = configuration(options.config, registry)
    if options.scheduler_name is None:
        return config
    profiles = config.config.profiles
    if len(profiles) != 1:
        raise InputError(
            "--scheduler-name", f"the configuration has {len(profiles)} profiles", "name them in it"
        )
    renamed = (evolve(profiles[0], scheduler_name=options.scheduler_name),)
    return load_config(evolve(config.config, profiles=renamed), catalogue=registry.full_catalogue())


def _cluster(options: RunOptions, config: EffectiveConfig) -> KubernetesCluster:
    connection = config.config.client_connection
    files = options.kubeconfig or ([connection.kubeconfig] if connection.kubeconfig else None)
    if connection.content_type not in ("", "application/json", "application/vnd.kubernetes.protobuf"):
        logger.info("clientConnection.contentType is ignored: requests are JSON")
    return KubernetesCluster.from_kubeconfig(
        files,
        context=options.context,
        server=options.master,
        qps=connection.qps,
        burst=connection.burst,
        sync_timeout=options.sync_timeout,
    )


def _schedule(
    options: RunOptions,
    config: EffectiveConfig,
    registry: Registry,
    cluster: KubernetesCluster,
    signals: _Signals,
) -> None:
    if options.leader_elect == "true":
        logger.warning("leader election is not part of this release: run one replica only")
    display = StatusDisplay(cluster)
    scheduler = Scheduler(
        cluster,
        config,
        registry=registry,
        seed=options.seed,
        recorder=DecisionLog(logger) if options.verbose else None,
        on_fault=display.on_fault,
    )
    cluster.kinds = tuple(cls for each in scheduler.core.frameworks.values() for cls in each.kinds().values())
    with scheduler, _probes(options.secure_port, cluster, signals):
        began = time.monotonic()
        logger.info("reading the cluster at %s", cluster.access.server)
        scheduler.start()
        scheduler.sync()
        logger.info("synced in %.2f s: %s", time.monotonic() - began, cluster.summary())
        signals.scheduler = scheduler
        display.begin(scheduler)
        try:
            if not signals.came:
                scheduler.run()
        finally:
            display.end()
        _finish_binds(scheduler, cluster, options.grace)


@contextmanager
def _probes(port: int, cluster: KubernetesCluster, signals: _Signals) -> Iterator[None]:
    """Serve probes inside, on *port* unless it is 0; ready as soon as the scheduler runs."""
    server = HealthServer(port, cluster.loop, lambda: signals.scheduler is not None)
    if port:
        server.start()
    try:
        yield
    finally:
        server.close()


def _finish_binds(scheduler: Scheduler, cluster: KubernetesCluster, grace: float) -> None:
    """Wait for the binds under way, at most for *grace* seconds; then give them up."""
    deadline = time.monotonic() + grace
    scheduler.sync()
    while scheduler.binds_under_way() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        scheduler.sync()
    left = scheduler.binds_under_way()
    if left:
        logger.warning("%d binds had no answer within %g s", left, grace)
        cluster.abort()
