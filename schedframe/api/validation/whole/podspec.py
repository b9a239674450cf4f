"""Pods and templates of pods: what their parts have to do with each other.

Source of the rules: ``ValidatePodSpec`` and ``ValidatePodCreate`` of pkg/apis/core/validation. A template is
validated without the defaulting of pods, and its labels are not added to selectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from ...._base.wording import described
from ....errors import InputError
from ...paths import steps_of
from ...requirements import parse_integer
from ...valuecodecs import at_key
from ..pod_fields import PORTS
from ..rules import check_label_key, check_name, check_range
from .host_names import (
    check_dns_config,
    check_dns_policy,
    check_host_aliases,
    check_host_name,
    check_host_users,
)
from .label_keys import keys_selected_twice
from .pod_resources import check_huge_pages, check_pod_resources
from .reading import is_left_out, mapping, number, objects, sequence, text

_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_SIMPLE: Final = frozenset({"name", "image", "imagePullPolicy", "command", "args", "env", "resources"})
"""Fields of a container that have nothing to do with the rest of the pod, but for claims of resources."""
_MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class _Pod(NamedTuple):
    """Parts of a pod for the rules: ``below`` are errors of single fields, with paths from the object."""

    spec: Mapping[str, Any]
    name: str
    labels: Mapping[str, Any]
    is_pod: bool
    below: Sequence[InputError]


_Rule = Callable[[_Pod], Iterator[InputError]]


def check_pod(manifest: Mapping[str, Any], below: Sequence[InputError]) -> Iterable[InputError]:
    """Return the errors of a pod over several of its parts. *below*: the errors of its fields."""
    spec, metadata = manifest.get("spec"), mapping(manifest, "metadata")
    if not isinstance(spec, Mapping):
        return ()
    if not below and _OTHERS.isdisjoint(spec) and "annotations" not in metadata and _has_one_simple(spec):
        return ()
    pod = _Pod(spec, text(metadata, "name"), mapping(metadata, "labels"), True, below)
    return chain(_annotation_problems(metadata, spec), (error.at("spec") for error in _problems(pod)))


def _has_one_simple(spec: Mapping[str, Any]) -> bool:
    """Return whether the pod has one container that has nothing to do with other parts."""
    containers = spec.get("containers")
    if type(containers) is not list or len(containers) != 1:
        return False
    container = containers[0]
    if type(container) is not dict or not _SIMPLE.issuperset(container):
        return False
    resources = container.get("resources")
    return resources is None or (type(resources) is dict and "claims" not in resources)


def check_template(template: Mapping[str, Any], below: Sequence[InputError]) -> Iterator[InputError]:
    """Yield the errors of a template of pods over several of its parts."""
    spec = template.get("spec")
    if isinstance(spec, Mapping):
        problems = _problems(_Pod(spec, "", {}, False, below))
        # no LimitRange changes a template
        for error in (*problems, *check_huge_pages(spec, is_pod=False)):
            yield error.at("spec")


def check_admitted_pod(manifest: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a pod that a LimitRange could have mended before."""
    for error in check_huge_pages(mapping(manifest, "spec"), is_pod=True):
        yield error.at("spec")


def _problems(pod: _Pod) -> Iterator[InputError]:
    for key in pod.spec:
        rule = _BY_FIELD.get(key)
        if rule is not None:
            yield from rule(pod)


