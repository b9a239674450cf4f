"""``schedframe rbac``: the rights that a scheduler with a configuration needs in a cluster, and no more.

They are those of its plugins, which declare what they read and write, and of the scheduler itself: pods and
nodes, bindings, conditions, events, its lease, and the reviews of those who read its pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..api import KINDS, ClusterObject, PodGroup
from ..api.validation.rules import check_name
from ..api.yaml_writer import to_yaml
from ..cluster import InMemoryCluster
from ..cycle import Scheduler
from ..cycle.handlers import kinds_read
from ..errors import PluginError, Problems
from ..framework import Framework, Registry
from ..framework.declarations import declared
from .configurations import configuration

READ: Final = ("get", "list", "watch")
_ALWAYS_READ: Final = ("Node", "Pod")
_OWN: Final = (
    ("create", "", "pods/binding"),
    ("patch", "", "pods/status"),
    ("create", "events.k8s.io", "events"),
    ("patch", "events.k8s.io", "events"),
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
)
"""(verb, group, resource) of what the scheduler itself writes."""
_OF_GROUPS: Final = (("patch", "scheduling.k8s.io", "podgroups/status"),)
"""The same for pod groups."""


def manifests(
    config: Path | None,
    name: str,
    namespace: str,
    allow_imports: list[str],
    feature_gates: Sequence[str] = (),
) -> str:
    """Return service account, roles and bindings as YAML. Raises ConfigError, InputError, PluginError."""
    _check_names(name, namespace)
    registry = Registry.installed(allow_imports)
    effective = configuration(config, registry, feature_gates)
    with Scheduler(InMemoryCluster(), effective, registry=registry) as scheduler:
        rules = _rules(list(scheduler.core.frameworks.values()), groups=scheduler.groups is not None)
    lease = effective.config.leader_election
    objects = [
        _object("ServiceAccount", name, namespace),
        {**_object("ClusterRole", name), "rules": rules},
        _binding("ClusterRole", name, name, namespace),
    ]
    if lease.leader_elect is not False:
        objects += [
            {
                **_object("Role", name, lease.resource_namespace or namespace),
                "rules": _lease_rules(lease.resource_name or name),
            },
            _binding("Role", name, name, namespace, lease.resource_namespace or namespace),
        ]
    return "---\n".join(f"{to_yaml(each)}\n" for each in objects)


def _rules(frameworks: list[Framework], *, groups: bool) -> list[dict[str, Any]]:
    """Return the rules of the cluster role, one for each group and set of verbs."""
    verbs: dict[tuple[str, str], set[str]] = defaultdict(set)
    own = {kind: cls for each in frameworks for kind, cls in each.kinds().items()}
    places = {kind: _place(kind, cls) for kind, cls in {**KINDS, **own}.items()}
    for kind in {*_ALWAYS_READ, *(kind for each in frameworks for kind in kinds_read(each))}:
        if kind in places:  # events have other names, too
            verbs[places[kind]].update(READ)
    if groups:
        verbs[places[PodGroup.KIND]].update(READ)
    for verb, group, resource in (*_OWN, *(_OF_GROUPS if groups else ())):
        verbs[group, resource].add(verb)
    for verb, kind, part in _rights_of_plugins(frameworks, places):
        group, plural = places[kind]
        verbs[group, f"{plural}/{part}" if part else plural].add(verb)
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), allowed in sorted(verbs.items()):
        by_verbs[group, tuple(sorted(allowed))].append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(allowed)}
        for (group, allowed), resources in by_verbs.items()
    ]


def _rights_of_plugins(
    frameworks: Iterable[Framework], kinds: Container[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (verb, kind, part or "") of what plugins write. Raises PluginError for other kinds."""
    for framework in frameworks:
        for name, plugin in framework.plan.plugins.items():
            for right in declared(plugin, "writes"):
                verb, _, what = right.partition(" ")
                kind, _, part = what.partition("/")
                if kind not in kinds:
                    fix = "write it as in manifests, and declare kinds of your own in kinds"
                    raise PluginError(
                        f"plugin {name}: writes has {right!r}, and {kind} is no known kind; {fix}"
                    )
                yield verb, kind, part


def _check_names(name: str, namespace: str) -> None:
    """Raise :class:`InputErrors` if the API server would refuse a name."""
    problems = Problems()
    for flag, text, label in (("--name", name, False), ("--namespace", namespace, True)):
        problem = check_name(text, label=label)
        if problem is not None:
            problems.errors.append(problem.at(flag))
    problems.raise_any()


def _place(kind: str, cls: type[ClusterObject]) -> tuple[str, str]:
    """Return API group and resource of a kind; for kinds of plugins, the resource that most kinds have."""
    group, slash, _ = cls.API_VERSION.partition("/")
    return group if slash else "", plural_of(kind)


def plural_of(kind: str) -> str:
    """Return the resource of a kind, by the rule that Kubernetes' own kinds follow."""
    name = kind.rpartition("/")[2].lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _lease_rules(name: str) -> list[dict[str, Any]]:
    return [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [name],
            "verbs": ["get", "update"],
        },
    ]


def _object(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    version = "v1" if kind == "ServiceAccount" else "rbac.authorization.k8s.io/v1"
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **where}}


def _binding(role: str, name: str, account: str, namespace: str, where: str = "") -> dict[str, Any]:
    return {
        **_object(f"{role}Binding", name, where),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }
