"""Packages of extras: what a part of the library that needs one raises without it."""

from __future__ import annotations

from importlib.util import find_spec


def require(extra: str, user: str, *modules: str) -> None:
    """Raise :class:`ModuleNotFoundError`, with the command that helps, if one of *modules* is missing.

    *user*: what needs them, such as ``a real cluster``.
    """
    for module in modules:
        if find_spec(module) is None:
            message = f"{user} needs {module}: pip install 'schedframe[{extra}]'"
            raise ModuleNotFoundError(message, name=module)
