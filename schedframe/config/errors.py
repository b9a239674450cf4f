"""Errors of a configuration, field by field, and the three exceptions that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal

import attrs

from .._base.brief import shortened, shown
from .._base.checked import checked
from .._base.value import value
from ..api.valuecodecs import describe
from ..errors import ConfigError

Stage = Literal["decode", "validate", "build"]


class FieldErrorType(StrEnum):
    """Kinds of field errors; the values are the API server's ``reason`` strings."""

    INVALID = "FieldValueInvalid"
    """A value that is not allowed."""
    REQUIRED = "FieldValueRequired"
    """A field that must have a value has none."""
    DUPLICATE = "FieldValueDuplicate"
    """A value that may occur only once occurs twice."""
    NOT_SUPPORTED = "FieldValueNotSupported"
    """A value outside of its enumeration."""
    FORBIDDEN = "FieldValueForbidden"
    """A field that must not be set here."""
    TYPE_INVALID = "FieldValueTypeInvalid"
    """Only while decoding: a value of the wrong JSON type."""
    UNKNOWN = "FieldUnknown"
    """Only while decoding: no such field."""


_HEADLINES: Mapping[FieldErrorType, str] = {
    FieldErrorType.INVALID: "invalid value",
    FieldErrorType.REQUIRED: "required",
    FieldErrorType.DUPLICATE: "duplicate",
    FieldErrorType.NOT_SUPPORTED: "unsupported value",
    FieldErrorType.FORBIDDEN: "forbidden",
    FieldErrorType.TYPE_INVALID: "wrong type",
    FieldErrorType.UNKNOWN: "unknown field",
}
_WITH_VALUE: Final = frozenset(
    {FieldErrorType.INVALID, FieldErrorType.DUPLICATE, FieldErrorType.NOT_SUPPORTED}
)
"""Types whose detail need not repeat the value."""


_LONGEST: Final = 2000
"""Characters of a part of a message; names and values of a configuration have any length."""


@value
class FieldError:
    """One thing wrong with one field.

    ``field`` is the path in the document (``profiles[0].pluginConfig[0].args.hardPodAffinityWeight``),
    ``detail`` says what is wrong and what to write instead, ``location`` is ``file:line`` where the document
    has lines.
    """

    type: FieldErrorType
    field: str
    value: Any = None
    detail: str = ""
    location: str = attrs.field(default="", eq=False)

    def __str__(self) -> str:
        parts = [part for part in (self.location, self.field) if part]
        head = _HEADLINES[self.type]
        if self.type in _WITH_VALUE:
            head = f"{head} {_shown(self.value)}"
        parts += [head, *([self.detail] if self.detail else [])]
        return ": ".join([shortened(part, _LONGEST) for part in parts])

    @classmethod
    def invalid(cls, path: str, value: object, detail: str) -> FieldError:
        """The value cannot be used; *detail* says which can."""
        return cls(FieldErrorType.INVALID, path, value, detail)

    @classmethod
    def required(cls, path: str, detail: str = "must be set") -> FieldError:
        """The field must have a value."""
        return cls(FieldErrorType.REQUIRED, path, None, detail)

    @classmethod
    def duplicate(cls, path: str, value: object, detail: str = "may occur only once") -> FieldError:
        """The value occurs already."""
        return cls(FieldErrorType.DUPLICATE, path, value, detail)

    @classmethod
    @checked
    def not_supported(cls, path: str, value: object, supported: Iterable[str]) -> FieldError:
        """The value is not in a fixed set."""
        known = ", ".join(f'"{item}"' for item in supported)
        return cls(FieldErrorType.NOT_SUPPORTED, path, value, f"use one of {known}")

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        """The field must not be set here."""
        return cls(FieldErrorType.FORBIDDEN, path, None, detail)

    @classmethod
    def wrong_type(cls, path: str, value: object, expected: str) -> FieldError:
        """The value has the wrong JSON type; *expected* is the right one (``an object``)."""
        return cls(FieldErrorType.TYPE_INVALID, path, value, f"expected {expected}, got {describe(value)}")

    @classmethod
    def unknown(cls, path: str, detail: str) -> FieldError:
        """There is no such field; *detail* suggests one."""
        return cls(FieldErrorType.UNKNOWN, path, None, detail)


def _shown(value: object) -> str:
    return shown(str(value) if isinstance(value, StrEnum) else value, 80)


class ConfigStageError(ConfigError):
    """A configuration refused at one stage; ``errors`` has all field errors of the stage."""

    stage: ClassVar[Stage]

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        listed = [str(error) for error in self.errors]
        count = f"{len(listed)} errors:\n  " if len(listed) > 1 else ""
        super().__init__(f"configuration refused ({self.stage}): {count}" + "\n  ".join(listed))

    def __reduce__(self) -> tuple[type[ConfigStageError], tuple[tuple[FieldError, ...]]]:
        return type(self), (self.errors,)


class ConfigDecodeError(ConfigStageError):
    """The document is not a KubeSchedulerConfiguration: syntax, unknown or repeated fields, wrong types."""

    stage: ClassVar[Stage] = "decode"


class ConfigValidationError(ConfigStageError):
    """The values do not make sense; ``errors`` has all of them."""

    stage: ClassVar[Stage] = "validate"


class ConfigBuildError(ConfigStageError):
    """No scheduler can be built from it: unknown plugins, points they do not implement, extenders, …"""

    stage: ClassVar[Stage] = "build"
