"""Encoded pods, nodes and lists of names, kept from one request to the next."""

from __future__ import annotations

from attrs import field

from .._base.value import record
from ..api import Node, Pod, part_to_manifest
from ..framework import OfferedNodes
from .wire import document, encode

_SPEC = object()
"""Key of the JSON of a spec in its memo, which specs that differ in their node share."""
_NO_NAMES: list[str] = []


@record(eq=False)
class Encoding:
    """Parts of request bodies. Core only.

    Kept are the last pod, one that is likely to follow it, the last list of names, which is mostly the one of
    all nodes, and each node in the last version that was sent.
    """

    _pod: tuple[Pod | None, bytes] = field(default=(None, b""), init=False)
    _next: tuple[Pod | None, bytes] = field(default=(None, b""), init=False)
    _names: tuple[list[str], bytes] = field(default=(_NO_NAMES, b"[]"), init=False)
    _nodes: dict[str, tuple[Node, bytes]] = field(factory=dict, init=False)

    def pod(self, pod: Pod) -> bytes:
        """Return the JSON of *pod*."""
        if self._pod[0] is not pod:
            self._pod = self._next if self._next[0] is pod else (pod, _encoded(pod))
        return self._pod[1]

    def prepare(self, pod: Pod) -> None:
        """Encode *pod*, which :meth:`pod` is likely to be called with next."""
        if self._next[0] is not pod:
            self._next = pod, _encoded(pod)

    def names(self, nodes: OfferedNodes) -> bytes:
        """Return the JSON of the names; O(1) for the list object of the last call."""
        known, encoded = self._names
        if known is not nodes.names:
            encoded = encode(nodes.names)
            self._names = nodes.names, encoded
        return encoded

    def nodes(self, nodes: OfferedNodes) -> bytes:
        """Return the JSON of the nodes with commas between them.

        A node that was sent before and did not change is not encoded again.
        """
        kept, found = self._nodes, []
        if len(kept) > 2 * len(nodes) + 1024:
            kept.clear()  # most are gone from the cluster
        for node in nodes.nodes:
            known = kept.get(node.name)
            if known is None or known[0] is not node:
                known = kept[node.name] = node, encode(document(node))
            found.append(known[1])
        return b",".join(found)


def _encoded(pod: Pod) -> bytes:
    return encode(document(pod)) if pod.spec.node_name else _encoded_pending(pod)


def _encoded_pending(pod: Pod) -> bytes:
    """Return the JSON of a pod without a node; its spec, the longest part, is kept for pods that share it."""
    memo = pod.spec.memo
    spec = memo.get(_SPEC)
    if spec is None:
        spec = memo[_SPEC] = encode(part_to_manifest(pod.spec))
    parts = {"metadata": encode(part_to_manifest(pod.metadata)), "spec": spec}
    status = part_to_manifest(pod.status)
    if status:
        parts["status"] = encode(status)
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), part) for name, part in parts.items())
