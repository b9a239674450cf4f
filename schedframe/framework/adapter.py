"""Call an implementation that names fewer arguments than its specification."""

from __future__ import annotations

from collections.abc import Callable
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
    # eval is safe here: all names are identifiers of our own specifications.
    source = f"lambda {', '.join(specified)}: function({', '.join(named)})"
    # With the name of this file, so that a traceback shows whose frame it is.
    adapted: Callable[..., Any] = eval(compile(source, __file__, "eval"), {"function": function})
    return adapted
