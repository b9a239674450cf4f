"""Binding through the cluster port."""

from __future__ import annotations

from attrs import define

from schedframe import EventRegistration, Handle, Pod, hookimpl


@define(eq=False)
class DefaultBinder:
    """Asks the cluster to bind the pod. Takes every pod, so plugins after it never get one."""

    handle: Handle

    @hookimpl
    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind; runs off the core.

        What the cluster raises is left to the binding cycle, which has to tell a refusal (``BindRefused``)
        from a request without an answer (``OutcomeUnknown``).
        """
        self.handle.cluster.bind(pod, node_name)

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        """None: a bind that fails is an error, not a rejection that some event could lift."""
        return ()
