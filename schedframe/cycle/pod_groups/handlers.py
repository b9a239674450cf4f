"""Events of pods and PodGroups, where groups are scheduled: who their members are, and whom gates admit."""

from __future__ import annotations

import logging
from typing import ClassVar

from ..._base.value import record
from ...api import Pod, PodGroup, group_of
from ...queue import UNSCHEDULABLE_POD_ADD, GroupQueue
from ..binding.bind import emit
from ..handlers import EventHandlers

logger = logging.getLogger("schedframe")

POD_GROUP = PodGroup.KIND


@record(eq=False)
class GroupEventHandlers(EventHandlers):
    """Handlers that also keep the members of groups."""

    ALWAYS: ClassVar[tuple[str, ...]] = (*EventHandlers.ALWAYS, POD_GROUP)

    def follow_profiles(self) -> None:
        """See :class:`EventHandlers`."""
        EventHandlers.follow_profiles(self)
        self._by_kind[POD_GROUP] = self._group

    def _group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        self._stored(old, new)
        if new is not None and new.spec.resource_claims and (old is None or old.uid != new.uid):
            names = ", ".join(claim.name for claim in new.spec.resource_claims)
            logger.warning(
                "pod group %s: its claims are not shared, each pod has its own: %s", new.key, names
            )
        if old is not None and new is not None and old.spec != new.spec:
            queue = self.core.queue
            assert isinstance(queue, GroupQueue)
            queue.reconsider(new.key)

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and group_of(old) != group_of(new):
            # No API server lets a pod change its group: to either group it is another pod.
            self._pod(old, None)
            old = None
        EventHandlers._pod(self, old, new)

    def _pod_pending(self, old: Pod | None, new: Pod) -> None:
        is_new = new.key not in self.core.pending
        if key := group_of(new):
            self.core.members.set_unscheduled(key, new)
        EventHandlers._pod_pending(self, old, new)
        if is_new:
            emit(self.core, UNSCHEDULABLE_POD_ADD, None, new)

    def _no_longer_pending(self, pod: Pod) -> Pod | None:
        known = EventHandlers._no_longer_pending(self, pod)
        if key := group_of(pod):
            self.core.members.remove(key, pod.uid)
        return known
