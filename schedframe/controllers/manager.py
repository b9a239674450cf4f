"""The controllers of one cluster in memory: they follow its changes until nothing follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from attrs import field

from .._base.brief import brief_of
from .._base.checked import checked_except
from .._base.value import record
from ..api import ClusterObject, PersistentVolumeClaim
from ..cluster import InMemoryCluster, NotFound, Subscription, WatchEvent
from ..errors import InvariantError
from .admission import Admission, AdmissionRefused
from .ephemeral_claims import EphemeralClaims
from .intake import ADMISSION_READS
from .lookup import Controller, Put, Write
from .resource_claims import ResourceClaims
from .switches import chosen, of_admission
from .volumes import BoundVolumes, ClaimBinder

MOST_ROUNDS: Final = 1000
"""How often one key may be looked at before an answer comes to an end; more is a loop of two controllers."""

Without = Collection[str] | Literal["all"]
"""Names of the parts that are switched off, or all of them."""


@record(frozen=True)
class _Seen:
    """The cluster as controllers see it."""

    cluster: InMemoryCluster
    served: Collection[tuple[str, str]]

    def get(self, kind: str, key: str) -> Any | None:
        return self.cluster.get(kind, key)

    def list(self, kind: str) -> Iterable[Any]:
        return self.cluster.list(kind)

    def is_settled(self, kind: str, key: str) -> bool:
        return (kind, key) in self.served


@checked_except("without")
@record(eq=False)
class ControllerManager:
    """Plays the volume controller, the provisioner and the claims controllers for *cluster*.

    Starts with the objects that exist and handles every change, in the thread that makes it. *without*: names
    of parts that are not played, or ``"all"``. Raises :class:`InputError` for an unknown name.

    A claim that says ``volume.kubernetes.io/selected-node``, as the scheduler writes it, gets its volume at
    once, so a pod with such a claim is placed.
    """

    cluster: InMemoryCluster
    without: Without = field(default=(), kw_only=True)
    _controllers: dict[str, Controller] = field(factory=dict, init=False)
    _reading: dict[str, list[Controller]] = field(factory=dict, init=False)
    """Kind → controllers that its changes concern."""
    _queue: dict[tuple[str, str], None] = field(factory=dict, init=False)
    """Controller and key of what is to be looked at."""
    _rounds: Counter[tuple[str, str]] = field(factory=Counter, init=False)
    _is_gathering: bool = field(default=False, init=False)
    """Whether changes are only queued."""
    _served: Collection[tuple[str, str]] = field(default=(), init=False)
    _off: frozenset[str] = field(init=False)
    _refused: list[str] = field(factory=list, init=False)
    """What admission refused of that which controllers made."""
    _subscription: Subscription = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._off = off = chosen(self.without)
        every: tuple[Controller, ...] = (BoundVolumes(), ClaimBinder(), EphemeralClaims(), ResourceClaims())
        for controller in every:
            if controller.NAME not in off:
                self._controllers[type(controller).__name__] = controller
                for kind in controller.READS:
                    self._reading.setdefault(kind, []).append(controller)
        with self.gathering():
            self._subscription = self.cluster.watch(self._on_event, tuple(self._reading) or ("Pod",))

    def close(self) -> None:
        """Handle no more changes."""
        self._subscription.close()

    @property
    def played(self) -> tuple[Controller, ...]:
        """The controllers that are not switched off."""
        return tuple(self._controllers.values())

    @contextmanager
    def gathering(self, served: Collection[tuple[str, str]] = ()) -> Iterator[None]:
        """Handle the changes in this block together, at its end, in an order that does not depend on theirs.

        *served* are kinds and keys of objects that come from a running cluster: its own controllers have done
        with them what they could, so nothing follows from their being there.
        """
        if self._is_gathering:
            yield
            return
        self._is_gathering, self._served = True, served
        try:
            yield
            self._settle()
        finally:
            self._is_gathering, self._served = False, ()

    def notes(self) -> list[str]:
        """Return what was done so far, one line for each kind of change."""
        done = [line for controller in self._controllers.values() for line in controller.notes()]
        return [*done, *self._refused]

    # ---- following ---------------------------------------------------------------------------------------

    def _on_event(self, event: WatchEvent) -> None:
        obj: Any = event.new if event.new is not None else event.old
        if self._served and (event.kind, obj.key) in self._served:
            return
        for controller in self._reading.get(event.kind, ()):
            for key in controller.keys(event):
                self._queue[type(controller).__name__, key] = None
        if self._queue and not self._is_gathering:
            with self.gathering():
                pass

    def _settle(self) -> None:
        self._rounds.clear()
        seen = _Seen(self.cluster, self._served)
        while self._queue:
            wave = sorted(self._queue, key=self._place)
            self._queue.clear()
            for name, key in wave:
                self._count(name, key)
                controller = self._controllers[name]
                if not seen.is_settled(controller.KIND, key):
                    for write in controller.reconcile(key, seen):
                        self._write(write)

    def _place(self, entry: tuple[str, str]) -> tuple[int, str]:
        return list(self._controllers).index(entry[0]), entry[1]

    def _count(self, name: str, key: str) -> None:
        self._rounds[name, key] += 1
        if self._rounds[name, key] > MOST_ROUNDS:
            self._queue.clear()
            raise InvariantError(f"{name} changes what follows from {key} again and again")

    def _write(self, write: Write) -> None:
        if isinstance(write, Put):
            self._put(write.obj)
            return
        try:
            self.cluster.delete(write.kind, write.key)
        except NotFound:
            return  # another write of this wave took it along

    def _put(self, obj: ClusterObject) -> None:
        """Store *obj*, as admission completes it if it is new; a new one that it refuses is left out."""
        if not obj.uid and isinstance(obj, PersistentVolumeClaim):
            classes = [each for kind in ADMISSION_READS for each in self.cluster.list(kind)]
            admission = Admission.of(classes, without=of_admission(self._off))
            try:
                obj = admission.admit(obj).object
            except AdmissionRefused as refusal:
                self._refused.append(f"{obj.KIND} {obj.key} is refused: {refusal}")
                return
        self.cluster.apply(obj)

    @property
    def refused(self) -> list[str]:
        """Return the objects of controllers that admission refused, one line each."""
        return list(self._refused)

    def __repr__(self) -> str:
        return brief_of(self, cluster=self.cluster)
