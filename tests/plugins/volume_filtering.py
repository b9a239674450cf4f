"""Nodes, and the statuses that VolumeBinding gives them for a pod with claims."""

from __future__ import annotations

from typing import Any

from plugins_builtin.args import VolumeBindingArgs
from plugins_builtin.volume_binding import VolumeBinding
from plugins_builtin.volume_binding.filtering import (
    ERR_REASON_AFFINITY,
    ERR_REASON_MISSING,
    ERR_REASON_NO_SPACE,
    ERR_REASON_NO_VOLUME,
)
from schedframe import Status
from tests.plugins.agreement import StandInHandle
from tests.plugins.storage import make_class, make_handle, make_node, make_pod, make_volume, verdicts

AFFINITY = Status.unresolvable(ERR_REASON_AFFINITY)
NO_VOLUME = Status.unresolvable(ERR_REASON_NO_VOLUME)
NO_SPACE = Status.unresolvable(ERR_REASON_NO_SPACE)
MISSING = Status.unresolvable(ERR_REASON_MISSING)
OPEN = Status()
NODES = (make_node("n", "a"), make_node("m", "b"), make_node("o"))
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def make_plugin(handle: StandInHandle, **args: Any) -> VolumeBinding:
    return VolumeBinding(VolumeBindingArgs(**args), handle)


def statuses_of(*objects: Any, claims: tuple[str, ...] = ("c",)) -> dict[str, Status]:
    """Return the status of each of NODES for a pod with these *claims*."""
    handle = make_handle(*NODES, *objects)
    found = verdicts(make_plugin(handle), handle, make_pod(*claims))
    assert isinstance(found, dict), found
    return found


def local(name: str, size: str, **fields: Any) -> Any:
    return make_volume(name, "local", size, **fields)


LOCAL = make_class("local", NO_PROVISIONER)
