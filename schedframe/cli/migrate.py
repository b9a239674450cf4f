"""The command ``config migrate``."""

from __future__ import annotations

from pathlib import Path

from .._visible import visible_lines
from ..config import load_config
from ..config.legacy import PROVIDERS, Migration, migrate, provider
from ..errors import InputError
from ..framework import Registry
from .sources import STDIN, standard_input
from .terminal import note
from .yaml_text import yaml_text


def migrated_config(file: Path | None, algorithm_provider: str | None) -> str:
    """Return the configuration of today as YAML text with comments. Raises ConfigError, InputError.

    *file* ``-`` is standard input. What cannot be kept is noted on stderr.
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
    load_config(migration.config, catalogue=Registry.installed(skip_imports=True).full_catalogue())
    return f"{_comment(migration)}\n{yaml_text(migration.config)}\n"


def _comment(migration: Migration) -> str:
    return visible_lines([f"# Migrated from {migration.kind}.", *(f"# {each}" for each in migration.notes)])
