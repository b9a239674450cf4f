"""Snapshots of objects, as the command takes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from schedframe.cli.offline.anonymize import Anonymizer
from schedframe.cli.offline.snapshot import plugin_classes, snapshot_of
from schedframe.config import EffectiveConfig, load_config
from schedframe.framework import Registry

Manifest = dict[str, Any]


@cache
def registry() -> Registry:
    return Registry.installed()


def loaded(config: Any = None) -> EffectiveConfig:
    return load_config(config, catalogue=registry().full_catalogue())


def snapshots(
    objects: list[Any], config: EffectiveConfig | None = None
) -> tuple[list[Manifest], list[Manifest], Anonymizer]:
    """The snapshot of *objects*, the same with hidden names, and what hid them."""
    config = config or loaded()
    plugins = list(plugin_classes(config, registry()))
    hidden = Anonymizer(configuration=config.to_manifest())
    return snapshot_of(objects, plugins), snapshot_of(objects, plugins, anonymizer=hidden), hidden
