"""Commands whose options are the fields of an attrs class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from attrs import NOTHING, fields

Command = Callable[..., None]


def takes_fields_of(cls: type) -> Callable[[Command], Command]:
    """Decorate a command that takes the fields of *cls* as keywords, so that typer sees them as its options.

    Inherited fields come last. A field without a default is an option that must be given.
    """
    hints = get_type_hints(cls, include_extras=True)
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is NOTHING else each.default,
            annotation=hints[each.name],
        )
        for each in sorted(fields(cls), key=lambda each: each.inherited)
    ]

    def decorate(command: Command) -> Command:
        described: Any = command
        described.__signature__ = inspect.Signature(parameters)
        described.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate
