"""Call an implementation that names fewer arguments than its specification."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any


def adapt(
    function: Callable[..., Any], named: tuple[str, ...], specified: tuple[str, ...]
) -> Callable[..., Any]:
    """Return a callable that takes all *specified* arguments by position and passes on those *named*.

    The function itself where that is the same; else a lambda compiled for just this choice of arguments,
    which costs one more call and nothing else.
    """
    if named == specified:
        return function
    if not set(named) <= set(specified) or not all(name.isidentifier() for name in specified):
        raise ValueError(f"{named} are not among {specified}")
    # A copy: the interpreter specialises the instructions of each code object for what they call.
    return FunctionType(_passing_on(named, specified).replace(), {"function": function})


@cache
def _passing_on(named: tuple[str, ...], specified: tuple[str, ...]) -> CodeType:
    # With the name of this file, so that a traceback shows whose frame it is.
    source = f"lambda {', '.join(specified)}: function({', '.join(named)})"
    # eval is safe here: all names are identifiers of our own specifications.
    code: CodeType = eval(compile(source, __file__, "eval")).__code__
    return code
