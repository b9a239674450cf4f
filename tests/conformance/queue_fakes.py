"""The fake plugins of the queue scripts, as data/README.md describes them."""

from __future__ import annotations

from typing import Any

from schedframe import Action, ClusterEvent, EventRegistration, QueueingHint
from schedframe.api import Pod
from schedframe.queue import EVERYTHING


def _label_hint(pod: Pod, old: Any, new: Any) -> QueueingHint:
    said = new.labels.get("ok")
    if said == "err":
        raise ValueError("the node says so")
    return QueueingHint.QUEUE if said == "yes" else QueueingHint.SKIP


def _deletion_hint(pod: Pod, old: Any, new: Any) -> QueueingHint:
    frees = old.labels.get("frees")
    return QueueingHint.QUEUE if frees and frees == pod.labels.get("app") else QueueingHint.SKIP


def _own_hint(pod: Pod, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.QUEUE if new.uid == pod.uid else QueueingHint.SKIP


def _on(resource: str, actions: Action, hint: Any = None) -> EventRegistration:
    return EventRegistration(ClusterEvent(resource, actions), hint)


FAKE_EVENTS = {
    "FakeAlways": (_on("Node", Action.ADD | Action.UPDATE_NODE_LABEL),),
    "FakeLabel": (_on("Node", Action.ADD | Action.UPDATE, _label_hint),),
    "FakeDel": (_on("Pod", Action.DELETE, _deletion_hint),),
    "FakeWild": (_on("*", Action.ALL),),
    "FakeSilent": (),
    "FakeNoExt": EVERYTHING,
    "FakeGate": (_on("Pod", Action.UPDATE_POD_LABEL, _own_hint), _on("Node", Action.ADD)),
    "FakeGateSilent": (),
}


def _closed(pod: Pod) -> str | None:
    return "closed" if pod.labels.get("gate") == "closed" else None


def _silent(pod: Pod) -> str | None:
    return "silent" if pod.labels.get("gate") == "silent" else None


FAKE_GATES = {"FakeGate": _closed, "FakeGateSilent": _silent}
