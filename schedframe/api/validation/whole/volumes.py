"""Persistent volumes: one source each, what the sources need, capacity and access modes.

Source of the rules: ``ValidatePersistentVolumeSpec`` of pkg/apis/core/validation.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...valuecodecs import at_key
from ..cluster_fields import VOLUME_SOURCES
from ..rules import check_name
from .claims import check_access_modes
from .containers import upward_path_problem
from .reading import is_left_out, mapping, quantity, sequence, text

Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

_LONGEST_DRIVER: Final = 63
_NAMED: Final = "flexVolume"
"""The source that the API server takes besides another one."""
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+\Z", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}\Z"),
}
_RESERVED: Final = (".kubernetes.io", ".k8s.io")
_LONGEST_TENANT: Final = 64
_LONGEST_TARGET: Final = 64
_CSI_SECRETS: Final = (
    *("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef"),
    "nodeExpandSecretRef",
)


def check_volume(manifest: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a persistent volume."""
    spec = mapping(manifest, "spec")
    yield from (error.at("spec") for error in _capacity(spec))
    name = text(mapping(manifest, "metadata"), "name")
    yield from (error.at("spec") for error in _initiator_length(mapping(spec, "iscsi"), name))


def _capacity(spec: Mapping[str, Any]) -> Iterator[InputError]:
    capacity = spec.get("capacity")
    if not isinstance(capacity, Mapping):
        return
    if set(capacity) != {"storage"}:
        found = ", ".join(described(name) for name in capacity) or "nothing"
        yield InputError("capacity", f"a volume has storage, and here is {found}", "write storage: 1Gi alone")
    for name, written in capacity.items():
        amount = quantity(written)
        if amount is not None and amount.nano <= 0:
            error = InputError("", f"{described(written)} is not above 0", "write an amount such as 1Gi")
            yield at_key(error, name).at("capacity")


