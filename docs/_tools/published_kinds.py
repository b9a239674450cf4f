"""Write ``schedframe/api/validation/kinds.json``: which kinds Kubernetes serves, and which it served once.

    python docs/_tools/published_kinds.py api apiextensions-apiserver kube-aggregator

The arguments are git directories of the repositories that declare the types of the API
(github.com/kubernetes/api, apiextensions-apiserver and kube-aggregator), with their tags. Only facts are
taken: the kinds that the versions of a group register, the release that ends one of them, and its successor.

The file in the repository is from the tags kubernetes-1.8.0 to kubernetes-1.36.0, and from commits of
2026-07-24 between v0.37.0-beta.0 and the release of v1.37. A kind that one of the last two has is served.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[2] / "schedframe" / "api" / "validation" / "kinds.json"
FIRST, LAST = 8, 36
NOT_OBJECTS = ("List", "Options")
"""Ends of the names of types that are registered and are no kinds of manifests."""
NOT_STORED = (
    "DeploymentRollback",
    "EphemeralContainers",
    "Example",
    "JobTemplate",
    "NodeConfigSource",
    "PodStatusResult",
    "RangeAllocation",
    "ReplicationControllerDummy",
    "SerializedReference",
    "ThirdPartyResourceData",
)
OTHER_GROUPS = ("admission.k8s.io", "imagepolicy.k8s.io", "apidiscovery.k8s.io")
"""Groups of types that the API server sends to others."""
NO_LONGER_SERVED = {
    ("node.k8s.io/v1alpha1", "RuntimeClass"),
    ("scheduling.k8s.io/v1alpha1", "PriorityClass"),
    *(
        ("rbac.authorization.k8s.io/v1alpha1", kind)
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    ),
}
"""Kinds that were declared for longer than they were served, without the release that ended them."""

_GROUP = re.compile(r'GroupName\s*=\s*"([^"]*)"')
_KIND = re.compile(r"^\s*&(\w+)\{\},", re.MULTILINE)
_REMOVED = re.compile(r"func \(in \*(\w+)\) APILifecycleRemoved\(\)[^{]*\{\s*return 1, (\d+)")
_REPLACED = re.compile(
    r"func \(in \*(\w+)\) APILifecycleReplacement\(\)[^{]*\{\s*return schema.GroupVersionKind\{"
    r'Group: "([^"]*)", Version: "([^"]*)"'
)

Kinds = dict[tuple[str, str], tuple[int, str]]
"""``apiVersion`` and kind → the minor release that ends it (0: none is declared), and its successor."""


def git(directory: str, *arguments: str) -> str:
    """Return the output of a git command; empty if it fails, as for a file that is not there."""
    command = ["git", f"--git-dir={directory}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def declared(directory: str, revision: str) -> Kinds:
    """Return the kinds that the packages of a revision register."""
    found: Kinds = {}
    files = set(git(directory, "ls-tree", "-r", "--name-only", revision).split())
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        version = folder.rpartition("/")[2]
        if name != "register.go" or not re.fullmatch(r"v\d+\w*", version) or folder.startswith("vendor/"):
            continue
        text = git(directory, "show", f"{revision}:{file}")
        group = _GROUP.search(text)
        lifecycle = git(directory, "show", f"{revision}:{folder}/zz_generated.prerelease-lifecycle.go")
        removed = {kind: int(minor) for kind, minor in _REMOVED.findall(lifecycle)}
        replaced = {kind: f"{group}/{version}" for kind, group, version in _REPLACED.findall(lifecycle)}
        if group is None or group[1] in OTHER_GROUPS:
            continue
        api_version = f"{group[1]}/{version}" if group[1] else version
        for kind in _KIND.findall(text):
            if not kind.endswith(NOT_OBJECTS) and kind not in NOT_STORED:
                found[api_version, kind] = removed.get(kind, 0), replaced.get(kind, "")
    return found


def releases(directory: str) -> Iterator[tuple[int, Kinds]]:
    """Yield the kinds of each minor release, and of the one after the last."""
    for minor in range(FIRST, LAST + 1):
        if kinds := declared(directory, f"kubernetes-1.{minor}.0"):
            yield minor, kinds
    yield LAST + 1, declared(directory, "HEAD")


def rank(version: str) -> tuple[int, int, int]:
    """Return the order of versions: v1alpha1, v1beta1, v1, v2."""
    major, stage, minor = re.fullmatch(r"v(\d+)(alpha|beta)?(\d*)", version.rpartition("/")[2]).groups()  # type: ignore[union-attr]
    return ("alpha", "beta", None).index(stage), int(major), int(minor or 0)


def sorted_out(directory: str) -> tuple[set[tuple[str, str]], dict[tuple[str, str], tuple[str, str]]]:
    """Return what is served, and what is gone: since when and the successor (both empty: unknown)."""
    history: dict[tuple[str, str], tuple[int, int, str]] = {}
    for minor, kinds in releases(directory):
        for key, (removed, successor) in kinds.items():
            history[key] = minor, removed, successor
    # a kind may go earlier than was declared
    ended = {key: min(removed or LAST + 2, last + 1) for key, (last, removed, _) in history.items()}
    served = {key for key, end in ended.items() if end > LAST and key not in NO_LONGER_SERVED}

    def successor_of(version: str, kind: str) -> str:
        """Return the best version of a kind that is served: in its group, else in that of its replacement."""
        group = version.rpartition("/")[0]
        others = [v for v, k in served if k == kind and v.rpartition("/")[0] == group]
        replaced = history[version, kind][2] if (version, kind) in history else ""
        if others or not replaced or replaced == version:
            return max(others, key=rank, default="")
        return successor_of(replaced, kind)

    gone = {}
    for version, kind in history.keys() - served:
        since = "" if (version, kind) in NO_LONGER_SERVED else f"1.{ended[version, kind]}"
        gone[version, kind] = since, successor_of(version, kind)
    return served, gone


def main() -> None:
    """Write the file."""
    served: dict[str, list[str]] = {}
    gone: dict[str, dict[str, tuple[str, str]]] = {}
    for directory in sys.argv[1:]:
        found, former = sorted_out(directory)
        for version, kind in sorted(found):
            served.setdefault(version, []).append(kind)
        for version, kind in sorted(former):
            gone.setdefault(version, {})[kind] = former[version, kind]
    parts = [
        f'"{name}":{{\n'
        + ",\n".join(
            f"{json.dumps(version)}:{json.dumps(table[version], separators=(',', ':'))}"
            for version in sorted(table)
        )
        + "\n}"
        for name, table in (("served", served), ("gone", gone))
    ]
    TARGET.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    print(f"{TARGET}: {sum(map(len, served.values()))} kinds served, {sum(map(len, gone.values()))} gone")


if __name__ == "__main__":
    main()
