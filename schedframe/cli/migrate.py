"""The command ``config migrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plugins_builtin.legacy.config import PROVIDERS, Migration, migrate, provider

from .._base.visible import visible_lines
from ..api.yaml_writer import to_yaml
from ..config import ConfigBuildError, load_config
from ..errors import InputError
from ..framework import Registry
from .offline.sources import standard_input
from .options import STDIN
from .output.terminal import caution, note


def migrated_config(file: Path | None, algorithm_provider: str | None) -> str:
    """Return the configuration of today as YAML text with comments. Raises ConfigError, InputError.

    *file* ``-`` is standard input. What cannot be kept is noted on stderr. Plugins that are not here are
    warnings there and comments in the text; certificates are not read.
    """
    if (file is None) == (algorithm_provider is None):
        raise InputError("config migrate", "give a FILE or --algorithm-provider, one of the two")
    if file is not None:
        migration = migrate(standard_input().read() if str(file) == STDIN else file)
    elif algorithm_provider in PROVIDERS:
        migration = provider(algorithm_provider)
    else:
        raise InputError("--algorithm-provider", f"{algorithm_provider} is neither {' nor '.join(PROVIDERS)}")
    for each in migration.not_kept:
        note(str(each))
    problems = _problems(migration.config)
    for problem in problems:
        caution(problem)
    return f"{_comment(migration, problems)}\n{to_yaml(migration.config)}\n"


def _problems(config: dict[str, Any]) -> list[str]:
    """Return what is missing here for a scheduler of *config*: plugins, for example. Raises ConfigError."""
    catalogue = Registry.installed(skip_imports=True).full_catalogue()
    try:
        load_config(config, catalogue=catalogue, read_files=False)
    except ConfigBuildError as error:
        return [str(each) for each in error.errors]
    return []


def _comment(migration: Migration, problems: list[str]) -> str:
    lines = [f"Migrated from {migration.kind}.", *map(str, migration.notes)]
    return visible_lines([f"# {each}" for each in (*lines, *(f"TO DO: {each}" for each in problems))])