def check_volume_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a volume over several fields."""
    yield from check_access_modes(spec)
    yield from _sources(spec)
    path = text(mapping(spec, "hostPath"), "path")
    recycled = text(spec, "persistentVolumeReclaimPolicy") == "Recycle"
    if recycled and path and posixpath.normpath(path) in ("/", "//"):
        problem = "Recycle would delete all files of the node, as the hostPath is /"
        yield InputError("persistentVolumeReclaimPolicy", problem, "write Retain")
    if not is_left_out(spec, "volumeAttributesClassName") and is_left_out(spec, "csi"):
        problem = "it is for volumes of CSI drivers, and there is no csi"
        yield InputError("csi", problem, "leave volumeAttributesClassName out")


def _sources(spec: Mapping[str, Any]) -> Iterator[InputError]:
    given = [source for source in VOLUME_SOURCES if not is_left_out(spec, source)]
    for source in given[1:]:
        if source != _NAMED:
            problem = f"the volume has a source already, {given[0]}"
            yield InputError(source, problem, "write one of the two")
    for source in given:
        check = _BY_SOURCE.get(source)
        if check is not None and isinstance(spec[source], Mapping) and source in (given[0], _NAMED):
            yield from (error.at(source) for error in check(spec[source]))
    if given[:1] == ["local"] and is_left_out(spec, "nodeAffinity"):
        problem = "a local volume is on one node, and there is no nodeAffinity that says which"
        yield InputError("nodeAffinity", problem, "select the node in nodeAffinity.required")


def _path(source: Mapping[str, Any]) -> Iterator[InputError]:
    if (error := upward_path_problem(text(source, "path"))) is not None:
        yield error.at("path")


def _nfs(source: Mapping[str, Any]) -> Iterator[InputError]:
    path = text(source, "path")
    if path and not path.startswith("/"):
        yield InputError("path", f"{described(path)} is no absolute path", "begin it with /")


def _csi(source: Mapping[str, Any]) -> Iterator[InputError]:
    driver = text(source, "driver")
    if driver and (error := driver_problem(driver)) is not None:
        yield error.at("driver")
    for key in _CSI_SECRETS:
        secret = source.get(key)
        if isinstance(secret, Mapping):
            yield from (error.at(key) for error in _secret(secret))


def driver_problem(name: str) -> InputError | None:
    """Return the error if *name* is no name of a CSI driver, or of a driver of devices."""
    if len(name) > _LONGEST_DRIVER:
        return InputError("", f"the name has {len(name)} characters", f"use at most {_LONGEST_DRIVER}")
    return check_name(name.lower(), label=False)


def _secret(secret: Mapping[str, Any]) -> Iterator[InputError]:
    for key, is_label in (("name", False), ("namespace", True)):
        name = text(secret, key)
        if not name:
            yield InputError(key, f"a secret needs a name and a namespace, and there is no {key}", "write it")
        elif (error := check_name(name, label=is_label)) is not None:
            yield error.at(key)


def _secret_named(*keys: str) -> Check:
    """Return the check of a source whose secret, if there is one, needs *keys*."""

    def check(source: Mapping[str, Any]) -> Iterator[InputError]:
        secret = source.get("secretRef")
        if not isinstance(secret, Mapping):
            return
        for key in keys:
            if not text(secret, key):
                yield InputError(f"secretRef.{key}", "is missing or empty", f"write the {key} of the secret")

    return check


def _iscsi(source: Mapping[str, Any]) -> Iterator[InputError]:
    for key in ("iqn", "initiatorName"):
        name = text(source, key)
        form = _INITIATORS.get(name[:3])
        if name and (form is None or not form.search(name)):
            fix = "write a name such as iqn.2001-04.com.example:storage.disk1"
            yield InputError(key, f"{described(name)} is no name of iSCSI", fix)
    uses_chap = source.get("chapAuthDiscovery") is True or source.get("chapAuthSession") is True
    if uses_chap and is_left_out(source, "secretRef"):
        yield InputError("secretRef", "CHAP needs a secret, and there is none", "name the secret")
    yield from _secret_named("name")(source)


def _initiator_length(source: Mapping[str, Any], volume: str) -> Iterator[InputError]:
    name = f"{volume}:{text(source, 'targetPortal')}"
    if not is_left_out(source, "initiatorName") and len(name.encode()) > _LONGEST_TARGET:
        problem = f"with an initiatorName, {described(name)} must have at most {_LONGEST_TARGET} characters"
        yield InputError("iscsi.targetPortal", problem, "shorten the name of the volume")


def _fc(source: Mapping[str, Any]) -> Iterator[InputError]:
    names, ids = sequence(source, "targetWWNs"), sequence(source, "wwids")
    if bool(names) == bool(ids):
        problem = "there are targetWWNs and wwids" if names else "there are neither targetWWNs nor wwids"
        yield InputError("targetWWNs", problem, "write one of the two")
    lun = source.get("lun")
    if names and lun is None:
        yield InputError("lun", "targetWWNs need a lun", "write a number from 0 to 255")
    elif names and isinstance(lun, int) and not 0 <= lun <= 255:
        yield InputError("lun", f"{lun} is out of range", "write a number from 0 to 255")


def _flex(source: Mapping[str, Any]) -> Iterator[InputError]:
    for key in mapping(source, "options"):
        domain = f".{key.partition('/')[0].lower()}" if isinstance(key, str) else ""
        if domain.endswith(_RESERVED):
            problem = "options of kubernetes.io and k8s.io are reserved"
            yield at_key(InputError("", problem, "use another name"), key).at("options")


def _quobyte(source: Mapping[str, Any]) -> Iterator[InputError]:
    registry, tenant = text(source, "registry"), text(source, "tenant")
    if registry and len(tenant) > _LONGEST_TENANT:
        problem = f"the tenant has {len(tenant)} characters"
        yield InputError("tenant", problem, f"use at most {_LONGEST_TENANT}")
    elif registry and any(":" not in pair for pair in registry.split(",")):
        problem = f"{described(registry)} is no list of hosts with ports"
        yield InputError("registry", problem, "write host:port, with commas between several")


def _flocker(source: Mapping[str, Any]) -> Iterator[InputError]:
    name = text(source, "datasetName")
    if name and text(source, "datasetUUID"):
        yield InputError("", "there are datasetName and datasetUUID", "write one of the two")
    if "/" in name:
        yield InputError("datasetName", f"{described(name)} contains /", "use another name")


def _azure_file(source: Mapping[str, Any]) -> Iterator[InputError]:
    if source.get("secretNamespace") == "":
        yield InputError("secretNamespace", "it is empty", "write it, or leave it out")


def _azure_disk(source: Mapping[str, Any]) -> Iterator[InputError]:
    kind, address = text(source, "kind"), text(source, "diskURI")
    start = "/subscriptions/" if kind == "Managed" else "https://"
    if kind and address and not address.startswith(start):
        problem = (
            f"the address of a disk of kind {kind} begins with {start}, and {described(address)} does not"
        )
        yield InputError("diskURI", problem, "correct it")


_BY_SOURCE: Final[Mapping[str, Check]] = {
    "azureDisk": _azure_disk,
    "azureFile": _azure_file,
    "cinder": _secret_named("name", "namespace"),
    "csi": _csi,
    "fc": _fc,
    "flexVolume": _flex,
    "flocker": _flocker,
    "hostPath": _path,
    "iscsi": _iscsi,
    "local": _path,
    "nfs": _nfs,
    "quobyte": _quobyte,
    "storageos": _secret_named("name", "namespace"),
}
