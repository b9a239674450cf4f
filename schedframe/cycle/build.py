"""Put a scheduler together from its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ..api import Pod
from ..cluster import ClusterPort, RemoteCluster
from ..config import EffectiveConfig, EffectiveProfile, FeatureGates, PassedPlugin, load_config
from ..config.passed import enable_passed
from ..errors import ConfigError, PluginError
from ..extenders import Encoding, HttpExtender
from ..framework import EXTENDER, Extender, ExtenderVerb, Framework, Observer, Registry, Status, WaitingRoom
from ..framework.extender import in_call_order
from ..framework.faults import read_pre_enqueue
from ..framework.observing import Observers, build_framework
from ..framework.passing import register_passed
from ..framework.plan import Guard
from ..queue import EVERYTHING, GroupQueue, PriorityQueue, QueueOptions, QueueProfile
from ..state import Cache, GroupCache, NodeTable, ObjectStore
from ..state.read_only_table import ReadOnlyInfoTable
from .core import Core
from .debug import TableGuard
from .equivalence.cache import EquivalenceCache
from .equivalence.fast_search import FastSearch
from .handle import SchedulerHandle
from .metering.meter import Meter
from .metering.plugin_calls import EveryCall
from .options import SchedulerOptions, ScoreAllNodes
from .outcomes import SchedulerObserver
from .runtime.clock import SystemClock
from .runtime.executors import AsyncioExecutor, Executor, InlineExecutor
from .runtime.inbox import Inbox
from .search.extending import Extending
from .search.queue_sort import SortKey, SortLess
from .search.sampling import Sampling, SearchOrder
from .search.search import Search
from .verification import VerifyingSearch
from .watchdog import Watchdog

GROUPS = "GenericWorkload"
"""The feature gate of pod groups."""


def registry_with(options: SchedulerOptions) -> tuple[Registry, tuple[PassedPlugin, ...]]:
    """Return the registry of *options*, and the plugins to enable that the configuration does not name."""
    if options.registry is not None:
        return options.registry, ()
    registry = Registry.installed(options.allow_imports)
    return registry, register_passed(registry, options.plugins)


def load(
    config: Any,
    registry: Registry,
    passed: Sequence[PassedPlugin] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> EffectiveConfig:
    """Any form of configuration, effective; :class:`ConfigError` if it is refused.

    *feature_gates* ``None``: those with which the configuration was made, if it is effective already.
    """
    if isinstance(config, EffectiveConfig):
        gates = config.feature_gates if feature_gates is None else FeatureGates.of(feature_gates)
        if gates == config.feature_gates and enable_passed(config.config, passed) is config.config:
            return config
        config, feature_gates = config.config, gates
    return load_config(
        config, catalogue=registry.full_catalogue(), passed=passed, feature_gates=feature_gates
    )


def build_core(
    cluster: ClusterPort,
    config: EffectiveConfig,
    registry: Registry,
    options: SchedulerOptions,
) -> Core:
    """Return a core with its frameworks; nothing is watched or scheduled yet."""
    rng = Random(options.seed)
    sampled = _samples(config, options.score_all_nodes)
    extenders = _extenders(config, options)
    cache = _cache(config, options, ordered=sampled or bool(extenders))
    sampling = Sampling(cache, config.config.percentage_of_nodes_to_score or 0) if sampled else None
    clock = options.clock if options.clock is not None else SystemClock()
    objects = ObjectStore()
    fast = None
    if sampling is None and options.remember != 0:
        fast = FastSearch(EquivalenceCache(objects, options.remember), rng)
    executor = options.executor if options.executor is not None else _executor_for(cluster)
    core = Core(
        cluster=cluster,
        clock=clock,
        rng=rng,
        inbox=Inbox(),
        executor=executor,
        cache=cache,
        objects=objects,
        search=_search(cache, rng, sampling, fast, options.verify),
        waiting=WaitingRoom(lambda uid, plugin, rejection: None),
        on_fault=options.on_fault,
        feature_gates=config.feature_gates,
    )
    _add_extenders(core, extenders)
    _limit_binds(core)
    _report_faults_of_cache(core)
    _add_observers(core, options)
    _add_frameworks(core, config, registry, options)
    core.queue = _queue(core, config)
    return core


def _report_faults_of_cache(core: Core) -> None:
    def report(status: Status, pod: Pod) -> None:
        core.report(status, pod, "equivalence cache")

    search = core.search
    for fast in (search.fast, search.fast_filter):
        if fast is not None:
            fast.report = report
    if isinstance(search, VerifyingSearch):
        search.report = report


def _extenders(config: EffectiveConfig, options: SchedulerOptions) -> tuple[Extender, ...]:
    """The extenders of the configuration and those passed, in the order of their calls."""
    encoding = Encoding()
    configured = [HttpExtender(each, encoding=encoding) for each in config.config.extenders]
    return in_call_order((*configured, *options.extenders))


def _add_extenders(core: Core, extenders: tuple[Extender, ...]) -> None:
    core.extenders = extenders
    core.binders = tuple([each for each in extenders if ExtenderVerb.BIND in each.verbs])
    if extenders:
        search = core.search
        search.extending = Extending(extenders, SearchOrder(core.cache), core.report_extender)
        if search.fast is not None:
            search.fast_filter = FastSearch(search.fast.cache, Random(0))


def _cache(config: EffectiveConfig, options: SchedulerOptions, *, ordered: bool) -> Cache:
    table = ReadOnlyInfoTable() if options.debug else NodeTable()
    cache_class = GroupCache if config.feature_gates.enabled(GROUPS) else Cache
    return cache_class(options.assume_ttl, ordered, table)


def _executor_for(cluster: ClusterPort) -> Executor:
    return AsyncioExecutor(cluster.loop) if isinstance(cluster, RemoteCluster) else InlineExecutor()


def _limit_binds(core: Core) -> None:
    """Let writes run on the loop of a remote cluster, and no more binds at a time than it takes."""
    cluster, executor = core.cluster, core.executor
    if not isinstance(cluster, RemoteCluster):
        return
    core.on_loop = isinstance(executor, AsyncioExecutor) and executor.loop is cluster.loop
    if not executor.inline:
        core.binding_limit = lambda: cluster.binding_limit
        cluster.on_limit_change = core.inbox.wake


def _search(
    cache: Cache, rng: Random, sampling: Sampling | None, fast: FastSearch | None, verify: float
) -> Search:
    if not 0 <= verify <= 1:
        raise ValueError(f"verify is a share from 0 to 1, not {verify}")
    if fast is None or not verify:
        return Search(cache, rng, sampling, fast=fast)
    return VerifyingSearch(cache, rng, sampling, fast=fast, share=verify)


def _samples(config: EffectiveConfig, score_all_nodes: ScoreAllNodes) -> bool:
    if score_all_nodes != "auto":
        return not score_all_nodes
    return bool(config.config.percentage_of_nodes_to_score) or any(
        profile.percentage_of_nodes_to_score is not None for profile in config.profiles
    )


def _add_observers(core: Core, options: SchedulerOptions) -> None:
    if isinstance(options.observer, SchedulerObserver):
        core.observers = (options.observer,)
    if options.statistics or options.metrics is not None:
        core.meter = Meter(core.clock)


def _observer_of(core: Core, profile: str, options: SchedulerOptions) -> Observer | None:
    """Return what is called with the plugin calls of *profile*."""
    found: list[Observer] = []
    if options.statistics:
        found.append(core.calls.setdefault(profile, EveryCall()))
    observer = options.observer
    if isinstance(observer, SchedulerObserver):
        found.append(observer.of_profile(profile))
    elif observer is not None:
        found.append(observer)
    return Observers(found) if len(found) > 1 else next(iter(found), None)


def _add_frameworks(
    core: Core, config: EffectiveConfig, registry: Registry, options: SchedulerOptions
) -> None:
    guards: list[Guard] = [TableGuard(core.cache.table)] if options.debug else []
    core.watchdog = Watchdog() if options.debug and options.watchdog is None else options.watchdog
    if core.watchdog is not None:
        guards.append(core.watchdog)
    for profile in config.profiles:
        handle = SchedulerHandle(profile.scheduler_name, core)
        try:
            watched = _observer_of(core, profile.scheduler_name, options)
            framework = _framework(core, profile, registry, handle, watched, guards)
        except PluginError as error:
            raise ConfigError(f"profile {profile.scheduler_name}: {error}") from error
        handle.attach(framework)
        core.frameworks[profile.scheduler_name] = framework


def _framework(
    core: Core,
    profile: EffectiveProfile,
    registry: Registry,
    handle: SchedulerHandle,
    observer: Observer | None,
    guards: Sequence[Guard],
) -> Framework:
    if core.meter is None:
        return build_framework(profile, registry, handle, observer, guards)
    counts = core.meter.of_profile(profile.scheduler_name)
    framework = build_framework(profile, registry, handle, observer, (*guards, counts.calls), counts)
    core.meter.by_framework[framework] = counts
    counts.binds.begin(framework.plan)
    return framework


def _queue(core: Core, config: EffectiveConfig) -> PriorityQueue:
    """The queue of all profiles; validation saw to it that they agree on how it is sorted."""
    framework = next(iter(core.frameworks.values()))
    document, plan = config.config, framework.plan
    sorter = next(name for name, _ in framework.profile.plugins["queueSort"] if name in plan.plugins)

    def report(status: Status, pod: Pod) -> None:
        core.report(status, pod, "queueing")

    def on_fault(plugin: str, error: BaseException, pod: Pod) -> None:
        report(Status.from_error(error, plugin), pod)

    key, less = plan.queue_sort_key, plan.queue_sort_less
    queue_class = GroupQueue if config.feature_gates.enabled(GROUPS) else PriorityQueue
    return queue_class(
        QueueOptions(
            sort_key=SortKey(sorter, key, report).of if key is not None else None,
            less=SortLess(sorter, less, report) if less is not None else None,
            profiles={name: _queue_profile(each, core) for name, each in core.frameworks.items()},
            clock=core.clock,
            # The machine's clock moves on between attempts; a pass over the queue takes less than a second.
            tolerance=1.0 if isinstance(core.clock, SystemClock) else 0.0,
            initial_backoff=float(document.pod_initial_backoff_seconds or 0),
            max_backoff=float(document.pod_max_backoff_seconds or 0),
            pod_lister=core.pending.get,
            on_fault=on_fault,
            counts=None if core.meter is None else core.meter.queue,
        )
    )


def _queue_profile(framework: Framework, core: Core) -> QueueProfile:
    rejecting = framework.rejecting_plugins()
    extenders = {EXTENDER: EVERYTHING} if core.extenders else {}
    return QueueProfile(
        tuple((entry.name, entry.call) for entry in framework.plan.pre_enqueue),
        {
            name: EVERYTHING if registered is None else registered
            for name, registered in framework.events().items()
            if registered is not None or name in rejecting
        }
        | extenders,
        group_gates=frozenset(
            entry.name
            for entry in framework.plan.pre_enqueue
            if getattr(framework.plan.plugins[entry.name], "admits_by_group", False)
        ),
        read_answer=read_pre_enqueue,
    )
