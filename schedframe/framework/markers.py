"""The marks of specifications and implementations of hooks, as pluggy reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from .._base.wording import described
from ..errors import InputError

PROJECT = "schedframe"

hookspec = pluggy.HookspecMarker(PROJECT)
_mark = pluggy.HookimplMarker(PROJECT)

if TYPE_CHECKING:
    hookimpl = _mark
else:

    def hookimpl(function=None, **options):
        """Mark a method of a plugin. Raises :class:`InputError` for what cannot be called."""
        markable = callable(function) or isinstance(function, staticmethod | classmethod | property)
        if function is not None and not markable:
            fix = "put @hookimpl above a method of the plugin"
            raise InputError("hookimpl", f"{described(function)} is not a function", fix)
        return _mark(function, **options)
