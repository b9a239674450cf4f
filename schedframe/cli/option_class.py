"""Commands whose options are the fields of an attrs class, instead of a dozen parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from attrs import NOTHING, fields

Options = TypeVar("Options")


def takes(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator of commands: typer reads the fields of *options*, the command gets one of them.

    Types, help and defaults are those of the fields, in their order; inherited ones are last.
    """

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(command)
        def parsed(**given: Any) -> None:
            command(options(**given))

        signature = _signature_of(options)
        parsed.__signature__ = signature  # type: ignore[attr-defined]  # inspect.signature reads it
        parsed.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
        return parsed

    return decorate


def _signature_of(cls: type) -> inspect.Signature:
    hints = get_type_hints(cls, include_extras=True)
    return inspect.Signature(
        [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if each.default is NOTHING else each.default,
                annotation=hints[each.name],
            )
            for each in sorted(fields(cls), key=lambda each: each.inherited)
        ]
    )
