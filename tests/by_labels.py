"""Plugins that hold, refuse or fail the pods whose labels ask for it."""

from __future__ import annotations

from attrs import define

from schedframe import Pod, Status, hookimpl


@define(eq=False)
class Holding:
    """Lets pods with the label ``held`` wait in permit for ten seconds."""

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(10) if "held" in pod.labels else None


@define(eq=False)
class Picky(Holding):
    """Refuses pods with the label ``refused`` at reserve, and raises for those with ``broken``."""

    @hookimpl
    def reserve(self, pod: Pod) -> Status | None:
        if "broken" in pod.labels:
            raise RuntimeError("no")
        return Status.unschedulable("not this one") if "refused" in pod.labels else None
