"""NodePreferAvoidPods: nodes whose annotation names the controller of a pod score lowest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, Depends, Node, NodeInfo, Pod, Rows, hookimpl

ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_KINDS: Final = ("ReplicationController", "ReplicaSet")
_KEY: Final = "controllers whose pods the node avoids"

Controller: TypeAlias = tuple[str, str]
"""Kind and UID."""


@define(eq=False)
class NodePreferAvoidPods:
    """Score 0 the nodes that avoid the pods of the pod's ReplicationController or ReplicaSet, others 100.

    The weight by default was 10,000, so that no other score could outweigh this one.
    """

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    reads_annotations: ClassVar[tuple[str, ...]] = (ANNOTATION,)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Controller | tuple[()]:
        """Return the controller, an empty tuple unless it is of a kind that nodes can avoid."""
        return _controller_of(pod) or ()

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return 0 if the node avoids the pod, else 100."""
        controller = _controller_of(pod)
        avoided = None if controller is None else _avoided_by(node_info.node)
        return 0 if avoided is not None and controller in avoided else MAX_SCORE

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`, evaluated once for each distinct annotation; O(rows)."""
        controller = _controller_of(pod)
        avoided = rows.table.distinct(_KEY, _avoided_by)
        if controller is None or not avoided.values:
            return np.full(len(rows), MAX_SCORE, np.int64)
        accepts = avoided.decide(lambda controllers: controller not in controllers, True, rows.index)
        return accepts * np.int64(MAX_SCORE)


def _controller_of(pod: Pod) -> Controller | None:
    owner = pod.metadata.controller
    return (owner.kind, owner.uid) if owner is not None and owner.kind in _KINDS else None


def _avoided_by(node: Node) -> frozenset[Controller] | None:
    """Return the controllers that the annotation of *node* names, ``None`` if there are none."""
    text = node.metadata.annotations.get(ANNOTATION)
    return _parsed(text) if text else None


@lru_cache(maxsize=1024)
def _parsed(text: str) -> frozenset[Controller] | None:
    """Return the controllers in the annotation; ``None`` for none, and for an annotation of another form."""
    try:
        return frozenset(_controllers(json.loads(text))) or None
    except (ValueError, TypeError, AttributeError):
        # As the reference: an annotation that cannot be read counts as none.
        return None


def _controllers(annotation: Any) -> Iterator[Controller]:
    for entry in annotation.get("preferAvoidPods") or ():
        controller = (entry.get("podSignature") or {}).get("podController") or {}
        yield str(controller.get("kind", "")), str(controller.get("uid", ""))
