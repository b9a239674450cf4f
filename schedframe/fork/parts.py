"""The parts of which a fork is put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field

from .._base.undo import UndoDict, UndoLog
from .._base.validators import collection
from .._base.value import record
from ..api import AnyObject, ClusterObject, Strict
from ..config import ConfigSource
from ..controllers import Without, Workloads
from ..controllers.switches import chosen
from ..cycle import VirtualClock
from ..cycle.options import SharedOptions
from ..cycle.start import Start
from .cluster import ForkCluster
from .scheduler import ForkScheduler, SavingRandom


class ForkOptions(SharedOptions, total=False):
    """Options of a fork of objects, which are those of a simulation."""

    strict: Strict
    """The treatment of manifests that Kubernetes would refuse, as for :func:`from_manifest`."""
    without: Without
    """Parts of a cluster that are not played, see :meth:`Simulation.add`."""


@record(frozen=True, eq=False)
class ForkParts:
    """A scheduler over a cluster, with the objects that are still to be added."""

    cluster: ForkCluster
    scheduler: ForkScheduler
    clock: VirtualClock
    strict: Strict = True
    without: frozenset[str] = frozenset()
    objects: Iterable[AnyObject] = ()
    workloads: Workloads = Workloads.AUTO
    """What becomes of the workloads among ``objects``."""
    given: Mapping[tuple[str, str], ClusterObject] = field(factory=dict)
    """Kind and key → the object as people have written it, of those that were completed before."""


def parts_of_objects(
    objects: Iterable[Any],
    config: ConfigSource,
    options: ForkOptions,
    workloads: Workloads = Workloads.AUTO,
) -> ForkParts:
    """Return the parts of a fork of API values and manifests."""
    objects = collection("source", objects, "give a list of API values or manifests")
    others: dict[str, Any] = {"seed": 0, **options}
    strict, without = others.pop("strict", True), chosen(others.pop("without", ()))
    clock, undo = VirtualClock(), UndoLog()
    cluster = ForkCluster(clock=clock, strict=strict, undo=undo)
    start = Start(undo, UndoDict(undo), SavingRandom(others["seed"]))
    scheduler = ForkScheduler(cluster, config, start, clock=clock, **others)
    return ForkParts(cluster, scheduler, clock, strict, without, objects, workloads)
