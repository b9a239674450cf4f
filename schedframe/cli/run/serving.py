"""The server of ``schedframe run``: where it listens, with which certificate, and who may read its pages."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ...cluster.kubernetes import Access, KubernetesCluster, load_access
from ...cluster.kubernetes.client import ApiClient
from .health import HealthServer
from .leadership import Leadership
from .observed import Observed
from .serving_settings import ServingSettings

if TYPE_CHECKING:
    from ...metrics import SchedulerMetrics
    from ...serve import ApiReviewer
    from ...serve.tls import ServerCertificate

logger = logging.getLogger("schedframe.run")


def new_metrics(settings: ServingSettings, leadership: Leadership) -> SchedulerMetrics | None:
    """Return what shows the metrics; ``None`` if nothing is served, or the extra ``metrics`` is missing."""
    if not settings.port or find_spec("prometheus_client") is None:
        return None
    from ...metrics import Metric, MetricFamily, MetricKind, SchedulerMetrics

    metrics = SchedulerMetrics()
    election = leadership.settings
    if election is not None:
        text = "Whether this process leads; 1 if it does."
        status = Metric("leader_election_master_status", MetricKind.GAUGE, text, ("name",))
        name = election.lease.name
        metrics.show(lambda: [MetricFamily(status, {(name,): float(leadership.leads)})])
    return metrics


@contextmanager
def serving(settings: ServingSettings, observed: Observed) -> Iterator[None]:
    """Serve the pages inside, unless the port is 0. Raises :class:`SchedframeError`."""
    if not settings.port:
        yield
        return
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        with _health_alone(settings, observed):
            yield
        return
    from ...serve import HttpServer, Listener, application
    from ...serve.server import is_loopback
    from ...serve.tls import self_signed

    certificate = _certificate(settings)
    tls = None if certificate is None else certificate.context
    if tls is None and not is_loopback(settings.address):
        tls = self_signed(settings.address)
    if tls is not None:
        tls.minimum_version = settings.min_version
    # Programs on this machine may read the pages of a server on loopback, as long as it has no certificate.
    reviewer = None if tls is None else _reviewer(settings, observed.cluster)
    server = HttpServer(
        application(observed.endpoints(profiling=settings.profiling), reviewer, settings.always_allowed),
        Listener(settings.address, settings.port, tls),
        None if certificate is None else certificate.refresh,
        None if reviewer is None else reviewer.close,
    )
    server.start()
    logger.info("serving %s", server.url)
    try:
        yield
    finally:
        server.close()


@contextmanager
def _health_alone(settings: ServingSettings, observed: Observed) -> Iterator[None]:
    """Serve the least that probes need, without the extra."""
    logger.warning("only health is served, on 127.0.0.1; for the rest: pip install 'schedframe[serve]'")
    server = HealthServer(
        settings.port, observed.cluster.loop, lambda: observed.is_synced and not observed.is_ending
    )
    server.start()
    try:
        yield
    finally:
        server.close()


def _certificate(settings: ServingSettings) -> ServerCertificate | None:
    """Return the certificate in files; ``None`` if none are named. Raises :class:`InputError`."""
    if settings.files is None:
        return None
    from ...serve.tls import ServerCertificate

    server = ServerCertificate(*settings.files)
    server.refresh()
    return server


def _reviewer(settings: ServingSettings, cluster: KubernetesCluster) -> ApiReviewer:
    from ...serve import ApiReviewer
    from ...serve.access import ReviewTimes

    def access(file: str | None) -> Access:
        return cluster.access if file is None else load_access([file])

    times = settings.cache_times
    return ApiReviewer(
        ApiClient(access(settings.authentication_kubeconfig)),
        ReviewTimes(token=times.token, allowed=times.allowed, denied=times.denied),
        ApiClient(access(settings.authorization_kubeconfig)),
    )
