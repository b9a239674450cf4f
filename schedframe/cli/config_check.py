"""The command ``config check``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from attrs import evolve

from ..api.paths import located
from ..cluster import InMemoryCluster
from ..config import EffectiveConfig, load_config
from ..config.decode import decode
from ..config.elsewhere import Elsewhere, enabled_elsewhere, stand_ins
from ..config.remarks import remarks
from ..cycle import Scheduler
from ..framework import Registry
from ..framework.unreached import unreached_binders
from .configurations import note_left_out
from .exits import reading
from .output.terminal import note

_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
"""Begins a document wherever it is, within quotes too."""
_CONTENT: Final = re.compile(r"^(?![ \t\r]*(?:[#%]|\.\.\.|$))", re.MULTILINE)
"""A line that is neither empty nor a comment, a directive or the end of a document."""


def check_config(file: Path, *, read_files: bool = False) -> str:
    """Return one line if a scheduler can be made from *file*. Raises ConfigError, InputError.

    Nothing is imported that only the file names, and no other file is read unless *read_files*. What has no
    effect, and what other schedulers would make of it, is noted on stderr.
    """
    with reading(str(file)), file.open(encoding="utf-8") as stream:
        text = stream.read()
    registry = Registry.installed(skip_imports=True)
    catalogue = registry.full_catalogue()
    given, document = decode(file, catalogue)
    others = enabled_elsewhere(given, catalogue)
    catalogue = catalogue.extended(stand_ins(given, others))
    config = load_config(file, catalogue=catalogue, read_files=read_files)
    _build(config, registry, others, read_files=read_files)
    note_left_out(config, {*registry, *(each.name for each in others)})
    _note_others(others)
    for path, remark in remarks(given, config, catalogue):
        note(f"{document.locate(path)}: {path}: {remark}")
    _note_second(text, str(file))
    names = ", ".join(profile.scheduler_name for profile in config.profiles)
    return f"{file}: good; profiles: {names}"


def _build(config: EffectiveConfig, registry: Registry, others: list[Elsewhere], *, read_files: bool) -> None:
    """Make a scheduler of *config*, unless it cannot do without a plugin that only another project has."""
    names = {each.name for each in others}
    needed = {
        plugin.name
        for profile in config.profiles
        for point in ("queueSort", "bind")
        for plugin in profile.plugins.get(point, ())
    }
    if needed & names:
        return
    if not read_files:
        config = evolve(config, extenders=tuple(evolve(each, tls_config=None) for each in config.extenders))
    with Scheduler(InMemoryCluster(), config, registry=registry) as scheduler:
        for framework in scheduler.core.frameworks.values():
            if unreached := unreached_binders(framework.plan):
                note(f"profile {framework.profile_name}: {unreached}")


def _note_others(others: list[Elsewhere]) -> None:
    for each in others:
        note(f"{each}, and not part of this release; its arguments are not checked")


def _note_second(text: str, name: str) -> None:
    """Note the line at which a second document with some content begins."""
    line, is_second = 1, False
    for part in _SEPARATOR.split(text):
        if _CONTENT.search(part):
            if is_second:
                note(f"{located(name, line)}: a second document begins; only the first one is read")
                return
            is_second = True
        line += part.count("\n")
