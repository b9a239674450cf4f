"""The queue in the plainest possible way: one list of pods, one log, everything found by searching.

Written from the rules of the reference, and from nothing in :mod:`schedframe.queue` but its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from schedframe import ClusterEvent, EventRegistration
from schedframe.api import Pod
from schedframe.queue import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, matches, pod_update_events

SKIP, AFTER_BACKOFF, IMMEDIATELY = range(3)
GENERAL_UPDATE = "UnschedulablePodUpdate"


@define(eq=False)
class Entry:
    """A pod that is queued or in flight."""

    pod: Pod
    timestamp: float
    pool: str = ""
    arrival: int = 0
    created: int = 0
    failed: int = 0
    """Number of its last failure."""
    held: bool = False
    attempts: int = 0
    popped: int = 0
    unschedulable_count: int = 0
    error_count: int = 0
    rejectors: set[str] = field(factory=set)
    pending: set[str] = field(factory=set)
    gate: str = ""
    flushed: bool = False


@define(eq=False)
class Model:
    """What a queue does, by definition."""

    clock: Callable[[], float]
    events: Mapping[str, tuple[EventRegistration, ...]]
    gates: Mapping[str, Callable[[Pod], Any]]
    maximum: float
    max_stay: float
    entries: list[Entry] = field(factory=list)
    log: list[Any] = field(factory=list)
    """Uids of pods in flight and (event, old, new, rolled_back), oldest first."""
    flights: dict[str, Entry] = field(factory=dict)
    gone: set[str] = field(factory=set)
    nominations: list[tuple[str, Pod]] = field(factory=list)
    cycle: int = 0
    arrivals: int = 0
    created: int = 0
    failures: int = 0

    # ---- operations --------------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        known = self.find(pod.key) or self.flights.get(pod.uid)
        if known is not None:
            self.gone.discard(pod.uid)
            self.update(known.pod, pod)
        else:
            self.to_active(self.entry(pod), "UnschedulablePodAdd")

    def update(self, old: Pod, new: Pod) -> None:
        if old.uid != new.uid:
            self.delete(old)
            self.add(new)
            return
        if new.uid in self.flights:
            self.log += [(event, old, new, None) for event in pod_update_events(old, new)]
            return
        entry = self.find(new.key)
        if entry is None:
            self.to_active(self.entry(new), GENERAL_UPDATE)
            return
        entry.pod = new
        self.renominate(old, new)
        if entry.pool in ("unschedulable", "gated"):
            for event in pod_update_events(old, new):
                strategy = self.run(entry, event, old, new)
                if strategy and self.requeue(entry, strategy, str(event)):
                    break

    def delete(self, pod: Pod) -> None:
        self.drop_nomination(pod.uid)
        entry = self.find(pod.key)
        if entry is not None and entry.pod.uid == pod.uid:
            self.entries.remove(entry)
        elif pod.uid in self.flights:
            self.gone.add(pod.uid)

    def pop(self) -> Entry | None:
        line = self.order("active") or [entry for entry in self.order("backoff") if not entry.held]
        if not line:
            return None
        entry = line[0]
        self.entries.remove(entry)
        entry.attempts += 1
        self.cycle += 1
        entry.popped = self.cycle
        self.flights[entry.pod.uid] = entry
        self.log.append(entry.pod.uid)
        return entry

    def done(self, uid: str) -> None:
        if uid in self.gone:
            self.drop_nomination(uid)
        self.gone.discard(uid)
        self.flights.pop(uid, None)
        self.log = [record for record in self.log if record != uid]
        while self.log and not isinstance(self.log[0], str):
            del self.log[0]

    def fail(self, entry: Entry, latest: Pod | None, rejectors: set[str], pending: set[str]) -> None:
        uid = entry.pod.uid
        entry.rejectors, entry.pending, entry.gate = set(rejectors), set(pending), ""
        if latest is not None and uid not in self.gone and not self.find(latest.key):
            entry.pod, entry.timestamp, entry.flushed = latest, self.clock(), False
            self.failures += 1
            entry.failed = self.failures
            if rejectors or pending:
                entry.unschedulable_count += 1
                entry.error_count = 0
            else:
                entry.error_count += 1
            strategy, held = AFTER_BACKOFF, False
            if (rejectors or pending) and uid in self.flights:
                seen = [r for r in self.log[self.log.index(uid) :] if not isinstance(r, str)]
                answers = [(self.run(entry, *record[:3]), record[3]) for record in seen]
                strategy = max([SKIP, *(answer for answer, _ in answers)])
                held = all(self.is_old_news(entry, number) for answer, number in answers if answer)
            if strategy:
                self.requeue(entry, strategy, "", held)
            else:
                self.place(entry, "unschedulable")
        self.done(uid)

    def activate(self, pod: Pod) -> None:
        entry = self.find(pod.key)
        if entry is not None and entry.pool != "active":
            self.to_active(entry, "", admitted="backoff" in entry.pool)
        elif pod.uid in self.flights:
            self.log.append((FORCE_ACTIVATE, None, pod, None))

    def move(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        max_priority: int | None = None,
        rolled_back: int | None = None,
    ) -> None:
        wanted = any(matches(r.event, event) for rs in self.events.values() for r in rs)
        if not wanted and not event.is_wildcard:
            return
        for entry in [e for e in self.order("backoff") if e.held and not self.is_old_news(e, rolled_back)]:
            self.place(entry, "backoff")
        waiting = [e for e in self.entries if e.pool in ("unschedulable", "gated")]
        if max_priority is not None:
            waiting = [e for e in waiting if e.pod.priority <= max_priority]
        self.try_again(waiting, event, old, new, rolled_back)

    def flush_backoff(self) -> None:
        for pool in ("backoff", "error_backoff"):
            for entry in self.order(pool):
                if not self.is_backing_off(entry):
                    self.to_active(entry, "", admitted=True)

    def flush_unschedulable(self) -> None:
        waiting = [e for e in self.entries if e.pool in ("unschedulable", "gated")]
        overdue = [e for e in waiting if self.clock() - e.timestamp > self.max_stay + 1e-9]
        for entry in overdue:
            entry.flushed = True
        if overdue:
            self.try_again(overdue, UNSCHEDULABLE_TIMEOUT, None, None)

    def nominate(self, pod: Pod, node_name: str) -> None:
        self.drop_nomination(pod.uid)
        if node_name and pod.uid not in self.gone:
            self.nominations.append((node_name, pod))

    # ---- rules -------------------------------------------------------------------------------------------

    def try_again(
        self, entries: list[Entry], event: ClusterEvent, old: Any, new: Any, rolled_back: int | None = None
    ) -> None:
        for entry in entries:
            gate = self.events.get(entry.gate, ())
            if entry.gate and not any(matches(r.event, event) for r in gate):
                continue
            strategy = self.run(entry, event, old, new)
            if strategy:
                self.requeue(entry, strategy, str(event), self.is_old_news(entry, rolled_back))
        if self.flights:
            self.log.append((event, old, new, rolled_back))

    @staticmethod
    def is_old_news(entry: Entry, rolled_back: int | None) -> bool:
        return rolled_back is not None and entry.popped <= rolled_back

    def run(self, entry: Entry, event: ClusterEvent, old: Any, new: Any) -> int:
        rejectors = entry.rejectors | entry.pending
        if not rejectors:
            return AFTER_BACKOFF
        if event.is_wildcard:
            return AFTER_BACKOFF if new is None or new.uid == entry.pod.uid else SKIP
        answers = [SKIP]
        for plugin in rejectors:
            for registration in self.events.get(plugin, ()):
                if matches(registration.event, event) and _says_queue(registration, entry.pod, old, new):
                    answers.append(IMMEDIATELY if plugin in entry.pending else AFTER_BACKOFF)
        return max(answers)

    def requeue(self, entry: Entry, strategy: int, cause: str, held: bool = False) -> bool:
        if (held or strategy == AFTER_BACKOFF) and self.is_backing_off(entry):
            if not self.passes(entry):
                return False
            rejected = entry.rejectors or entry.pending
            self.place(entry, "backoff" if rejected else "error_backoff", held=bool(held and rejected))
            return True
        return self.to_active(entry, cause)

    def to_active(self, entry: Entry, cause: str, *, admitted: bool = False) -> bool:
        if not admitted and not self.passes(entry):
            return False
        self.place(entry, "active")
        if cause in ("UnschedulablePodAdd", GENERAL_UPDATE):
            self.nominate(entry.pod, entry.pod.status.nominated_node_name)
        return True

    def passes(self, entry: Entry) -> bool:
        for plugin in sorted(self.gates, key=lambda name: name != entry.gate):
            if self.gates[plugin](entry.pod) is not None:
                entry.gate = plugin
                entry.rejectors.add(plugin)
                self.place(entry, "gated")
                return False
        entry.gate = ""
        return True

    def place(self, entry: Entry, pool: str, *, held: bool = False) -> None:
        if entry not in self.entries:
            self.entries.append(entry)
        self.arrivals += 1
        entry.pool, entry.arrival, entry.held = pool, self.arrivals, held

    def expiry(self, entry: Entry) -> int:
        count = entry.error_count or entry.unschedulable_count
        wait = min(2.0 ** (count - 1), self.maximum) if count else 0
        return int(entry.timestamp + wait + 1e-7)

    def is_backing_off(self, entry: Entry) -> bool:
        return bool(entry.attempts) and self.maximum > 0 and self.expiry(entry) >= int(self.clock() + 1e-7)

    def renominate(self, old: Pod, new: Pod) -> None:
        kept = [name for name, held in self.nominations if held.uid == old.uid]
        said = old.status.nominated_node_name or new.status.nominated_node_name
        self.nominate(new, kept[0] if kept and not said else new.status.nominated_node_name)

    def drop_nomination(self, uid: str) -> None:
        self.nominations = [entry for entry in self.nominations if entry[1].uid != uid]

    def entry(self, pod: Pod) -> Entry:
        self.created += 1
        return Entry(pod, self.clock(), created=self.created)

    # ---- looking -----------------------------------------------------------------------------------------

    def find(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.pod.key == key), None)

    def order(self, pool: str) -> list[Entry]:
        def rank(entry: Entry) -> tuple[Any, ...]:
            by_queue = (-entry.pod.priority, entry.timestamp, entry.failed, entry.created)
            if pool == "active":
                return by_queue
            if pool == "backoff":
                return (entry.held, self.expiry(entry), *by_queue)
            return (self.expiry(entry), entry.arrival)

        return sorted((entry for entry in self.entries if entry.pool == pool), key=rank)


def _says_queue(registration: EventRegistration, pod: Pod, old: Any, new: Any) -> bool:
    try:
        return registration.hint is None or bool(registration.hint(pod, old, new))
    except ValueError:
        return True
