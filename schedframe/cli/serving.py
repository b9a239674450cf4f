"""The server of ``schedframe run``: which pages it has, where it listens, and who may read them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define

from ..cluster.kubernetes import KubernetesCluster, load_access
from ..cluster.kubernetes.client import ApiClient
from ..cycle import Scheduler
from ..cycle.inspection import cache_dump, compare, on_core
from ..errors import InputError, SchedframeError
from .health import HealthServer
from .leadership import Leadership
from .run_flags import duration
from .run_options import RunOptions

if TYPE_CHECKING:
    from ..metrics import SchedulerMetrics
    from ..serve import ApiReviewer, Endpoints
    from ..serve.tls import ServerCertificate

logger = logging.getLogger("schedframe.run")


@define(eq=False)
class Observed:
    """What the pages are about."""

    cluster: KubernetesCluster
    scheduler: Scheduler
    leadership: Leadership
    metrics: Callable[[], bytes] | None = None
    """The text of ``/metrics``."""
    refused: Callable[[], bool] = lambda: False
    """Whether the file of the configuration, as it is now, is refused."""
    is_synced: bool = False
    """Whether the first lists are complete; set by ``run``."""

    def endpoints(self, *, profiling: bool) -> Endpoints:
        """Return the pages of the server."""
        from ..serve import Check, Endpoints, HealthChecks, SchedulerProbes
        from ..serve.checks import PING
        from ..serve.pod_resources import pod_resource_metrics

        scheduler, leadership = self.scheduler, self.leadership
        probes = SchedulerProbes(scheduler, lambda: leadership.leads)
        election = Check("leader-election", leadership.problem, leadership.role)
        configuration = Check("configuration", lambda: None, self._refusal)
        return Endpoints(
            checks=HealthChecks(
                live=[PING, election],
                ready=[
                    Check("informer-sync", self._unsynced),
                    probes.alive(),
                    probes.queue(),
                    configuration,
                ],
            ),
            metrics=self.metrics,
            pod_resources=lambda: pod_resource_metrics(self.cluster.list("Pod")),
            config=lambda: {"kubescheduler.config.k8s.io": scheduler.config.to_manifest()},
            cache=lambda: on_core(scheduler, lambda: cache_dump(scheduler)),
            queue=lambda: on_core(scheduler, lambda: scheduler.pending().to_dict()),
            comparison=lambda: on_core(scheduler, lambda: compare(scheduler)),
            profiling=profiling,
        )

    def _refusal(self) -> str | None:
        return (
            "the file as it is now is refused, the former one is in use; see the log"
            if self.refused()
            else None
        )

    def _unsynced(self) -> str | None:
        if self.is_synced:
            return None
        waits = self.leadership.settings is not None and not self.leadership.leads
        if waits and self.scheduler.config.config.delay_cache_until_active:
            return None  # a standby that follows nothing yet, as configured, is as ready as it can be
        return "the cluster is still being read"

    def log_state(self) -> None:
        """Write cache, queue and their comparison with the cluster to the log, from a thread of its own."""
        threading.Thread(target=self._log_state, name="schedframe-dump", daemon=True).start()

    def _log_state(self) -> None:
        scheduler = self.scheduler
        looks = {
            "cache": lambda: cache_dump(scheduler),
            "queue": lambda: scheduler.pending().to_dict(),
            "comparison of the cache with the cluster": lambda: compare(scheduler),
        }
        for name, look in looks.items():
            try:
                logger.info("%s: %s", name, json.dumps(on_core(scheduler, look), default=str))
            except SchedframeError as error:
                logger.warning("%s: %s", name, error)


def new_metrics(options: RunOptions, leadership: Leadership) -> SchedulerMetrics | None:
    """Return what shows the metrics; ``None`` if nothing is served, or the extra ``metrics`` is missing."""
    if not options.secure_port or find_spec("prometheus_client") is None:
        return None
    from ..metrics import Metric, MetricFamily, MetricKind, SchedulerMetrics

    metrics = SchedulerMetrics()
    settings = leadership.settings
    if settings is not None:
        text = "Whether this process leads; 1 if it does."
        status = Metric("leader_election_master_status", MetricKind.GAUGE, text, ("name",))
        name = settings.lease.name
        metrics.attach(lambda: [MetricFamily(status, {(name,): float(leadership.leads)})])
    return metrics


@contextmanager
def serving(options: RunOptions, observed: Observed) -> Iterator[None]:
    """Serve the pages inside, unless ``--secure-port`` is 0. Raises :class:`SchedframeError`."""
    if not options.secure_port:
        yield
        return
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        with _health_alone(options, observed):
            yield
        return
    from ..serve import HttpServer, Listener, application
    from ..serve.server import is_loopback
    from ..serve.tls import self_signed

    certificate = _certificate(options)
    tls = None if certificate is None else certificate.context
    if tls is None and not is_loopback(options.bind_address):
        tls = self_signed(options.bind_address)
    listener = Listener(options.bind_address, options.secure_port, tls)
    # Programs on this machine may read the pages of a server on loopback, as long as it has no certificate.
    reviewer = None if listener.tls is None else _reviewer(options, observed.cluster)
    endpoints = observed.endpoints(profiling=options.profiling == "true")
    server = HttpServer(
        application(endpoints, reviewer, _always_allowed(options)),
        listener,
        None if certificate is None else certificate.refresh,
    )
    server.start()
    scheme = "http" if listener.tls is None else "https"
    logger.info("serving %s://%s:%d", scheme, options.bind_address, server.port)
    try:
        yield
    finally:
        server.close()


@contextmanager
def _health_alone(options: RunOptions, observed: Observed) -> Iterator[None]:
    """Serve the least that probes need, without the extra."""
    logger.warning("only health is served, on 127.0.0.1; for the rest: pip install 'schedframe[serve]'")
    server = HealthServer(options.secure_port, observed.cluster.loop, lambda: observed.is_synced)
    server.start()
    try:
        yield
    finally:
        server.close()


def _certificate(options: RunOptions) -> ServerCertificate | None:
    """Return the certificate in files; ``None`` if none are named."""
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise InputError("--tls-cert-file", "certificate and key belong together", "name both files")
    from ..serve.tls import VERSIONS, ServerCertificate

    server = ServerCertificate(Path(certificate), Path(key))
    if options.tls_min_version is not None:
        if options.tls_min_version not in VERSIONS:
            names = ", ".join(VERSIONS)
            raise InputError(
                "--tls-min-version", f"{options.tls_min_version} is not served", f"write {names}"
            )
        server.context.minimum_version = VERSIONS[options.tls_min_version]
    server.refresh()
    return server


def _reviewer(options: RunOptions, cluster: KubernetesCluster) -> ApiReviewer:
    from ..serve import ApiReviewer
    from ..serve.access import ReviewTimes

    file = options.authorization_kubeconfig or options.authentication_kubeconfig
    access = cluster.access if file is None else load_access([file])
    times = ReviewTimes(
        *(
            duration(flag, text).seconds
            for flag, text in (
                ("--authentication-token-webhook-cache-ttl", options.authentication_token_webhook_cache_ttl),
                (
                    "--authorization-webhook-cache-authorized-ttl",
                    options.authorization_webhook_cache_authorized_ttl,
                ),
                (
                    "--authorization-webhook-cache-unauthorized-ttl",
                    options.authorization_webhook_cache_unauthorized_ttl,
                ),
            )
        )
    )
    return ApiReviewer(ApiClient(access), times)


def _always_allowed(options: RunOptions) -> tuple[str, ...]:
    paths = options.authorization_always_allow_paths.split(",")
    return tuple(each.strip() for each in paths if each.strip())
