"""Options of ``schedframe run`` about the lease, the server and the client, named as in kube-scheduler."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from ..._base.value import record

ELECTION: Final = "Leader election"
SERVING: Final = "Serving"
ACCESS: Final = "Access to the server"
TRACING: Final = "Tracing"
DEPRECATED: Final = "Deprecated"


def _option(group: str, metavar: str, text: str, **more: Any) -> Any:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=group, **more)


@record(frozen=True, kw_only=True, slots=False)
class ElectionOptions:
    """Options in place of fields of ``leaderElection``."""

    leader_elect: Annotated[
        str | None,
        _option(
            ELECTION,
            "true|false",
            "Schedule only while this replica has the lease. Default: as configured, else true.",
        ),
    ] = None
    leader_elect_lease_duration: Annotated[
        str | None,
        _option(ELECTION, "DURATION", "How long others wait after a renewal. Default: 15s."),
    ] = None
    leader_elect_renew_deadline: Annotated[
        str | None,
        _option(ELECTION, "DURATION", "How long the leader goes on after its last renewal. Default: 10s."),
    ] = None
    leader_elect_retry_period: Annotated[
        str | None, _option(ELECTION, "DURATION", "Between two renewals. Default: 2s.")
    ] = None
    leader_elect_resource_lock: Annotated[str | None, _option(ELECTION, "KIND", "Only leases are left.")] = (
        None
    )
    leader_elect_resource_name: Annotated[
        str | None, _option(ELECTION, "NAME", "Of the lease. Default: kube-scheduler.")
    ] = None
    leader_elect_resource_namespace: Annotated[
        str | None, _option(ELECTION, "NAMESPACE", "Of the lease. Default: kube-system.")
    ] = None


@record(frozen=True, kw_only=True, slots=False)
class ServingOptions:
    """Options of the server with health, metrics and debugging."""

    secure_port: Annotated[int, _option(SERVING, "PORT", "Serve health and metrics. 0: not.", min=0)] = 0
    bind_address: Annotated[
        str,
        _option(SERVING, "ADDRESS", "Other than loopback: by TLS, for users whom the cluster allows."),
    ] = "127.0.0.1"
    tls_cert_file: Annotated[
        str | None, _option(SERVING, "FILE", "Certificate of the server. Default: one made at the start.")
    ] = None
    tls_private_key_file: Annotated[str | None, _option(SERVING, "FILE", "Its key.")] = None
    tls_min_version: Annotated[
        str | None, _option(SERVING, "VERSION", "VersionTLS12, the default, or VersionTLS13.")
    ] = None
    profiling: Annotated[str, _option(SERVING, "true|false", "Serve /debug/profile and /debug/threads.")] = (
        "false"
    )
    authentication_kubeconfig: Annotated[
        str | None, _option(ACCESS, "FILE", "Of a user that may create TokenReviews. Default: the scheduler.")
    ] = None
    authentication_token_webhook_cache_ttl: Annotated[
        str, _option(ACCESS, "DURATION", "How long the user of a token is cached. 0s: not.")
    ] = "10s"
    authorization_kubeconfig: Annotated[
        str | None,
        _option(ACCESS, "FILE", "Of a user that may create SubjectAccessReviews. Default: the scheduler."),
    ] = None
    authorization_always_allow_paths: Annotated[
        str, _option(ACCESS, "PATH,…", "Read without a review; * at the end means all that begin so.")
    ] = "/healthz,/readyz,/livez"
    authorization_webhook_cache_authorized_ttl: Annotated[
        str, _option(ACCESS, "DURATION", "How long a permission is cached. 0s: not.")
    ] = "10s"
    authorization_webhook_cache_unauthorized_ttl: Annotated[
        str, _option(ACCESS, "DURATION", "How long a refusal is cached. 0s: not.")
    ] = "10s"


@record(frozen=True, kw_only=True, slots=False)
class TracingOptions:
    """Options of spans."""

    tracing: Annotated[
        str,
        _option(TRACING, "true|false", "Export spans of attempts by OpenTelemetry, as OTEL_* variables say."),
    ] = "false"
    tracing_sampling_rate_per_million: Annotated[
        int | None,
        _option(
            TRACING,
            "N",
            "Attempts of a million that are traced. Default: as OTEL_TRACES_SAMPLER says, else all.",
            min=0,
            max=1_000_000,
        ),
    ] = None


@record(frozen=True, kw_only=True, slots=False)
class ClientOptions:
    """Options in place of fields of ``clientConnection``; the configuration has precedence."""

    kube_api_qps: Annotated[
        float | None, _option(DEPRECATED, "N", "Requests a second. Use clientConnection.qps.")
    ] = None
    kube_api_burst: Annotated[
        int | None, _option(DEPRECATED, "N", "Requests at once. Use clientConnection.burst.")
    ] = None
    kube_api_content_type: Annotated[
        str | None, _option(DEPRECATED, "TYPE", "No effect: requests are JSON.")
    ] = None
    contention_profiling: Annotated[
        str | None, _option(DEPRECATED, "true|false", "No effect: there is no lock to profile.")
    ] = None
