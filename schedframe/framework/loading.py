"""Load the object of an entry point, with an error that names the real cause.

A version is named only if the installed package needs another version of schedframe than this one: a
requirement that fits is no reason.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from .._base.entry_points import EntryPoint
from .._version import __version__
from ..config.decode import suggestion
from ..errors import PluginError
from .requirement import fits

_REQUIREMENT = re.compile(r"schedframe\s*(?:\[[^\]]*\])?\s*\(?(?P<versions>[^();@]*)\)?\s*")
"""A requirement of schedframe itself without a marker: with one, it may not apply to this installation."""


def load_entry(name: str, entry: EntryPoint) -> Any:
    """Return the object of *entry*; :class:`PluginError` if it cannot be loaded."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # a module that ends the process at its import is a script
        source = entry.value if entry.dist is None else f"{entry.value} of {package_of(entry)}"
        raise PluginError(
            f"plugin {name} cannot be loaded from {source}: {_cause(entry, error)}{_remedy(entry, error)}"
        ) from error


def package_of(entry: EntryPoint) -> str:
    """Return the name and version of the package that offers *entry*."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown package"


def _cause(entry: EntryPoint, error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, SyntaxError):
        # str() of a SyntaxError leaves out the folder of the file.
        return f"{kind}: {error.msg} ({error.filename}, line {error.lineno})"
    text = f"{kind}: {error}" if str(error) else kind
    if isinstance(error, AttributeError) and error.obj is sys.modules.get(entry.module):
        return f"{text}{suggestion(str(error.name), tuple(vars(error.obj)))}"
    return text


def _remedy(entry: EntryPoint, error: BaseException) -> str:
    if entry.dist is None:
        by_path = isinstance(error, ModuleNotFoundError) and entry.name == entry.value
        return "; is it on the path of Python (PYTHONPATH)?" if by_path else ""
    for text in entry.dist.requires or ():
        wanted = _REQUIREMENT.fullmatch(text)
        if wanted is not None and not fits(wanted["versions"], __version__):
            return f" ({package_of(entry)} needs {text}, and this is {__version__})"
    return ""
