"""Exceptions of plugins that do not end the scheduler. Apart from the other errors: asyncio loads slowly.

Python evaluates the expression of an ``except`` when something is raised. So these are functions, and
asyncio, which takes 6 MB with ``ssl``, is not loaded for its ``CancelledError`` alone.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, NamedTuple

from attrs.exceptions import FrozenInstanceError

from ..errors import ClusterError, PluginError


def plugin_faults() -> tuple[type[BaseException], ...]:
    """Return the exceptions that are faults of the plugin whose hook raised them.

    A hook runs in a plain function, which is never cancelled: a ``CancelledError`` in it is the plugin's own,
    such as that of a loop that it ran.
    """
    return (Exception, *cancellations())


def cancellations() -> tuple[type[BaseException], ...]:
    """Return the exception of a cancelled awaitable; none if asyncio is not loaded."""
    asyncio = sys.modules.get("asyncio")
    return () if asyncio is None else (asyncio.CancelledError,)


def shown(answer: Any) -> str:
    """Return the beginning of ``repr``; the type where ``__repr__``, which is code of the plugin, fails."""
    try:
        return f"{answer!r:.200}"
    except Exception:  # noqa: BLE001 - the answer is reported either way
        return f"{type(answer).__name__} (its repr fails)"


class Place(NamedTuple):
    """A line in the code of a plugin's author."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{_short(self.file)}:{self.line} in {self.function}"


_OWN: Final = "own"
_HERE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STANDARD: Final = os.path.dirname(os.path.abspath(os.__file__))
_BUILTIN: Final = os.path.join(os.path.dirname(_HERE), "plugins_builtin")
_GENERATED: Final = ("<attrs", "<checked", "<frozen", "<__array_function__")


def place_of(error: BaseException) -> Place | None:
    """Return where *error* left the code of the plugin's author; ``None`` if it never was there.

    That is the innermost frame outside of this library, of the standard library and of installed packages;
    for a plugin that is itself installed, the innermost one of its package. O(frames).
    """
    own = installed = package = None
    trace = error.__traceback__
    while trace is not None:
        origin = _origin_of(trace.tb_frame.f_code.co_filename)
        if origin == _OWN:
            own = trace
        elif origin and package in (None, origin):
            package, installed = origin, trace
        trace = trace.tb_next if not _was_raised_before(trace) else None
    found = own or installed
    if found is None:
        return None
    code = found.tb_frame.f_code
    return Place(code.co_filename, found.tb_lineno, code.co_name)


def _was_raised_before(trace: TracebackType) -> bool:
    """Return whether the frames after this one are of an earlier time that the same exception was raised.

    Python puts the new frames before them. They begin where this library caught it, which was not called
    from here; those of another thread, as of a future, do not.
    """
    after = trace.tb_next
    if after is None or not _is_below(after.tb_frame.f_code.co_filename, _HERE):
        return False
    return after.tb_frame.f_back not in (None, trace.tb_frame)


@lru_cache(maxsize=1024)
def _origin_of(file: str) -> str:
    """Return the installed package of a file, :data:`_OWN` for another one; empty for what is no plugin's."""
    if file.startswith(_GENERATED) or _is_below(file, _HERE):
        return ""
    if _is_below(file, _BUILTIN):
        return _BUILTIN
    for folder in ("site-packages", "dist-packages"):
        _, found, rest = file.replace(os.sep, "/").rpartition(f"/{folder}/")
        if found:
            return rest.partition("/")[0]
    return "" if _is_below(file, _STANDARD) else _OWN


def _is_below(file: str, folder: str) -> bool:
    return file.startswith(folder + os.sep)


def _short(file: str) -> str:
    """Return *file* as it is seen from the working directory, if it is below."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return file
    return file[len(folder) + 1 :] if _is_below(file, folder) else file


def fault_text(error: BaseException, about: str = "") -> str:
    """Return the type and message of *error*, and in brackets *about* and the line of the author's code.

    The message alone, if the cluster or an extender said it, or this library about what a plugin answered.
    """
    place = place_of(error)
    if isinstance(error, ClusterError) or (place is None and isinstance(error, PluginError)):
        return message_of(error)
    kind, message = type(error).__name__, message_of(error)
    text = message if message == kind else f"{kind}: {message}"
    where = ", ".join(filter(None, (about, str(place or ""))))
    return f"{text} ({where})" if where else text


def message_of(error: BaseException) -> str:
    """Return the message of *error*; its type where it has none, or where ``__str__`` fails."""
    if isinstance(error, FrozenInstanceError):
        return "API values are immutable: make a changed copy with attrs.evolve"
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - __str__ is code of the plugin; the type still says what was raised
        return type(error).__name__
