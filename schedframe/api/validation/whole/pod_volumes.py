"""Volumes of pods: one source each, and what the sources need.

Source of the rules: ``validateVolumeSource`` of pkg/apis/core/validation and the functions that it calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...valuecodecs import at_key
from ..rules import check_name
from .containers import descending_path_problem, upward_path_problem
from .reading import is_left_out, mapping, objects, quantity, text

_ORDER: Final = (
    *(
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
    ),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI"),
    *("fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
"""Sources in the order in which the API server looks at them: all but the first one are refused."""
_PLACE: Final = {source: place for place, source in enumerate(_ORDER)}
_OWN: Final = ("labels", "annotations")
"""Members of the metadata of a claim that a template may set."""
_LONGEST_DRIVER: Final = 63


def check_volume(volume: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a volume."""
    sources = [key for key in volume if key in _PLACE and not is_left_out(volume, key)]
    if len(sources) > 1:
        sources.sort(key=_PLACE.__getitem__)
        for source in sources[1:]:
            yield InputError(source, f"the volume has a source already, {sources[0]}", "write one of the two")
    for source in sources[:1]:
        check = _BY_SOURCE.get(source)
        if check is not None and isinstance(volume[source], Mapping):
            yield from (error.at(source) for error in check(volume[source]))


def _empty_dir(source: Mapping[str, Any]) -> Iterator[InputError]:
    written = source.get("sizeLimit")
    if written is None:
        return
    limit = quantity(written)
    if limit is None:
        fix = "write an amount such as 500Mi"
        yield InputError("sizeLimit", f"{described(written)} is not a quantity", fix)
    elif limit.nano < 0:
        yield InputError("sizeLimit", f"{described(written)} is below 0", "write 0 or more")


def _host_path(source: Mapping[str, Any]) -> Iterator[InputError]:
    if (error := upward_path_problem(text(source, "path"))) is not None:
        yield error.at("path")


def _items(source: Mapping[str, Any]) -> Iterator[InputError]:
    for path, item in objects(source, "items"):
        place = text(item, "path")
        error = descending_path_problem(place)
        if error is None and place.startswith(".."):
            error = InputError("", f"{described(place)} begins with ..", "use another name")
        if error is not None:
            yield error.at("path").at(path)


def _csi(source: Mapping[str, Any]) -> Iterator[InputError]:
    driver = text(source, "driver")
    if driver and len(driver) > _LONGEST_DRIVER:
        fix = f"use at most {_LONGEST_DRIVER}"
        yield InputError("driver", f"the name has {len(driver)} characters", fix)
    elif driver and (error := check_name(driver.lower(), label=False)) is not None:
        yield error.at("driver")


def _downward(source: Mapping[str, Any]) -> Iterator[InputError]:
    yield from _items(source)
    for path, item in objects(source, "items"):
        given = [key for key in ("fieldRef", "resourceFieldRef") if not is_left_out(item, key)]
        if len(given) != 1:
            problem = "it names two fields" if given else "it names no field"
            yield InputError(path, problem, "write fieldRef or resourceFieldRef")


def _projected(source: Mapping[str, Any]) -> Iterator[InputError]:
    for path, projection in objects(source, "sources"):
        given = [key for key, value in projection.items() if value is not None]
        if len(given) > 1:
            yield InputError(path, f"it has {len(given)} sources", "write one source in each item")
        for key in ("secret", "configMap"):
            yield from (error.at(key).at(path) for error in _items(mapping(projection, key)))


_BY_SOURCE: Final = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _items,
    "configMap": _items,
    "csi": _csi,
    "downwardAPI": _downward,
    "projected": _projected,
}


def check_claim_template(template: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the template of a claim in a pod: the pod gives the claim its name."""
    for key, value in mapping(template, "metadata").items():
        if key not in _OWN and value not in (None, "", [], {}, 0):
            yield at_key(InputError("", "it cannot be set in a template", "leave it out"), key).at("metadata")


def check_resource_claim(claim: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a device claim of a pod: it names a claim or a template."""
    given = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if not is_left_out(claim, key)]
    if len(given) != 1:
        problem = "it names a claim and a template" if given else "it names neither a claim nor a template"
        yield InputError("", problem, "write resourceClaimName or resourceClaimTemplateName")
