"""Put a scheduler together from its configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from .._base.plugin_faults import plugin_faults
from .._base.undo import UndoLog
from ..api import Pod
from ..cluster import ClusterPort, RemoteCluster
from ..config import (
    ConfigBuildError,
    EffectiveConfig,
    FeatureGates,
    FieldError,
    PassedPlugin,
    load_config,
)
from ..config.passed import enable_passed
from ..errors import ConfigError, PluginError
from ..framework import EXTENDER, Extender, ExtenderVerb, Framework, Registry, Status, WaitingRoom
from ..framework.declarations import declares
from ..framework.extender import in_call_order
from ..framework.faults import from_exception, read_pre_enqueue
from ..framework.hook_calls import Guard
from ..framework.observing import build_framework
from ..framework.passing import register_passed
from ..queue import EVERYTHING, GroupQueue, PriorityQueue, QueueOptions, QueueProfile
from ..state import Cache, GroupCache, NodeTable, ObjectStore
from ..state.read_only_table import ReadOnlyInfoTable
from .core import Core
from .debug import TableGuard
from .equivalence.cache import EquivalenceCache
from .equivalence.fast_search import FastSearch
from .handle import SchedulerHandle
from .handlers import EventHandlers
from .messages import BindLimit, GroupPlaced, InterruptedQueueing
from .observer import SchedulerObserver
from .options import SchedulerOptions
from .runtime.clock import SystemClock
from .runtime.executors import Executor, InlineExecutor
from .runtime.inbox import Inbox
from .search.extending import Extending
from .search.sampling import Sampling, SearchOrder
from .search.search import Search
from .start import Start
from .verification import VerifyingSearch
from .watchdog import Watchdog

if TYPE_CHECKING:
    from .pod_groups.cycle import GroupCycle

GROUPS = "GenericWorkload"
"""The feature gate of pod groups."""


def registry_with(options: SchedulerOptions) -> tuple[Registry, tuple[PassedPlugin, ...]]:
    """Return the registry of *options*, and the plugins to enable that the configuration does not name."""
    if options["registry"] is not None:
        return options["registry"], ()
    registry = Registry.installed(options["allow_imports"])
    return registry, register_passed(registry, options["plugins"])


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
    start: Start | None = None,
) -> Core:
    """Return a core with its frameworks; nothing is watched or scheduled yet."""
    extenders = extenders_of(config, options)
    start = start if start is not None else Start(UndoLog(), {}, Random(options["seed"]))
    core = _bare_core(cluster, config, options, start, ordered=bool(extenders))
    use_search(core, core.search, extenders)
    _limit_binds(core)
    core.observers.attach(core, _observers_of(core, options))
    use_frameworks(core, build_frameworks(core, config, registry, options))
    queue_class = GroupQueue if config.feature_gates.enabled(GROUPS) else PriorityQueue
    try:
        core.queue = queue_class(queue_options(core, config, core.frameworks, extenders))
    except BaseException:
        close_frameworks(core, core.frameworks.values())
        raise
    core.queue.nominator.undo = core.undo
    return core


def _bare_core(
    cluster: ClusterPort, config: EffectiveConfig, options: SchedulerOptions, start: Start, *, ordered: bool
) -> Core:
    """Return a core without plugins, extenders and a queue. *ordered*: see :class:`Cache`."""
    rng = start.rng
    ordered = ordered or samples(config, options)
    cache = start.cache or _cache(config, options, start.undo, ordered=ordered)
    clock = options["clock"] if options["clock"] is not None else SystemClock()
    objects = start.objects or ObjectStore(undo=cache.undo)
    executor = options["executor"] if options["executor"] is not None else _executor_for(cluster)
    core = Core(
        cluster=cluster,
        clock=clock,
        rng=rng,
        inbox=Inbox(),
        executor=executor,
        cache=cache,
        objects=objects,
        search=search_for(cache, objects, rng, config, options),
        waiting=WaitingRoom(lambda uid, plugin, rejection: None),
        feature_gates=config.feature_gates,
        pending=start.pending,
    )
    if core.search.sampling is not None:
        core.search.sampling.next_start = start.next_start
    return core


def groups_and_handlers(core: Core, *, wait_together: bool) -> tuple[GroupCycle | None, EventHandlers]:
    """Return the cycles of pod groups, ``None`` if their feature gate is off, and the handlers of events."""
    if not core.feature_gates.enabled(GROUPS):
        return None, EventHandlers(core)
    from .pod_groups.apply import publish_expected_nodes
    from .pod_groups.cycle import GroupCycle
    from .pod_groups.handlers import GroupEventHandlers

    core.inbox.handlers[GroupPlaced] = partial(publish_expected_nodes, core)
    return GroupCycle(core, wait_together=wait_together), GroupEventHandlers(core)


def extenders_of(config: EffectiveConfig, options: SchedulerOptions) -> tuple[Extender, ...]:
    """Return the extenders of the configuration and those passed, in the order of their calls."""
    return in_call_order((*_configured(config), *options["extenders"]))


def _configured(config: EffectiveConfig) -> list[Extender]:
    """Return clients of the extenders that *config* names.

    Raises :class:`ConfigBuildError` if the package that they need is not installed.
    """
    if not config.config.extenders:
        return []
    # Few configurations name any, and the client takes 2 MB.
    try:
        from ..extenders import Encoding, HttpExtender
    except ModuleNotFoundError as error:
        raise ConfigBuildError([FieldError.forbidden("extenders", str(error))]) from None
    encoding = Encoding()
    return [HttpExtender(each, encoding=encoding) for each in config.config.extenders]


def use_search(core: Core, search: Search, extenders: tuple[Extender, ...]) -> None:
    """Search with *search* and *extenders* from now on."""
    core.search, core.extenders = search, extenders
    core.binders = tuple([each for each in extenders if ExtenderVerb.BIND in each.verbs])
    if extenders:
        search.extending = Extending(extenders, SearchOrder(core.cache), core.report_extender)
        if isinstance(search.fast, FastSearch):
            search.fast_filter = FastSearch(search.fast.cache, Random(0))

    def report(status: Status, pod: Pod) -> None:
        core.report(status, pod, "equivalence cache")

    for fast in (search.fast, search.fast_filter):
        if isinstance(fast, FastSearch):
            fast.report = report
    if isinstance(search, VerifyingSearch):
        search.report = report


def _cache(config: EffectiveConfig, options: SchedulerOptions, undo: UndoLog, *, ordered: bool) -> Cache:
    table = ReadOnlyInfoTable(undo=undo) if options["debug"] else NodeTable(undo=undo)
    cache_class = GroupCache if config.feature_gates.enabled(GROUPS) else Cache
    return cache_class(options["assume_ttl"], ordered, table)


def _observers_of(core: Core, options: SchedulerOptions) -> tuple[SchedulerObserver, ...]:
    """Return the observers of *options*, and a watchdog where slow attempts are to be found."""
    observers = tuple(options["observers"])
    if any(isinstance(each, Watchdog) for each in observers):
        return observers
    if not (options["debug"] or isinstance(core.clock, SystemClock)):
        return observers
    return (*observers, Watchdog(hooks=options["debug"]))


def _executor_for(cluster: ClusterPort) -> Executor:
    if not isinstance(cluster, RemoteCluster):
        return InlineExecutor()
    from .runtime.asyncio_executor import AsyncioExecutor

    return AsyncioExecutor(cluster.loop)


def _limit_binds(core: Core) -> None:
    """Let writes run on the loop of a remote cluster, and no more of them than it takes."""
    cluster, executor = core.cluster, core.executor
    if not isinstance(cluster, RemoteCluster):
        return
    from .runtime.asyncio_executor import AsyncioExecutor

    cluster.on_view_change = core.inbox.put
    core.delayed_nominations.delay = cluster.nomination_delay
    core.on_loop = isinstance(executor, AsyncioExecutor) and executor.loop is cluster.loop
    if not executor.inline:
        core.binding_limit = cluster.binding_limit
        cluster.on_limit_change = lambda limit: core.inbox.put(BindLimit(limit))


def search_for(
    cache: Cache, objects: ObjectStore, rng: Random, config: EffectiveConfig, options: SchedulerOptions
) -> Search:
    """Return a search as *config* and *options* ask for it, which remembers nothing yet."""
    tuning = options["tuning"]
    sampling = fast = None
    keeps_order = options["score_all_nodes"] is False
    if samples(config, options):
        sampling = Sampling(cache, config.percentage_of_nodes_to_score, keeps_order)
    if tuning.remember != 0 and not keeps_order:
        fast = FastSearch(EquivalenceCache(objects, tuning.remember), rng)
    if fast is None or not tuning.verify:
        return Search(cache, rng, sampling, fast=fast)
    return VerifyingSearch(cache, rng, sampling, fast=fast, share=tuning.verify)


def samples(config: EffectiveConfig, options: SchedulerOptions) -> bool:
    """Return whether searches may look at some of the nodes only."""
    score_all_nodes = options["score_all_nodes"]
    if score_all_nodes != "auto":
        return not score_all_nodes
    default = config.percentage_of_nodes_to_score
    own = [profile.percentage_of_nodes_to_score for profile in config.profiles]
    if not default and all(each is None for each in own):
        return False
    # Without score plugins the first feasible node in search order is taken, whatever the percentage.
    return not all(
        (default if percentage is None else percentage) == 100 and profile.plugins.get("score")
        for percentage, profile in zip(own, config.profiles, strict=True)
    )


def build_frameworks(
    core: Core, config: EffectiveConfig, registry: Registry, options: SchedulerOptions
) -> dict[str, Framework]:
    """Return a framework for each profile. :class:`ConfigError`, and none is left, if a plugin fails."""
    guards: list[Guard] = [TableGuard(core.cache.table)] if options["debug"] else []
    found: dict[str, Framework] = {}
    for profile in config.profiles:
        handle = SchedulerHandle(profile.scheduler_name, core)
        try:
            name = profile.scheduler_name
            watching = [*guards, *core.observers.guards_of(name)]
            framework = build_framework(profile, registry, handle, watching, core.observers.timer_of(name))
        except PluginError as error:
            close_frameworks(core, found.values(), core.frameworks.values())
            raise ConfigError(f"profile {profile.scheduler_name}: {error}") from error
        handle.attach(framework)
        found[profile.scheduler_name] = framework
    return found


def use_frameworks(core: Core, frameworks: Mapping[str, Framework]) -> None:
    """Schedule by *frameworks* from now on."""
    core.frameworks.clear()
    core.frameworks.update(frameworks)
    for framework in frameworks.values():
        if isinstance(framework.handle, SchedulerHandle):
            core.receivers.update(framework.handle.receivers)


def close_frameworks(core: Core, frameworks: Iterable[Framework], in_use: Iterable[Framework] = ()) -> None:
    """Close the plugins of *frameworks*, each once; their faults are reported.

    An instance that the program passed is shared by profiles: it stays open as long as one *in_use* has it.
    """
    left = {id(plugin) for framework in in_use for plugin in framework.plan.plugins.values()}
    for framework in frameworks:
        for problem in framework.close(left):
            core.report(problem, None, "close")
        left.update(map(id, framework.plan.plugins.values()))


def queue_options(
    core: Core,
    config: EffectiveConfig,
    frameworks: Mapping[str, Framework],
    extenders: Sequence[Extender],
) -> QueueOptions:
    """Return the options of the queue of all profiles; they agree on how it is sorted, as was validated."""
    framework = next(iter(frameworks.values()))
    document, plan = config.config, framework.plan
    sorter = next(name for name, _ in framework.profile.plugins["queueSort"] if name in plan.plugins)

    def on_fault(plugin: str, error: BaseException, pod: Pod) -> None:
        core.report_returned(from_exception(plugin, "queueing", error, pod), pod, "queueing")
        if not isinstance(error, plugin_faults()):
            core.inbox.put(InterruptedQueueing(pod))  # an interruption says nothing about the pod

    return QueueOptions(
        sort_key=plan.queue_sort_key,
        less=plan.queue_sort_less,
        sorter=sorter,
        profiles={name: _queue_profile(each, extenders) for name, each in frameworks.items()},
        clock=lambda: core.now,
        # The machine's clock moves on between turns; a pass over the queue takes less than a second.
        tolerance=1.0 if isinstance(core.clock, SystemClock) else 0.0,
        initial_backoff=float(document.pod_initial_backoff_seconds or 0),
        max_backoff=float(document.pod_max_backoff_seconds or 0),
        pod_lister=core.pending.get,
        on_fault=on_fault,
        counts=core.observers.queue_counts,
    )


def _queue_profile(framework: Framework, extenders: Sequence[Extender]) -> QueueProfile:
    rejecting = framework.rejecting_plugins()
    by_extenders = {EXTENDER: EVERYTHING} if extenders else {}
    return QueueProfile(
        tuple((entry.name, entry.call) for entry in framework.plan.pre_enqueue),
        {
            name: EVERYTHING if registered is None else registered
            for name, registered in framework.events().items()
            if registered is not None or name in rejecting
        }
        | by_extenders,
        group_gates=frozenset(
            entry.name
            for entry in framework.plan.pre_enqueue
            if declares(framework.plan.plugins[entry.name], "admits_by_group")
        ),
        read_answer=read_pre_enqueue,
    )
