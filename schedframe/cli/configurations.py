"""Configurations of commands: how they are read and written, and which of their plugins are left out."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from ..config import EffectiveConfig, dump_config, load_config
from ..framework import Registry
from .exits import reading, writing
from .gates import parsed_gates
from .output.terminal import note


def configuration(
    file: Path | None, registry: Registry, feature_gates: Sequence[str] = (), *, read_files: bool = True
) -> EffectiveConfig:
    """Return the effective configuration of *file*, or the default one. Raises ConfigError, InputError."""
    if file is not None:
        with reading(str(file)), file.open(encoding="utf-8") as stream:
            stream.read()
    gates = parsed_gates(feature_gates)
    catalogue = registry.full_catalogue()
    return load_config(file, catalogue=catalogue, feature_gates=gates, read_files=read_files)


def effective_config(file: Path | None) -> str:
    """Return the effective configuration as YAML text. Raises ConfigError, InputError."""
    return dump_config(configuration(file, Registry.installed(skip_imports=True), read_files=False))


def write_text(path: Path, text: str) -> None:
    """Write a file; :class:`InputError` if that cannot be done."""
    with writing(str(path)):
        path.write_text(text, encoding="utf-8")


def note_left_out(config: EffectiveConfig, plugins: Container[str]) -> None:
    """Note the plugins that *config* enables and that are not among *plugins*."""
    absent = left_out(config, plugins)
    if paths := [name for name in absent if ":" in name]:
        note(f"import paths, which are not followed here and so not checked: {', '.join(paths)}")
    if names := [name for name in absent if ":" not in name]:
        note(f"enabled but not part of this release, so left out: {', '.join(names)}")


def left_out(config: EffectiveConfig, plugins: Container[str]) -> list[str]:
    """Return the plugins that the profiles enable and *plugins* does not have."""
    enabled = {
        name for profile in config.profiles for plugins in profile.plugins.values() for name, _ in plugins
    }
    return sorted(name for name in enabled if name not in plugins)
