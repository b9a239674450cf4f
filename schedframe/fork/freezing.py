"""Freeze and thaw: a fork as bytes, from which an equal fork is made, in another process too."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict, Unpack

from .._base.undo import UndoDict
from .._base.value import record
from ..api import Node, Pod
from ..config import EffectiveConfig
from ..controllers.lookup import Controller
from ..cycle import VirtualClock
from ..cycle.start import Start
from ..errors import InputError
from ..framework import Extender, PluginsToPass, Registry
from ..state import Cache, GroupCache, GroupMembers, NodeTable, ObjectStore
from ..state.node_order import NodeOrder
from .cluster import ForkCluster
from .copying import states_of
from .fork import Fork
from .parts import ForkParts
from .scheduler import ForkScheduler, SavingRandom
from .trial import fields_with_containers

VERSION: Final = 1
_HEAD: Final = b"schedframe fork %d\n"
_OPTIONS: Final = ("score_all_nodes", "tuning")
"""Options of the scheduler that are frozen; plugins are given again."""


@record(eq=False)
class Frozen:
    """All that later answers of a fork depend on, in values that can be pickled."""

    now: float
    config: EffectiveConfig
    options: dict[str, Any]
    rows: list[tuple[str | None, Node | None, list[Pod]]]
    """Name, node and pods of each row."""
    free_rows: list[int]
    image_sizes: dict[str, int]
    order: NodeOrder | None
    members: GroupMembers | None
    """``None``: groups are off."""
    pending: list[Pod]
    nominations: dict[str, list[Pod]]
    objects: dict[str, dict[str, Any]]
    cluster: dict[str, dict[str, Any]]
    version: int
    rng: Any
    next_start: int
    own: dict[str, Any]
    """Attributes of the fork itself."""
    controllers: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, fork: Fork, own: dict[str, Any]) -> Frozen:
        """Return what is to be frozen; O(everything)."""
        core, options = fork.scheduler.core, fork.scheduler.options
        table, cache, sampling = core.cache.table, core.cache, core.search.sampling
        names, pods = table.row_names(), table.all_pods()
        objects, version = fork.cluster.copied()
        return cls(
            now=core.now,
            config=fork.scheduler.config,
            options={name: options[name] for name in _OPTIONS},
            rows=[(names[row], table.node_at(row), [*pods[row].values()]) for row in range(table.size)],
            free_rows=table.free_rows(),
            image_sizes=table.images.sizes(),
            order=cache.order.copied() if cache.ordered else None,
            members=core.members.copied() if isinstance(cache, GroupCache) else None,
            pending=[*core.pending.values()],
            nominations={
                name: [*core.queue.nominator.nominated_pods_for_node(name)]
                for name in core.queue.nominator.node_names
            },
            objects=core.objects.copied(),
            cluster=objects,
            version=version,
            rng=core.rng.getstate(),
            next_start=0 if sampling is None else sampling.next_start,
            controllers=state_of_controllers(fork.controllers()),
            own=own,
        )

    def packed(self) -> bytes:
        """Return the bytes."""
        return _HEAD % VERSION + pickle.dumps(self, pickle.HIGHEST_PROTOCOL)


class PluginOptions(TypedDict, total=False):
    """The plugins of a fork, which are no part of its bytes; as for :class:`Simulation`."""

    plugins: PluginsToPass | None
    allow_imports: str | Iterable[str]
    registry: Registry | None
    extenders: Iterable[Extender]


def freeze(fork: Fork) -> bytes:
    """Return *fork* as bytes, for :func:`thaw`; O(everything).

    They have what later answers depend on: objects, rows in their order, pods that wait in their order,
    nominations, members of groups, the generator, the place of the next sample, the calendar, what the
    controllers remember, and what :meth:`.Fork.diff` compares with. Pods that wait in permit count as bound.
    The bytes are versioned.
    """
    fork.scheduler.sync()
    calendar = fork._calendar
    own = {
        "strict": fork.strict,
        "without": fork.without,
        "given": dict(fork.given),
        "notes": (fork._lines, fork._refused, fork.skipped),
        "before": dict(fork._before.items()),
        "calendar": None if calendar is None else (dict(calendar.ends), dict(calendar.durations)),
    }
    return Frozen.of(fork, own).packed()


def thaw(data: bytes, **options: Unpack[PluginOptions]) -> Fork:
    """Return a fork equal to the frozen one: it answers as that would.

    *options*: the plugins that the configuration does not name, as they were given before. Thaw only bytes
    that you or your programs have made: as with pickle, others may run any code. Raises :class:`InputError`
    for bytes of another kind or version, :class:`ConfigError` for plugins that are missing.
    """
    frozen = _unpacked(data)
    fork, own = Fork(_parts_of(frozen, options)), frozen.own
    fork._lines, fork._refused, fork.skipped = own["notes"]
    for key, before in own["before"].items():
        fork._before[key] = before
    if own["calendar"] is not None:
        ends, durations = own["calendar"]
        fork.calendar.durations |= durations
        for uid in [*fork.calendar.ends]:
            del fork.calendar.ends[uid]
        for uid, end in ends.items():
            fork.calendar.ends[uid] = end
    restore_controllers(fork.controllers(), frozen.controllers)
    return fork


def _unpacked(data: bytes) -> Frozen:
    """Return what was frozen. Raises :class:`InputError` for bytes of another kind or version."""
    head = _HEAD % VERSION
    if not isinstance(data, bytes) or not data.startswith(head):
        raise InputError(
            "data", f"this is no frozen fork of version {VERSION}", "give what freeze() returned"
        )
    frozen = pickle.loads(data[len(head) :])  # the documentation says whose bytes to trust
    assert isinstance(frozen, Frozen)
    return frozen


def _parts_of(frozen: Frozen, options: PluginOptions) -> ForkParts:
    """Return the parts of an equal fork, with the plugins of *options*."""
    table = NodeTable.of_rows(frozen.rows, frozen.free_rows, frozen.image_sizes)
    undo, clock = table.undo, VirtualClock(frozen.now)
    cluster = ForkCluster(clock=clock, strict=frozen.own["strict"], undo=undo, is_known=True)
    pods = frozen.cluster.get(Pod.KIND, {})
    cluster.fill(frozen.cluster, frozen.version, dict.fromkeys([pod.uid for pod in pods.values()]))
    objects = ObjectStore(undo=undo)
    objects.fill(frozen.objects)
    rng = SavingRandom()
    rng.setstate(frozen.rng)
    pending = UndoDict(undo, {pod.key: pod for pod in frozen.pending})
    start = Start(undo, pending, rng, _cache_of(frozen, table), objects, frozen.next_start)
    others: Any = {
        name: value for name, value in options.items() if name not in ("strict", "without", "seed")
    }
    scheduler = ForkScheduler(cluster, frozen.config, start, clock=clock, **{**frozen.options, **others})
    scheduler.start()
    for name, nominated in frozen.nominations.items():
        for pod in nominated:
            scheduler.core.queue.nominator.add(pod, name)
    own = frozen.own
    return ForkParts(cluster, scheduler, clock, own["strict"], own["without"], given=own["given"])


def _cache_of(frozen: Frozen, table: NodeTable) -> Cache:
    kept: dict[str, Any] = {"table": table, "states": states_of(table), "ordered": frozen.order is not None}
    if frozen.order is not None:
        kept["order"] = frozen.order
    return Cache(**kept) if frozen.members is None else GroupCache(**kept, members=frozen.members)


def state_of_controllers(controllers: tuple[Controller, ...]) -> dict[str, dict[str, Any]]:
    """Return what *controllers* remember, by name and field."""
    return {
        type(each).__name__: {name: getattr(each, name) for name in fields_with_containers(each)}
        for each in controllers
    }


def restore_controllers(controllers: tuple[Controller, ...], state: Mapping[str, Mapping[str, Any]]) -> None:
    """Let *controllers* remember *state*."""
    for each in controllers:
        for name, value in state.get(type(each).__name__, {}).items():
            setattr(each, name, value)
