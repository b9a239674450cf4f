"""Older configurations: policies, algorithm providers, and v1alpha1 to v1beta3 become v1."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from ..errors import ConfigDecodeError, FieldError
from ..source import read
from .component import PROVIDERS, VERSIONS, ComponentMigration, provider
from .migration import Migration, Note
from .policy import PolicyMigration
from .shapes import check_component, check_policy

__all__ = ["PROVIDERS", "Migration", "Note", "migrate", "provider"]


def migrate(source: str | PathLike[str] | Mapping[str, Any]) -> Migration:
    """Migrate a policy or an older KubeSchedulerConfiguration: a file, its text, or JSON data.

    Raises ConfigDecodeError with all names that no scheduler of these versions had, and for a document of
    another kind.
    """
    document = read(source)
    data = document.data
    if isinstance(data, Mapping):
        kind, version = data.get("kind"), data.get("apiVersion")
        if kind == "Policy" and version in ("v1", None):
            check_policy(data)
            return PolicyMigration(data).migrate()
        if kind == "KubeSchedulerConfiguration" and version in VERSIONS:
            check_component(data)
            return ComponentMigration(data).migrate()
    detail = f"expected a Policy of v1, or a KubeSchedulerConfiguration of {', '.join(VERSIONS)}"
    raise ConfigDecodeError([FieldError.invalid("kind", _kind_of(data), detail)])


def _kind_of(data: Any) -> str:
    if not isinstance(data, Mapping):
        return type(data).__name__
    return f"{data.get('kind')} of {data.get('apiVersion')}"
