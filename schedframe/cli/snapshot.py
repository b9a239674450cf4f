"""``schedframe snapshot``: what scheduling reads of a real cluster, as manifests for the other commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..api.manifest import KINDS, to_manifest
from ..cluster.kubernetes import ApiError, KubernetesCluster
from .anonymize import Anonymizer
from .commands import write_text
from .terminal import emit, note

_UNLISTED = (403, 404)
"""HTTP codes of kinds that this user may not list, or this cluster does not serve."""


def read_cluster(cluster: KubernetesCluster) -> list[dict[str, Any]]:
    """Return the manifests of all objects that scheduling reads; a note names kinds that cannot be listed."""
    manifests: list[dict[str, Any]] = []
    for kind in KINDS:
        try:
            manifests += [to_manifest(obj) for obj in cluster.list(kind)]
        except ApiError as error:
            if error.status not in _UNLISTED:
                raise
            note(f"{kind} is left out: {error.message or error.reason}")
    return manifests


def take_snapshot(kubeconfig: Sequence[str], context: str | None, output: str, *, anonymize: bool) -> None:
    """Write the snapshot to the file *output*, or to standard output for ``-``."""
    with KubernetesCluster.from_kubeconfig(kubeconfig or None, context=context) as cluster:
        manifests = read_cluster(cluster)
    if anonymize:
        hidden = Anonymizer()
        manifests = [hidden.manifest(each) for each in manifests]
    text = as_list(manifests)
    if output == "-":
        emit(text)
    else:
        write_text(Path(output), text + "\n")
        note(f"{len(manifests)} objects are in {output}")


def as_list(manifests: Iterable[dict[str, Any]]) -> str:
    """Return a List with one object a line, which is YAML too."""
    items = ",\n".join(json.dumps(each, separators=(",", ":")) for each in manifests)
    return f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}'