def _annotation_problems(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[InputError]:
    annotations = metadata.get("annotations")
    if not annotations or not isinstance(annotations, Mapping):
        return
    path = "metadata.annotations"
    if _MIRROR in annotations and not text(spec, "nodeName"):
        problem = "a mirror pod runs on a node, and there is no nodeName"
        yield InputError(f'{path}["{_MIRROR}"]', problem, "write spec.nodeName, or remove the annotation")
    cost = annotations.get(_DELETION_COST)
    if isinstance(cost, str) and not _is_int32(cost):
        problem = f"{described(cost)} is no whole number of 32 bits"
        yield InputError(f'{path}["{_DELETION_COST}"]', problem, 'write a number in quotes, such as "100"')


def _is_int32(written: str) -> bool:
    number = parse_integer(written)
    # the API server takes neither a plus nor a zero in front
    is_plain = written == "0" or not written.startswith(("0", "+"))
    return is_plain and number is not None and -(2**31) <= number < 2**31


def _containers(pod: _Pod) -> Iterator[InputError]:
    yield from _defaulted_requests(pod, "containers")
    yield from _names_twice(objects(pod.spec, "containers"), set())
    yield from _host_ports(pod, objects(pod.spec, "containers"))
    for path, container in objects(pod.spec, "containers"):
        yield from (error.at(path) for error in _references(pod, container))


def _defaulted_requests(pod: _Pod, key: str) -> Iterator[InputError]:
    """Yield the errors of limits also for the requests that a pod gets from them."""
    limits = [error for error in pod.below if ".resources.limits" in error.path] if pod.is_pod else ()
    for path, container in objects(pod.spec, key) if limits else ():
        requests = mapping(mapping(container, "resources"), "requests")
        start = f"spec.{path}.resources.limits"
        for error in limits:
            name = steps_of(error.path)[-1]
            if error.path.startswith(start) and name not in requests:
                problem = f"the request is the limit if there is none, and {error.problem}"
                yield at_key(InputError("", problem, error.fix), name).at("resources.requests").at(path)


def _init_containers(pod: _Pod) -> Iterator[InputError]:
    yield from _defaulted_requests(pod, "initContainers")
    names = {text(container, "name") for _, container in objects(pod.spec, "containers")}
    yield from _names_twice(objects(pod.spec, "initContainers"), names)
    for path, container in objects(pod.spec, "initContainers"):
        # init containers run one after another: each has the ports to itself
        yield from _host_ports(pod, iter([(path, container)]))
        yield from (error.at(path) for error in _references(pod, container))
        if text(container, "restartPolicy") != "Always":
            yield from (error.at(path) for error in _not_in_init_containers(container))


def _not_in_init_containers(container: Mapping[str, Any]) -> Iterator[InputError]:
    for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if not is_left_out(container, key):
            fix = "remove it, or write restartPolicy: Always"
            yield InputError(key, "an init container that ends has none", fix)
    for path, policy in objects(container, "resizePolicy"):
        if text(policy, "restartPolicy") == "RestartContainer":
            error = InputError("restartPolicy", "an init container that ends is not restarted")
            yield error.at(path)


def _ephemeral_containers(pod: _Pod) -> Iterator[InputError]:
    if sequence(pod.spec, "ephemeralContainers"):
        where = "pod is created with" if pod.is_pod else "template has"
        fix = "remove them; kubectl debug adds them to a pod that runs"
        yield InputError("ephemeralContainers", f"no {where} ephemeral containers", fix)


def _names_twice(
    named: Iterator[tuple[str, Mapping[Any, Any]]], seen: set[str], what: str = "containers"
) -> Iterator[InputError]:
    for path, each in named:
        name = text(each, "name")
        if name and name in seen:
            problem = f"two {what} have the name {described(name)}"
            yield InputError("name", problem, "give each a name of its own").at(path)
        seen.add(name)


def _host_ports(pod: _Pod, containers: Iterator[tuple[str, Mapping[Any, Any]]]) -> Iterator[InputError]:
    """Yield errors for ports of the node that are taken twice, and for those that differ on its network."""
    seen: set[tuple[str, str, int]] = set()
    on_node = pod.spec.get("hostNetwork") is True
    for path, container in containers:
        for port_path, port in objects(container, "ports"):
            inner, outer = number(port, "containerPort"), number(port, "hostPort") or 0
            if on_node and outer and outer != inner and path.startswith("containers"):
                problem = f"{outer} differs from the containerPort, and the pod is on the network of the node"
                fix = "leave hostPort out, or write the same number"
                yield InputError("hostPort", problem, fix).at(port_path).at(path)
            if on_node and pod.is_pod and not outer:
                outer = inner or 0
                if outer and (error := check_range(outer, PORTS)) is not None:
                    problem = f"it is the containerPort on the network of the node, and {error.problem}"
                    yield InputError("hostPort", problem, error.fix).at(port_path).at(path)
            taken = (text(port, "protocol") or "TCP", text(port, "hostIP"), outer)
            if outer and taken in seen:
                problem = f"two ports of the pod take {outer} of the node for {taken[0]}"
                yield InputError("hostPort", problem, "use another hostPort").at(port_path).at(path)
            seen.add(taken)


def _references(pod: _Pod, container: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield errors for volumes and claims that a container names and the pod does not have."""
    mounts = [*objects(container, "volumeMounts"), *objects(container, "volumeDevices")]
    volumes = _usable_volumes(pod) if mounts else {}
    for path, mount in mounts:
        name = text(mount, "name")
        if name and name not in volumes:
            known = any(text(volume, "name") == name for _, volume in objects(pod.spec, "volumes"))
            problem = (
                f"the volume {described(name)} of the pod is refused" if known else _none("volume", name)
            )
            fix = "correct the volume" if known else "add it to spec.volumes, or correct the name"
            yield InputError("name", problem, fix).at(path)
        elif name and path.startswith("volumeDevices") and not volumes[name]:
            problem = f"the volume {described(name)} is of no claim, and only claims have block devices"
            yield InputError("name", problem, "mount it with volumeMounts").at(path)
    resources = mapping(container, "resources")
    for path, claim in objects(resources, "claims"):
        name = text(claim, "name")
        if name and name not in (text(each, "name") for _, each in objects(pod.spec, "resourceClaims")):
            fix = "add it to spec.resourceClaims, or correct the name"
            yield InputError(path, _none("claim", name), fix).at("resources")


def _none(what: str, name: str) -> str:
    return f"the pod has no {what} {described(name)}"


def _usable_volumes(pod: _Pod) -> dict[str, bool]:
    """Return name → whether it is a claim, for the volumes that the API server does not refuse.

    A mount of a volume that it refuses is an error, too: it looks for the volume among the right ones.
    """
    own = [*pod.below, *(error.at("spec") for error in _volumes(pod))]
    refused = {error.path.split(".")[1] for error in own if error.path.startswith("spec.volumes[")}
    return {
        text(volume, "name"): bool({"persistentVolumeClaim", "ephemeral"} & volume.keys())
        for path, volume in objects(pod.spec, "volumes")
        if path not in refused
    }


def _volumes(pod: _Pod) -> Iterator[InputError]:
    yield from _names_twice(objects(pod.spec, "volumes"), set(), "volumes")
    if not pod.name:
        return
    made = set()
    for path, volume in objects(pod.spec, "volumes"):
        if is_left_out(volume, "ephemeral") or not (name := text(volume, "name")):
            continue
        claim = f"{pod.name}-{name}"
        made.add(claim)
        if (error := check_name(claim, label=False)) is not None:
            fix = "shorten the name of the volume or of the pod"
            yield InputError("name", f"of the claim {described(claim)}, {error.problem}", fix).at(path)
    for path, volume in objects(pod.spec, "volumes"):
        claim = text(mapping(volume, "persistentVolumeClaim"), "claimName")
        if claim in made:
            problem = f"{described(claim)} is the claim that is made for an ephemeral volume of the pod"
            error = InputError("persistentVolumeClaim.claimName", problem, "mount the ephemeral volume")
            yield error.at(path)


def _gates(pod: _Pod) -> Iterator[InputError]:
    seen: set[str] = set()
    for path, gate in objects(pod.spec, "schedulingGates"):
        name = text(gate, "name")
        if (error := check_label_key(name)) is not None:
            yield InputError(path, f"{described(name)} is no name of a gate", error.fix)
        if name and name in seen:
            yield InputError(path, f"the gate {described(name)} is there twice", "remove one of the two")
        seen.add(name)
    node = text(pod.spec, "nodeName")
    if node and pod.is_pod and sequence(pod.spec, "schedulingGates"):
        problem = f"the pod is on node {described(node)}, and schedulingGates keep it from being placed"
        yield InputError("nodeName", problem, "remove nodeName or the gates")


def _spread(pod: _Pod) -> Iterator[InputError]:
    constraints = list(objects(pod.spec, "topologySpreadConstraints"))
    kinds = [(text(each, "topologyKey"), text(each, "whenUnsatisfiable")) for _, each in constraints]
    for place, (path, constraint) in enumerate(constraints):
        if kinds[place] in kinds[place + 1 :]:
            problem = f"there are two constraints for {' and '.join(filter(None, kinds[place]))}"
            fix = "make one of the two, or write another topologyKey"
            yield InputError("{topologyKey, whenUnsatisfiable}", problem, fix).at(path)
        yield from (error.at(path) for error in keys_selected_twice(constraint, pod.labels))


def _affinity(pod: _Pod) -> Iterator[InputError]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = mapping(mapping(pod.spec, "affinity"), kind)
        for key in terms:
            if not isinstance(key, str):
                continue
            for path, term in objects(terms, key):
                is_weighted = "podAffinityTerm" in term
                own = mapping(term, "podAffinityTerm") if is_weighted else term
                inner = f"{path}.podAffinityTerm" if is_weighted else path
                for error in keys_selected_twice(own, pod.labels):
                    yield error.at(inner).at(kind).at("affinity")


def _claims(pod: _Pod) -> Iterator[InputError]:
    yield from _names_twice(objects(pod.spec, "resourceClaims"), set(), "device claims")


def _resources(pod: _Pod) -> Iterator[InputError]:
    if isinstance(pod.spec["resources"], Mapping):
        yield from check_pod_resources(pod.spec, is_pod=pod.is_pod)


def _of_spec(check: Callable[[Mapping[str, Any]], Iterator[InputError]]) -> _Rule:
    return lambda pod: check(pod.spec)


_BY_FIELD: Final[Mapping[str, _Rule]] = {
    "affinity": _affinity,
    "containers": _containers,
    "dnsConfig": _of_spec(check_dns_config),
    "dnsPolicy": _of_spec(check_dns_policy),
    "ephemeralContainers": _ephemeral_containers,
    "hostAliases": _of_spec(check_host_aliases),
    "hostUsers": _of_spec(check_host_users),
    "hostnameOverride": _of_spec(check_host_name),
    "initContainers": _init_containers,
    "resourceClaims": _claims,
    "resources": _resources,
    "schedulingGates": _gates,
    "topologySpreadConstraints": _spread,
    "volumes": _volumes,
}
"""Field of a spec → what is checked if a pod has it."""
_OTHERS: Final = frozenset(_BY_FIELD) - {"containers"}
