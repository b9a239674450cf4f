"""``schedframe snapshot``: what scheduling reads of a real cluster, as manifests for the other commands."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..api.manifest import to_manifest
from .anonymize import Anonymizer
from .commands import write_text
from .live import LiveSource
from .terminal import emit_document, note


def take_snapshot(source: LiveSource, output: str, *, anonymize: bool) -> None:
    """Write the snapshot to the file *output*, or to standard output for ``-``."""
    manifests = [to_manifest(obj) for obj in source.read("snapshot")]
    if anonymize:
        manifests = Anonymizer().manifests(manifests)
    text = as_list(manifests)
    if output == "-":
        emit_document(text)
    else:
        write_text(Path(output), text + "\n")
        note(f"{len(manifests)} objects are in {output}")


def as_list(manifests: Iterable[dict[str, Any]]) -> str:
    """Return a List with one object a line, which is YAML too."""
    items = ",\n".join(json.dumps(each, separators=(",", ":")) for each in manifests)
    return f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}'
