"""Write ``schedframe/api/validation/fields.json``: which fields Kubernetes publishes for the kinds we read.

    python docs/_tools/published_fields.py 1.36/internal.go 1.37/internal.go
    python docs/_tools/published_fields.py --deployment 1.36/internal.go

With ``--deployment`` it writes ``tests/examples/deployment_fields.json`` for the other kinds that running the
scheduler in a cluster takes.

Each argument is a file that each Kubernetes release generates from its OpenAPI document, and that has the
same names and types (github.com/kubernetes/client-go, applyconfigurations/internal/internal.go). Only facts
are taken: names of types, names of fields, and types of fields. A field of any of these versions is in the
result; if its type differs, that of the last version is.

The file in the repository is from tag v0.36.3, and from commit 32ce75a7d of 2026-07-24, between
v0.37.0-beta.0 and the release of v1.37.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from schedframe.api import ADMISSION_KINDS, CONTROLLER_KINDS, KINDS
from schedframe.api.validation.published import LATER_VERSIONS, published_name

TARGET = Path(__file__).parents[2] / "schedframe" / "api" / "validation" / "fields.json"
DEPLOYMENT_TARGET = Path(__file__).parents[2] / "tests" / "examples" / "deployment_fields.json"
DEPLOYMENT_TYPES = (
    "coordination.v1.Lease",
    "core.v1.ConfigMap",
    "core.v1.ServiceAccount",
    "events.v1.Event",
    "networking.v1.NetworkPolicy",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
)
SCALARS = {"string": "s", "numeric": "n", "boolean": "b"}
UNTYPED = "a"
SPECIAL = {"Time": "t", "MicroTime": "t"}
"""Types of the API that are written as text; other types without fields are not checked."""


def tables(source: str) -> dict[str, dict[str, Any]]:
    """Return the declared types by name."""
    text = source.split("schemaYAML = typed.YAMLObject(`", 1)[1].split("`)", 1)[0]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {entry["name"]: entry for entry in yaml.load(text, Loader=loader)["types"]}


def short(name: str) -> str:
    """Return ``core.v1.Pod`` for ``io.k8s.api.core.v1.Pod``."""
    for prefix in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg."):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def fields_of(entry: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the fields of a type; ``None`` for a type that is no object with fixed fields."""
    declared: list[dict[str, Any]] | None = entry.get("map", {}).get("fields")
    return declared


def code(declared: dict[str, Any], types: dict[str, dict[str, Any]]) -> str:
    """Return the code of a type, as ``schedframe.api.validation.published`` has them."""
    if "namedType" in declared:
        name = declared["namedType"]
        special = SPECIAL.get(name.rpartition(".")[2])
        if special is not None:
            return special
        return short(name) if name in types and fields_of(types[name]) is not None else UNTYPED
    for kind, mark in (("list", "["), ("map", "{")):
        if kind in declared and "elementType" in declared[kind]:
            return mark + code(declared[kind]["elementType"], types)
    return SCALARS.get(declared.get("scalar", ""), UNTYPED)


def references(codes: dict[str, str]) -> Iterator[str]:
    """Yield the names of the types that the fields of a type have."""
    for each in codes.values():
        name = each.lstrip("[{")
        if "." in name:
            yield name


def read_kinds() -> list[str]:
    """Return the types of :data:`KINDS`, of workloads and of what admission reads."""
    return [
        published_name(cls, version)
        for cls in (*KINDS.values(), *CONTROLLER_KINDS, *ADMISSION_KINDS)
        for version in ("", *LATER_VERSIONS.get(cls.KIND, ()))
    ]


def reachable(types: dict[str, dict[str, Any]], roots: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return *roots* and the types that they consist of, with codes by field."""
    every = {
        short(name): {field["name"]: code(field["type"], types) for field in declared}
        for name, entry in types.items()
        if (declared := fields_of(entry)) is not None
    }
    waiting = [name for name in roots if name in every]  # a release serves few of the versions of a kind
    chosen: dict[str, dict[str, str]] = {}
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen[name] = every[name]
            waiting += references(every[name])
    return {name: dict(sorted(chosen[name].items())) for name in sorted(chosen)}


def main() -> None:
    """Write the file."""
    is_deployment = sys.argv[1:2] == ["--deployment"]
    roots, target = (DEPLOYMENT_TYPES, DEPLOYMENT_TARGET) if is_deployment else (read_kinds(), TARGET)
    found: dict[str, dict[str, str]] = {}
    for file in sys.argv[2 if is_deployment else 1 :]:
        for name, fields in reachable(tables(Path(file).read_text(encoding="utf-8")), roots).items():
            found[name] = dict(sorted((found.get(name, {}) | fields).items()))
    lines = (
        f"{json.dumps(name)}:{json.dumps(codes, separators=(',', ':'))}"
        for name, codes in sorted(found.items())
    )
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{target}: {len(found)} types, {sum(map(len, found.values()))} fields")


if __name__ == "__main__":
    main()
