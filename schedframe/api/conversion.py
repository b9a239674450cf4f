"""Older shapes as those of today; paths of errors lead back to the older one.

Claims and devices of v1beta1 and v1alpha3 become those of v1; workloads of the first versions get the
selector that an API server filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .._base.value import record

GROUP: Final = "resource.k8s.io"
V1: Final = f"{GROUP}/v1"
_OLDER: Final = (f"{GROUP}/v1beta1", f"{GROUP}/v1alpha3")
UNREADABLE: Final = (f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2")
"""Versions whose claims were those of drivers, which v1 has nothing for."""

_SELECTING: Final = ("extensions/v1beta1", "apps/v1beta1")
"""Versions in which the labels of the template are the selector by default."""

_REQUEST: Final = re.compile(r"(\brequests\[\d+\])\.exactly\b")
_DEVICE: Final = re.compile(r"^(spec\.devices\[\d+\])\.(?!name\b)")


@record(frozen=True)
class Conversion:
    """A manifest in the shape of today, and a function from paths in it to paths in the manifest as given."""

    manifest: Mapping[str, Any]
    path: Callable[[str], str]


def converted(manifest: Mapping[str, Any], kind: str) -> Conversion | None:
    """Return *manifest* of *kind* in the shape of today; ``None`` if it has that shape. O(size of it)."""
    version = manifest.get("apiVersion")
    if version in _SELECTING:
        return Conversion(_with_selector(manifest), lambda path: path)
    if version not in _OLDER:
        return None
    made = {**manifest, "apiVersion": V1}
    if kind == "ResourceClaim":
        made = _within(made, ("spec", "devices", "requests"), _request)
    elif kind == "ResourceClaimTemplate":
        made = _within(made, ("spec", "spec", "devices", "requests"), _request)
    elif kind == "ResourceSlice":
        made = _within(made, ("spec", "devices"), _device)
        return Conversion(made, lambda path: _DEVICE.sub(r"\1.basic.", path))
    return Conversion(made, lambda path: _REQUEST.sub(r"\1", path, count=1))


def _with_selector(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a workload with the labels of its template as its selector, if it has none."""
    spec = manifest.get("spec")
    labels = spec
    for key in ("template", "metadata", "labels"):
        labels = labels.get(key) if isinstance(labels, Mapping) else None
    if not isinstance(spec, Mapping) or spec.get("selector") or not isinstance(labels, Mapping):
        return manifest
    return {**manifest, "spec": {**spec, "selector": {"matchLabels": labels}}}


def _within(value: Any, steps: tuple[str, ...], convert: Callable[[Any], Any]) -> Any:
    """Return *value* with the items of the list at *steps* converted; itself if there is no such list."""
    if not steps:
        return [convert(each) for each in value] if isinstance(value, list | tuple) else value
    if not isinstance(value, Mapping) or steps[0] not in value:
        return value
    return {**value, steps[0]: _within(value[steps[0]], steps[1:], convert)}


def _request(given: Any) -> Any:
    """Return a request for devices: the fields of the only alternative have an object of their own."""
    if not isinstance(given, Mapping) or given.get("firstAvailable"):
        return given
    outside = {key: value for key, value in given.items() if key == "name"}
    return {**outside, "exactly": {key: value for key, value in given.items() if key not in outside}}


def _device(given: Any) -> Any:
    """Return a device: its ``basic`` fields are its own. A capacity was an amount once."""
    if not isinstance(given, Mapping) or not isinstance(given.get("basic"), Mapping):
        return given
    device = {**{key: value for key, value in given.items() if key != "basic"}, **given["basic"]}
    capacity = device.get("capacity")
    if isinstance(capacity, Mapping):
        device["capacity"] = {
            name: amount if isinstance(amount, Mapping) else {"value": amount}
            for name, amount in capacity.items()
        }
    return device
