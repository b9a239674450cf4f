"""Containers: ports, variables, mounts, probes and hooks, each by itself.

Source of the rules: ``validateContainerCommon`` of pkg/apis/core/validation and the functions that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..pod_fields import PORTS
from ..rules import check_range
from .reading import is_left_out, mapping, number, objects, sequence, text

Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*")
_LONGEST_PORT_NAME: Final = 15
_VARIABLE: Final = re.compile(r"[ -<>-~]+")
"""Printable ASCII characters but ``=``."""
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_VARIABLE_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_container(container: Mapping[str, Any]) -> Iterable[InputError]:
    """Return the errors of a container over several of its fields."""
    return () if _CHECKED.isdisjoint(container) else _problems(container)


def _problems(container: Mapping[str, Any]) -> Iterator[InputError]:
    for key in container:
        check = _BY_FIELD.get(key)
        if check is not None:
            yield from check(container)


def _ports(container: Mapping[str, Any]) -> Iterator[InputError]:
    seen: set[str] = set()
    for path, port in objects(container, "ports"):
        name = text(port, "name")
        if not name:
            continue
        if (error := port_name_problem(name)) is not None:
            yield error.at("name").at(path)
        elif name in seen:
            fix = "give each port of a container a name of its own"
            yield InputError("name", f"two ports have the name {described(name)}", fix).at(path)
        seen.add(name)


def port_name_problem(name: str) -> InputError | None:
    """Return the error if *name* is no name of a port."""
    if len(name) <= _LONGEST_PORT_NAME and _PORT_NAME.fullmatch(name):
        return None
    allowed = "lower case letters, digits and single -, with at least one letter"
    return InputError("", f"{described(name)} is no name of a port", f"use at most 15 {allowed}")


def _mounts(container: Mapping[str, Any]) -> Iterator[InputError]:
    devices = [text(device, "name") for _, device in objects(container, "volumeDevices")]
    device_paths = [text(device, "devicePath") for _, device in objects(container, "volumeDevices")]
    seen: set[str] = set()
    for path, mount in objects(container, "volumeMounts"):
        name, place = text(mount, "name"), text(mount, "mountPath")
        if place and (place in seen or place in device_paths):
            problem = f"two volumes are mounted at {described(place)}"
            yield InputError("mountPath", problem, "mount each at a path of its own").at(path)
        seen.add(place)
        if name and name in devices:
            fix = "list the volume in volumeMounts or in volumeDevices"
            yield InputError("name", f"{described(name)} is among volumeDevices, too", fix).at(path)
        yield from (error.at(path) for error in _mount_problems(mount, container))


def _mount_problems(mount: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[InputError]:
    for key in ("subPath", "subPathExpr"):
        if (error := descending_path_problem(text(mount, key))) is not None:
            yield error.at(key)
    if text(mount, "subPath") and text(mount, "subPathExpr"):
        yield InputError("subPathExpr", "there is a subPath, too", "write one of the two")
    propagation = text(mount, "mountPropagation")
    privileged = mapping(container, "securityContext").get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        fix = "write securityContext: {privileged: true}, or HostToContainer"
        yield InputError("mountPropagation", "Bidirectional needs a privileged container", fix)
    if text(mount, "recursiveReadOnly") in ("Enabled", "IfPossible"):
        if mount.get("readOnly") is not True:
            fix = "write readOnly: true"
            yield InputError("recursiveReadOnly", "the mount is not read-only", fix)
        if propagation not in ("", "None"):
            fix = "write mountPropagation: None, or leave it out"
            yield InputError("recursiveReadOnly", f"it does not go with mountPropagation {propagation}", fix)


def descending_path_problem(path: str) -> InputError | None:
    """Return the error if *path* does not lead down from where it starts."""
    if path.startswith("/"):
        return InputError("", f"{described(path)} is an absolute path", "write it without the first slash")
    return upward_path_problem(path)


def upward_path_problem(path: str) -> InputError | None:
    """Return the error if *path* leads up anywhere."""
    if ".." in path.split("/"):
        return InputError("", f"{described(path)} contains ..", "write a path that does not lead up")
    return None


def _devices(container: Mapping[str, Any]) -> Iterator[InputError]:
    names: set[str] = set()
    places: set[str] = set()
    for path, device in objects(container, "volumeDevices"):
        name, place = text(device, "name"), text(device, "devicePath")
        if name and name in names:
            yield InputError("name", f"{described(name)} is there twice", "remove one of the two").at(path)
        if place and place in places:
            problem = f"two devices have the path {described(place)}"
            yield InputError("devicePath", problem, "give each a path of its own").at(path)
        if (error := upward_path_problem(place)) is not None:
            yield error.at("devicePath").at(path)
        names.add(name)
        places.add(place)


def _variables(container: Mapping[str, Any]) -> Iterator[InputError]:
    for path, variable in objects(container, "env"):
        name = text(variable, "name")
        if name and not _VARIABLE.fullmatch(name):
            fix = "use printable ASCII characters but ="
            yield InputError("name", f"{described(name)} is no name of a variable", fix).at(path)
        if not is_left_out(variable, "valueFrom") and isinstance(variable["valueFrom"], Mapping):
            sources = _given(variable["valueFrom"], _VARIABLE_SOURCES)
            if not sources:
                problem, fix = "it names no source", f"write one of {', '.join(_VARIABLE_SOURCES)}"
                yield InputError("valueFrom", problem, fix).at(path)
            elif text(variable, "value"):
                yield InputError("valueFrom", "there is a value, too", "write one of the two").at(path)
            elif len(sources) > 1:
                problem = f"it names {len(sources)} sources"
                yield InputError("valueFrom", problem, "name one").at(path)


def _variable_sources(container: Mapping[str, Any]) -> Iterator[InputError]:
    for path, source in objects(container, "envFrom"):
        prefix, sources = text(source, "prefix"), _given(source, ("configMapRef", "secretRef"))
        if prefix and not _VARIABLE.fullmatch(prefix):
            fix = "use printable ASCII characters but ="
            yield InputError("prefix", f"{described(prefix)} begins no name of a variable", fix).at(path)
        if len(sources) != 1:
            problem = "it names two sources" if sources else "it names no source"
            yield InputError(path, problem, "write configMapRef or secretRef")


def _given(value: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [key for key in keys if not is_left_out(value, key)]


def _lifecycle(container: Mapping[str, Any]) -> Iterator[InputError]:
    for key, hook in mapping(container, "lifecycle").items():
        if key in ("postStart", "preStop") and isinstance(hook, Mapping):
            yield from (error.at(key).at("lifecycle") for error in _handler_problems(hook))


def _handler_problems(handler: Mapping[str, Any]) -> Iterator[InputError]:
    given = _given(handler, _HANDLERS)
    if not given:
        yield InputError("", "there is no handler", "write exec, httpGet or tcpSocket")
    for key in given[1:]:
        yield InputError(key, f"there is {given[0]}, too", "write one handler")
    for key in ("httpGet", "tcpSocket", "grpc"):
        target = mapping(handler, key)
        if target and (error := _port_problem(target.get("port"))) is not None:
            yield error.at("port").at(key)
    if "exec" in given and isinstance(handler["exec"], Mapping) and not sequence(handler["exec"], "command"):
        yield InputError("exec.command", "is missing or empty", "write the command as a list")


def _port_problem(port: Any) -> InputError | None:
    if isinstance(port, int) and not isinstance(port, bool):
        return check_range(port, PORTS)
    return port_name_problem(port) if isinstance(port, str) else None


def _probe(kind: str) -> Check:
    def check(container: Mapping[str, Any]) -> Iterator[InputError]:
        if isinstance(container[kind], Mapping):
            yield from (error.at(kind) for error in _probe_problems(container[kind], kind))

    return check


def _probe_problems(probe: Mapping[str, Any], kind: str) -> Iterator[InputError]:
    yield from _handler_problems(probe)
    grace, successes = number(probe, "terminationGracePeriodSeconds"), number(probe, "successThreshold")
    if kind == "readinessProbe":
        if grace is not None:
            fix = "leave it out"
            yield InputError("terminationGracePeriodSeconds", "a readiness probe ends no container", fix)
    elif successes not in (None, 0, 1):
        problem = f"{successes} is out of range"
        yield InputError("successThreshold", problem, "write 1, as only readiness probes may need more")
    if grace is not None and grace <= 0:
        problem = f"{grace} is out of range"
        yield InputError("terminationGracePeriodSeconds", problem, "write 1 or more")


def _restart_rules(container: Mapping[str, Any]) -> Iterator[InputError]:
    if sequence(container, "restartPolicyRules") and is_left_out(container, "restartPolicy"):
        fix = "write the restartPolicy that applies otherwise"
        yield InputError("restartPolicy", "restartPolicyRules need a restartPolicy", fix)


def _resize_policies(container: Mapping[str, Any]) -> Iterator[InputError]:
    seen: set[str] = set()
    for path, policy in objects(container, "resizePolicy"):
        name = text(policy, "resourceName")
        if name in seen:
            yield InputError(path, f"there are two policies for {name}", "remove one of the two")
        seen.add(name)


def _security(container: Mapping[str, Any]) -> Iterator[InputError]:
    context = mapping(container, "securityContext")
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged") is True:
        problem = "a privileged container can always gain privileges"
        yield InputError("securityContext", problem, "leave allowPrivilegeEscalation out")
    if "CAP_SYS_ADMIN" in sequence(mapping(context, "capabilities"), "add"):
        problem = "a container with CAP_SYS_ADMIN can always gain privileges"
        yield InputError("securityContext", problem, "leave allowPrivilegeEscalation out")


_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_BY_FIELD: Final[Mapping[str, Check]] = {
    "ports": _ports,
    "volumeMounts": _mounts,
    "volumeDevices": _devices,
    "env": _variables,
    "envFrom": _variable_sources,
    "lifecycle": _lifecycle,
    **{kind: _probe(kind) for kind in _PROBES},
    "restartPolicyRules": _restart_rules,
    "resizePolicy": _resize_policies,
    "securityContext": _security,
}
"""Field → what is checked if a container has it."""
_CHECKED: Final = frozenset(_BY_FIELD)
