"""Configuration documents for tests."""

from __future__ import annotations

from typing import Any, Final

META: Final = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def configuration(*profiles: Any, **fields: Any) -> dict[str, Any]:
    """A configuration with these profiles (none: the default one) and other fields."""
    return {**META, **({"profiles": list(profiles)} if profiles else {}), **fields}


def enabling(*plugins: str) -> dict[str, Any]:
    """A profile with these plugins besides those of the default one."""
    return {"plugins": {"multiPoint": {"enabled": [{"name": name} for name in plugins]}}}
