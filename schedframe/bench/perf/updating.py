"""Update of an object from a template, as by scheduler_perf."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from ...api import Pod
from ...errors import InputError


def updated(current: Any | None, new: Any, *, resized: bool) -> Any:
    """Return *new* as it replaces *current*: a pod keeps its node and status.

    *resized*: only the containers of a pod change. Raises :class:`InputError` if *current* is ``None``.
    """
    if current is None:
        raise InputError("updateAny", f"there is no {new.KIND} {new.key}", "create it before")
    if not isinstance(new, Pod):
        return new
    if resized:
        return evolve(current, spec=evolve(current.spec, containers=new.spec.containers))
    node_name = new.spec.node_name or current.spec.node_name
    return evolve(new, spec=evolve(new.spec, node_name=node_name), status=current.status)
