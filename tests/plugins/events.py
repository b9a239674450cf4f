"""Call the hint of a plugin for an event, as the queue does."""

from __future__ import annotations

from typing import Any

from schedframe.api import Pod
from schedframe.queue import ClusterEvent, matches, with_implied


def hint_of(plugin: Any, event: ClusterEvent, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the hint returns QUEUE. Fails for an event that is not registered."""
    asked = [each for each in with_implied(plugin.events_to_register()) if matches(each.event, event)]
    assert len(asked) == 1, f"{event} matches {len(asked)} registrations of {plugin}"
    return asked[0].hint is None or bool(asked[0].hint(pod, old, new))
