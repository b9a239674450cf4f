"""Older configurations: policies, algorithm providers, and v1alpha1 to v1beta3 become v1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any, Final

from attrs import evolve

from schedframe.config.errors import ConfigDecodeError, FieldError
from schedframe.config.model import GROUP_VERSION, KIND
from schedframe.config.source import read

from .component import PROVIDERS, VERSIONS, ComponentMigration, provider
from .migration import Migration, Note
from .policy import PolicyMigration
from .shapes import check_component, check_policy

__all__ = ["POLICY_ENTRY", "PROVIDERS", "Migration", "Note", "migrate", "provider"]

POLICY_VERSIONS: Final = ("v1", "kubescheduler.config.k8s.io/v1", None)
"""The second one is that of v1.18 to v1.22, which took the first one, too."""
POLICY_ENTRY: Final = "policy.cfg"
"""Entry of a ConfigMap with a policy."""
_MARK: Final = re.compile(rf"""kind["']?\s*:\s*["']?{KIND}\b""")
"""Part of the text of a configuration."""


def migrate(source: str | PathLike[str] | Mapping[str, Any]) -> Migration:
    """Migrate a policy or an older KubeSchedulerConfiguration: a file, its text, or JSON data.

    A policy may be in the entry ``policy.cfg`` of a ConfigMap, and a configuration in any entry. A
    configuration of v1 stays as it is. Raises ConfigDecodeError with all names that no scheduler of these
    versions had, and for a document of another kind.
    """
    data = read(source).value
    if isinstance(data, Mapping):
        kind, version = data.get("kind"), data.get("apiVersion")
        if kind == "ConfigMap" and version == "v1":
            return _of_config_map(data)
        if kind == "Policy" and version in POLICY_VERSIONS:
            check_policy(data)
            return PolicyMigration(data).migrate()
        if kind == "KubeSchedulerConfiguration" and version in VERSIONS:
            check_component(data)
            return ComponentMigration(data).migrate()
        if kind == KIND and version == GROUP_VERSION:
            return Migration.of(f"{KIND} v1", dict(data), [Note("apiVersion", f"{version}, that of today")])
    versions = ", ".join(VERSIONS)
    detail = f"expected a Policy of v1 or a KubeSchedulerConfiguration of {versions}, or a ConfigMap with one"
    raise ConfigDecodeError([FieldError.invalid("kind", _kind_of(data), detail)])


def _of_config_map(config_map: Mapping[str, Any]) -> Migration:
    """Migrate the policy or the configuration in *config_map*; with a note on others that it has."""
    data = config_map.get("data")
    entries = data if isinstance(data, Mapping) else {}
    texts = {
        str(name): text if "\n" in text else f"{text}\n" for name, text in entries.items() if _is_text(text)
    }
    found = (
        [POLICY_ENTRY] if POLICY_ENTRY in texts else [n for n, text in texts.items() if _MARK.search(text)]
    )
    if not found:
        detail = (
            f"the ConfigMap has no entry {POLICY_ENTRY} with the text of a policy, and none with a {KIND}"
        )
        if entries:
            detail += f"; it has {', '.join(sorted(map(str, entries)))}"
        raise ConfigDecodeError([FieldError.required("data", detail)])
    if found == [POLICY_ENTRY]:
        return migrate(texts[POLICY_ENTRY])
    first, *others = found
    migration = migrate(texts[first])
    notes = [Note("data", f"that of the entry {first}")]
    notes += [Note(f"data.{name}", "migrate it on its own", kept=False) for name in others]
    return evolve(migration, notes=(*notes, *migration.notes))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _kind_of(data: Any) -> str:
    if data is None:
        return "an empty document"
    if not isinstance(data, Mapping):
        return type(data).__name__
    if "kind" not in data:
        return "a document without kind"
    return f"{data.get('kind')} of {data.get('apiVersion')}"
