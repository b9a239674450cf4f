"""Hypothesis strategies of configurations over a small catalogue, most of them valid."""

from __future__ import annotations

from typing import Any

from attrs import evolve, field, frozen
from hypothesis import strategies as st

from schedframe.config import POINTS, CatalogueEntry, Duration, PluginCatalogue
from schedframe.config.model import (
    ATTRIBUTES,
    ClientConnectionConfiguration,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

FIVE_SECONDS = Duration.of(5)


@frozen
class Share:
    name: str = ""
    weight: int = 1


@frozen
class CrowdArgs:
    """Arguments of a plugin that is not part of the v1 API."""

    limit: int = 3
    quiet: bool = False
    patience: Duration = FIVE_SECONDS
    resources: tuple[Share, ...] = ()
    labels: dict[str, str] = field(factory=dict)


CATALOGUE = PluginCatalogue(
    [
        CatalogueEntry("Sort", ("queueSort",), default_order=0),
        CatalogueEntry("Gate", ("preEnqueue", "permit"), default_order=1),
        CatalogueEntry("Fit", ("preFilter", "filter", "preScore", "score"), default_order=2, weight=2),
        CatalogueEntry("Spread", ("filter", "score", "placementScore"), default_order=3),
        CatalogueEntry("Bind", ("bind", "postBind"), default_order=4),
        CatalogueEntry("Crowd", ("filter", "score", "reserve"), args_class=CrowdArgs),
        CatalogueEntry("Place", ("placementGenerate", "placementScore")),
        CatalogueEntry("Everything", tuple(point for point in POINTS if point != "queueSort")),
    ]
)

NAMES = CATALOGUE.names()
MULTI = "multiPoint"


@st.composite
def plugin_sets(draw: st.DrawFn, names: tuple[str, ...]) -> PluginSet:
    weights = st.none() | st.integers(0, 100)
    enabled = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
    disabled = draw(st.lists(st.sampled_from([*NAMES, "Unknown", "*"]), max_size=3))
    return PluginSet(
        tuple(Plugin(name, draw(weights)) for name in enabled), tuple(Plugin(name) for name in disabled)
    )


def implementing(point: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in CATALOGUE.entries if point == MULTI or point in entry.points)


@st.composite
def plugins(draw: st.DrawFn) -> Plugins:
    """Lists of plugins that implement their point, with one queue sort and at least one bind plugin."""
    points = draw(st.lists(st.sampled_from([*POINTS, MULTI]), unique=True, max_size=5))
    lists = {ATTRIBUTES[point]: draw(plugin_sets(implementing(point))) for point in points}
    own = PluginSet((Plugin("Sort"),), (Plugin("*"),))
    return Plugins(**{**lists, "queue_sort": own, "bind": PluginSet((Plugin("Bind"),))})


crowd_args = st.builds(
    CrowdArgs,
    limit=st.integers(-(2**63), 2**63 - 1),
    quiet=st.booleans(),
    patience=st.integers(-(2**62), 2**62).map(Duration),
    resources=st.lists(st.builds(Share, st.text(max_size=3), st.integers(0, 9)), max_size=2).map(tuple),
    labels=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)

plugin_configs = st.lists(
    st.builds(PluginConfig, st.just("Crowd"), st.none() | crowd_args)
    | st.builds(PluginConfig, st.sampled_from(["Gate", "Unknown"]), json_values),
    max_size=3,
    unique_by=lambda config: config.name,
).map(tuple)


@st.composite
def profiles(draw: st.DrawFn) -> tuple[KubeSchedulerProfile, ...]:
    names = draw(st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=3))
    percentages = st.none() | st.integers(0, 100)
    return tuple(
        KubeSchedulerProfile(name, draw(percentages), draw(plugins()), draw(plugin_configs)) for name in names
    )


durations = st.integers(1, 10**12)
tls_configs = st.builds(
    ExtenderTLSConfig,
    insecure=st.booleans(),
    server_name=st.text(max_size=3),
    cert_data=st.binary(max_size=4),
)
extenders = st.builds(
    Extender,
    url_prefix=st.text(max_size=8),
    filter_verb=st.sampled_from(["", "filter"]),
    prioritize_verb=st.sampled_from(["", "prioritize"]),
    weight=st.integers(1, 10),
    enable_https=st.booleans(),
    tls_config=st.none() | tls_configs,
    http_timeout=durations.map(Duration),
    node_cache_capable=st.booleans(),
    ignorable=st.booleans(),
)


@st.composite
def configurations(draw: st.DrawFn) -> KubeSchedulerConfiguration:
    renew = draw(durations)
    found = draw(st.lists(extenders, max_size=3))
    managed = [
        (ExtenderManagedResource(f"example.com/r{index}", ignored_by_scheduler=False),)
        for index in range(len(found))
    ]
    return KubeSchedulerConfiguration(
        parallelism=draw(st.none() | st.integers(1, 2**31 - 1)),
        leader_election=LeaderElectionConfiguration(
            draw(st.none() | st.booleans()), Duration(renew + draw(durations)), Duration(renew), Duration(1)
        ),
        client_connection=ClientConnectionConfiguration(
            qps=draw(st.floats(-100, 100)), burst=draw(st.integers(0, 9))
        ),
        enable_profiling=draw(st.none() | st.booleans()),
        enable_contention_profiling=draw(st.none() | st.booleans()),
        percentage_of_nodes_to_score=draw(st.none() | st.integers(0, 100)),
        pod_initial_backoff_seconds=draw(st.none() | st.integers(1, 10)),
        pod_max_backoff_seconds=draw(st.none() | st.integers(10, 2**63 - 1)),
        profiles=draw(profiles()),
        extenders=tuple(
            evolve(each, managed_resources=some) for each, some in zip(found, managed, strict=True)
        ),
        delay_cache_until_active=draw(st.booleans()),
    )
