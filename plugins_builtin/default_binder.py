"""DefaultBinder: bind pods through the cluster port."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import ClassVar

from attrs import define

from schedframe import EventRegistration, Handle, Pod, hookimpl


@define(eq=False)
class DefaultBinder:
    """Bind every pod through the cluster, so bind plugins after this one are never called."""

    handle: Handle

    returns_at_once: ClassVar[bool] = True
    binds_every_pod: ClassVar[bool] = True

    @hookimpl
    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Bind the pod; runs off the core.

        Raises what the cluster raises: the binding cycle distinguishes a refusal (``BindRefused``) from a
        request without an answer (``OutcomeUnknown``).
        """
        return self.handle.cluster.bind(pod, node_name)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """Register nothing: a failed bind is an error, not a rejection that an event could lift."""
        return ()
