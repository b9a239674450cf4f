"""Fields that the API server writes: identity, versions and times. Into copies, as objects are values."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

from attrs import fields

from .._base.checked import unchecked
from ..api import ObjectMeta, PodCondition, PodStatus

_STAMPS: Final = ("uid", "resource_version", "creation_timestamp", "deletion_timestamp")


def _compile_stamp() -> Callable[[ObjectMeta, str, str, float | None, float | None], ObjectMeta]:
    """Return a call with all fields by position: 7 times as fast as ``attrs.evolve``, twice as keywords."""
    names = [attribute.name for attribute in fields(ObjectMeta)]
    values = ", ".join(name if name in _STAMPS else f"old.{name}" for name in names)
    source = f"lambda old, {', '.join(_STAMPS)}: ObjectMeta({values})"
    return cast("Callable[..., ObjectMeta]", eval(source, {"ObjectMeta": unchecked(ObjectMeta)}))


stamped_meta: Final = _compile_stamp()
"""``(meta, uid, resource_version, creation_timestamp, deletion_timestamp)``: *meta* with these."""


def with_metadata(obj: Any, metadata: ObjectMeta) -> Any:
    """*obj* with other metadata."""
    return _copy_with_metadata(obj.__class__)(obj, metadata)


@cache
def _copy_with_metadata(cls: type[Any]) -> Callable[[Any, ObjectMeta], Any]:
    """Return ``copy(old, metadata)`` for a class, compiled: ``attrs.evolve`` takes several times as long."""
    values = []
    for each in fields(cls):
        if each.init:
            value = "metadata" if each.name == "metadata" else f"old.{each.name}"
            values.append(f"{each.alias}={value}" if each.kw_only else value)
    source = f"lambda old, metadata: make({', '.join(values)})"
    return cast("Callable[..., Any]", eval(source, {"make": unchecked(cls)}))


def status_with(
    status: PodStatus, condition: PodCondition | None, nominated_node_name: str | None, now: float
) -> PodStatus:
    """*status* with the condition, in the place of the one of its type, and the nomination; itself if equal.

    The transition time is *now* where the condition's status changed, and otherwise stays.
    """
    if nominated_node_name is not None and nominated_node_name != status.nominated_node_name:
        status = status.with_nomination(nominated_node_name)
    if condition is None:
        return status
    old = status.condition(condition.type)
    same_status = old is not None and old.status == condition.status
    moment = old.last_transition_time if old is not None and same_status else now
    new = condition.at(moment)
    if new == old:
        return status
    if old is None:
        return status.with_conditions((*status.conditions, new))
    return status.with_conditions(tuple([new if other is old else other for other in status.conditions]))
