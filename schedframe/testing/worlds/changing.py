"""Changes of a cluster, one after another, as an API server would let them happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import field
from hypothesis import strategies as st

from ..._base.value import record
from ...api import Node, Pod
from .naming import node_renamed, placed
from .object_strategies import nodes as any_node
from .object_strategies import pods as any_pod
from .steps import NODE_CHANGES, relabelled, scaled_down, tolerating, ungated
from .world import Change

Strategy = st.SearchStrategy


@record(frozen=True)
class NewObjects:
    """Objects that come into a cluster, and those that others change to."""

    nodes: Strategy[Node] | None = None
    """``None``: any."""
    pods: Strategy[Pod] | None = None
    """``None``: any."""
    objects: Strategy[Sequence[Any]] | None = None
    """Objects of other kinds; ``None``: they stay as they are."""


@st.composite
def event_sequences(
    draw: st.DrawFn,
    /,
    nodes: Sequence[Node] = (),
    running: Sequence[Pod] = (),
    waiting: Sequence[Pod] = (),
    objects: Sequence[Any] = (),
    *,
    new: NewObjects | None = None,
    max_size: int = 4,
) -> tuple[Change, ...]:
    """Up to *max_size* changes of a cluster of these objects, each beginning where the last one ended.

    Nodes come, go and change; pods start, end, are relabelled or scaled down; a waiting pod gets a toleration
    or another label, or loses its gates; other objects are replaced, created and deleted, as *new* has them.
    What an API server refuses does not happen: a running pod keeps its ports, for example.
    """
    if new is None:
        new = NewObjects()
    now = _Now(
        draw,
        {node.name: node for node in nodes},
        {pod.key: pod for pod in running},
        {pod.key: pod for pod in waiting},
        {(obj.KIND, obj.key): obj for obj in objects},
        new.nodes if new.nodes is not None else any_node("node"),
        new.pods if new.pods is not None else any_pod("pod"),
        new.objects,
    )
    kinds = [draw(st.sampled_from(_KINDS)) for _ in range(draw(st.sampled_from(range(max_size + 1))))]
    return tuple(change for kind in kinds if (change := kind(now)) is not None and change.old != change.new)


@record(eq=False)
class _Now:
    """The objects as they are after the changes so far."""

    draw: st.DrawFn
    nodes: dict[str, Node]
    running: dict[str, Pod]
    waiting: dict[str, Pod]
    objects: dict[tuple[str, str], Any]
    new_nodes: Strategy[Node]
    new_pods: Strategy[Pod]
    new_objects: Strategy[Sequence[Any]] | None
    made: int = field(default=0)

    def one_of(self, things: dict[Any, Any]) -> Any:
        """Return one of these objects, ``None`` if there are none."""
        return self.draw(st.sampled_from(list(things.values()))) if things else None

    # ---- nodes -------------------------------------------------------------------------------------------

    def node_added(self) -> Change:
        drawn = self.draw(self.new_nodes)
        self.made += 1
        node = self.nodes[f"new-{self.made}"] = node_renamed(drawn, f"new-{self.made}")
        return Change(None, node)

    def node_changed(self) -> Change | None:
        """Takes over one aspect of a node that might have been."""
        old = self.one_of(self.nodes)
        if old is None:
            return None
        other = self.draw(self.new_nodes)
        change = self.draw(st.sampled_from(NODE_CHANGES))
        new = self.nodes[old.name] = change(old, other)
        return Change(old, new)

    def node_removed(self) -> Change | None:
        """Its pods are gone by then, as on a node that was drained."""
        used = {pod.node_name for pod in self.running.values()}
        old = self.one_of({name: node for name, node in self.nodes.items() if name not in used})
        if old is None:
            return None
        del self.nodes[old.name]
        return Change(old, None)

    # ---- pods --------------------------------------------------------------------------------------------

    def pod_started(self) -> Change | None:
        node = self.one_of(self.nodes)
        if node is None:
            return None
        self.made += 1
        pod = placed(self.draw(self.new_pods), f"started-{self.made}", node.name)
        self.running[pod.key] = pod
        return Change(None, pod)

    def pod_ended(self) -> Change | None:
        old = self.one_of(self.running)
        if old is None:
            return None
        del self.running[old.key]
        return Change(old, old.with_status(phase="Succeeded") if self.draw(st.booleans()) else None)

    def pod_changed(self) -> Change | None:
        old = self.one_of(self.running)
        if old is None:
            return None
        change = self.draw(st.sampled_from((relabelled, relabelled, scaled_down)))
        new = self.running[old.key] = change(old, self.draw(self.new_pods))
        return Change(old, new)

    def waiting_changed(self) -> Change | None:
        old = self.one_of(self.waiting)
        if old is None:
            return None
        change = self.draw(st.sampled_from((tolerating, relabelled, ungated)))
        new = self.waiting[old.key] = change(old, self.draw(self.new_pods))
        return Change(old, new)

    # ---- others ------------------------------------------------------------------------------------------

    def object_changed(self) -> Change | None:
        if self.new_objects is None:
            return None
        drawn = self.draw(self.new_objects)
        if not drawn or self.draw(st.booleans()):
            old = self.one_of(self.objects)
            if old is None:
                return None
            del self.objects[old.KIND, old.key]
            return Change(old, None)
        new = self.draw(st.sampled_from(list(drawn)))
        old = self.objects.get((new.KIND, new.key))
        self.objects[new.KIND, new.key] = new
        return Change(old, new)


_KINDS: tuple[Callable[[_Now], Change | None], ...] = (
    _Now.node_changed,
    _Now.pod_ended,
    _Now.node_added,
    _Now.waiting_changed,
    _Now.pod_changed,
    _Now.pod_started,
    _Now.object_changed,
    _Now.node_removed,
)
