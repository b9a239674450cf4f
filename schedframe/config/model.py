"""KubeSchedulerConfiguration, version ``kubescheduler.config.k8s.io/v1``, as values.

Field for field the document: camelCase there is snake_case here, ``None`` is a field that was left out.
Nothing is defaulted or checked in the values themselves; that is done by :mod:`.defaults` and
:mod:`.validation`.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import field, fields

from .._base.value import default_of, record
from ..api._wire import wire
from ..api.duration import Duration
from .catalogue import POINTS

GROUP_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
ALL: Final = "*"
"""Disables every default plugin of a list."""

MULTI_POINT: Final = "multiPoint"


@record(frozen=True)
class LeaderElectionConfiguration:
    """Leader election between replicas. Durations of zero mean the default."""

    leader_elect: bool | None = None
    lease_duration: Duration = field(default=default_of(Duration), metadata=wire(always=True))
    renew_deadline: Duration = field(default=default_of(Duration), metadata=wire(always=True))
    retry_period: Duration = field(default=default_of(Duration), metadata=wire(always=True))
    resource_lock: str = field(default="", metadata=wire(always=True))
    resource_name: str = field(default="", metadata=wire(always=True))
    resource_namespace: str = field(default="", metadata=wire(always=True))


@record(frozen=True)
class ClientConnectionConfiguration:
    """The connection to the API server; ``qps`` and ``burst`` of zero mean the default."""

    kubeconfig: str = field(default="", metadata=wire(always=True))
    accept_content_types: str = field(default="", metadata=wire(always=True))
    content_type: str = field(default="", metadata=wire(always=True))
    qps: float = field(default=0.0, metadata=wire(always=True))
    burst: int = field(default=0, metadata=wire(bits=32, always=True))


@record(frozen=True)
class Plugin:
    """A plugin in a list. ``weight`` is used at scoring points; 0 and None mean 1."""

    name: str = field(default="", metadata=wire(always=True))
    weight: int | None = field(default=None, metadata=wire(bits=32))


@record(frozen=True)
class PluginSet:
    """Plugins to enable in a list besides its defaults, and defaults to disable."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


@record(frozen=True)
class Plugins:
    """A list for each extension point, and one (``multi_point``) for all points that a plugin implements."""

    pre_enqueue: PluginSet = default_of(PluginSet)
    queue_sort: PluginSet = default_of(PluginSet)
    pre_filter: PluginSet = default_of(PluginSet)
    filter: PluginSet = default_of(PluginSet)
    post_filter: PluginSet = default_of(PluginSet)
    pre_score: PluginSet = default_of(PluginSet)
    score: PluginSet = default_of(PluginSet)
    reserve: PluginSet = default_of(PluginSet)
    permit: PluginSet = default_of(PluginSet)
    pre_bind: PluginSet = default_of(PluginSet)
    bind: PluginSet = default_of(PluginSet)
    post_bind: PluginSet = default_of(PluginSet)
    multi_point: PluginSet = default_of(PluginSet)
    placement_generate: PluginSet = default_of(PluginSet)
    placement_score: PluginSet = default_of(PluginSet)

    def at(self, point: str) -> PluginSet:
        """Return the list of an extension point (or of ``multiPoint``) by its name in the document."""
        plugins: PluginSet = getattr(self, ATTRIBUTES[point])
        return plugins


def _attributes() -> dict[str, str]:
    """Extension point (and ``multiPoint``) → attribute of :class:`Plugins`."""
    by_name = {attribute.name.replace("_", "").lower(): attribute.name for attribute in fields(Plugins)}
    return {point: by_name[point.lower()] for point in (*POINTS, MULTI_POINT)}


ATTRIBUTES: Final = _attributes()


@record(frozen=True)
class PluginConfig:
    """Arguments of a plugin: an instance of its args class, or any JSON value if it has none."""

    name: str = field(default="", metadata=wire(always=True))
    args: Any = field(default=None, metadata=wire(encode=lambda args: args))


@record(frozen=True)
class KubeSchedulerProfile:
    """One way to schedule, chosen by a pod's ``spec.schedulerName``.

    ``run_all_filters`` is an addition of schedframe, for ``alwaysCheckAllPredicates`` of a policy: a node
    that one filter rejects is passed to the others, too, so that messages have the reasons of all. A
    rejection that preemption cannot help then counts, even if an earlier one could be helped.
    """

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = field(default=None, metadata=wire(bits=32))
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()
    run_all_filters: bool = False


@record(frozen=True)
class ExtenderManagedResource:
    """An extended resource that an extender manages; plugins ignore it if ``ignored_by_scheduler``."""

    name: str = field(default="", metadata=wire(always=True))
    ignored_by_scheduler: bool = False


@record(frozen=True)
class ExtenderTLSConfig:
    """TLS to an extender; ``*_data`` is PEM and takes precedence over the ``*_file``."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = field(default="", metadata=wire("caFile"))
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = field(default=b"", metadata=wire("caData"))


@record(frozen=True)
class Extender:
    """An extender, called over HTTP. An empty verb disables a call; a timeout of 0 means the default."""

    url_prefix: str = field(default="", metadata=wire("urlPrefix", always=True))
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, metadata=wire("enableHTTPS"))
    tls_config: ExtenderTLSConfig | None = field(default=None, metadata=wire("tlsConfig"))
    http_timeout: Duration = field(default=default_of(Duration), metadata=wire("httpTimeout", always=True))
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


@record(frozen=True)
class KubeSchedulerConfiguration:
    """The configuration of a scheduler, which ``load_config`` reads, defaults and checks."""

    parallelism: int | None = field(default=None, metadata=wire(bits=32))
    leader_election: LeaderElectionConfiguration = field(
        default=default_of(LeaderElectionConfiguration), metadata=wire(always=True)
    )
    client_connection: ClientConnectionConfiguration = field(
        default=default_of(ClientConnectionConfiguration), metadata=wire(always=True)
    )
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = field(default=None, metadata=wire(bits=32))
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
