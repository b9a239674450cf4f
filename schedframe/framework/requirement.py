"""Which versions of schedframe a plugin was made for, as the plugin states it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, Final

from .._version import __version__
from ..errors import PluginError

ATTRIBUTE: Final = "requires_schedframe"
"""Class attribute of a plugin: versions it works with, such as ``">=0.3,<0.5"``. Optional."""

_Version = tuple[int, ...]
_COMPARISONS: Final[dict[str, Callable[[_Version, _Version], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION: Final = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


def check_requirement(name: str, plugin: Any, version: str = __version__) -> None:
    """Raise :class:`PluginError` if *plugin* says that it does not work with this *version* of schedframe."""
    stated = getattr(plugin, ATTRIBUTE, None)
    if stated is None:
        return
    if not all(compare(_release(version), wanted) for compare, wanted in _conditions(name, stated)):
        raise PluginError(
            f"plugin {name} needs schedframe {stated}, and this is {version}; install a schedframe that "
            f"fits, or a release of {name} that was made for {version}"
        )


def fits(stated: str, version: str) -> bool:
    """Return whether *version* meets the conditions of a package's requirement.

    Conditions in forms other than those of :data:`ATTRIBUTE` (``~=``, ``==0.3.*``) count as met.
    """
    conditions = (_CONDITION.fullmatch(part) for part in stated.split(","))
    return all(_COMPARISONS[c[1]](_release(version), _release(c[2])) for c in conditions if c is not None)


def _conditions(name: str, stated: Any) -> Iterator[tuple[Callable[[_Version, _Version], bool], _Version]]:
    for part in stated.split(",") if isinstance(stated, str) else (None,):
        condition = _CONDITION.fullmatch(part) if part is not None else None
        if condition is None:
            raise PluginError(
                f"plugin {name}: {ATTRIBUTE} is {stated!r}; write conditions as in '>=0.3,<0.5'"
            )
        yield _COMPARISONS[condition[1]], _release(condition[2])


def _release(version: str) -> _Version:
    """Return the numbers of a version, without suffixes (``.dev1``, ``rc2``) and zeros at the end."""
    numbers = [int(part) for part in takewhile(str.isdigit, re.split(r"[.+-]|(?=rc|a|b)", version))]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
