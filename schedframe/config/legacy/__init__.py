"""Older configurations: policies, algorithm providers, and v1alpha1 to v1beta3 become v1."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Final

from ..errors import ConfigDecodeError, FieldError
from ..source import read
from .component import PROVIDERS, VERSIONS, ComponentMigration, provider
from .migration import Migration, Note
from .policy import PolicyMigration
from .shapes import check_component, check_policy

__all__ = ["POLICY_ENTRY", "PROVIDERS", "Migration", "Note", "migrate", "provider"]

POLICY_VERSIONS: Final = ("v1", "kubescheduler.config.k8s.io/v1", None)
"""The second one is that of v1.18 to v1.22, which took the first one, too."""
POLICY_ENTRY: Final = "policy.cfg"
"""Entry of a ConfigMap with a policy."""


def migrate(source: str | PathLike[str] | Mapping[str, Any]) -> Migration:
    """Migrate a policy or an older KubeSchedulerConfiguration: a file, its text, or JSON data.

    A policy may be in the entry ``policy.cfg`` of a ConfigMap. Raises ConfigDecodeError with all names that
    no scheduler of these versions had, and for a document of another kind.
    """
    document = read(source)
    data = document.data
    if isinstance(data, Mapping):
        kind, version = data.get("kind"), data.get("apiVersion")
        if kind == "ConfigMap" and version == "v1":
            return migrate(_policy_of(data))
        if kind == "Policy" and version in POLICY_VERSIONS:
            check_policy(data)
            return PolicyMigration(data).migrate()
        if kind == "KubeSchedulerConfiguration" and version in VERSIONS:
            check_component(data)
            return ComponentMigration(data).migrate()
    versions = ", ".join(VERSIONS)
    detail = f"expected a Policy of v1, a ConfigMap with one, or a KubeSchedulerConfiguration of {versions}"
    raise ConfigDecodeError([FieldError.invalid("kind", _kind_of(data), detail)])


def _policy_of(config_map: Mapping[str, Any]) -> str:
    """Return the text of the policy in *config_map*."""
    data = config_map.get("data")
    text = data.get(POLICY_ENTRY) if isinstance(data, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        detail = f"the ConfigMap has no entry {POLICY_ENTRY} with the text of a policy"
        if isinstance(data, Mapping) and data:
            detail += f"; it has {', '.join(sorted(map(str, data)))}"
        raise ConfigDecodeError([FieldError.required("data", detail)])
    return text if "\n" in text else f"{text}\n"


def _kind_of(data: Any) -> str:
    if data is None:
        return "an empty document"
    if not isinstance(data, Mapping):
        return type(data).__name__
    if "kind" not in data:
        return "a document without kind"
    return f"{data.get('kind')} of {data.get('apiVersion')}"
