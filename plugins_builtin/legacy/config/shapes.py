"""Is an older document an object of lists of objects where it must be?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from schedframe.config.errors import ConfigDecodeError, FieldError

Shape: TypeAlias = Callable[[str, Any, list[FieldError]], None]


def check_policy(policy: Mapping[str, Any]) -> None:
    """Raise ConfigDecodeError with all fields of *policy* that are unknown or of a wrong type."""
    errors: list[FieldError] = []
    _POLICY("", policy, errors)
    _raise(errors)


def check_component(config: Mapping[str, Any]) -> None:
    """Raise ConfigDecodeError with all fields of an older configuration that are of a wrong type."""
    errors: list[FieldError] = []
    sets = every(objects(enabled=lists_of(objects()), disabled=lists_of(objects())))
    profile = {"plugins": sets, "pluginConfig": lists_of(objects(args=objects()))}
    shape = objects(
        profiles=lists_of(objects(**profile)),
        algorithmSource=objects(policy=objects(file=objects(path=instance_of(str, "the path of a file")))),
        leaderElection=objects(),
        **profile,
    )
    shape("", config, errors)
    _raise(errors)


def objects(**fields: Shape) -> Shape:
    """Return the shape of an object with those *fields*; others have any shape, and null is any."""

    def check(where: str, value: Any, errors: list[FieldError]) -> None:
        if not isinstance(value, Mapping):
            if value is not None:
                errors.append(FieldError.wrong_type(where, value, "an object"))
            return
        for name, shape in fields.items():
            shape(f"{where}.{name}" if where else name, value.get(name), errors)

    return check


def only(**fields: Shape) -> Shape:
    """Return the shape of an object with those *fields* and no others."""
    inner = objects(**fields)

    def check(where: str, value: Any, errors: list[FieldError]) -> None:
        for name in value if isinstance(value, Mapping) else ():
            if name not in fields:
                path = f"{where}.{name}" if where else name
                errors.append(FieldError.unknown(path, f"the fields here are {', '.join(sorted(fields))}"))
        inner(where, value, errors)

    return check


def anything(where: str, value: Any, errors: list[FieldError]) -> None:
    """Accept any value: the shape of a field that is checked elsewhere, or has no effect."""


def every(shape: Shape) -> Shape:
    """Return the shape of an object whose values all have *shape*."""

    def check(where: str, value: Any, errors: list[FieldError]) -> None:
        names = value if isinstance(value, Mapping) else ()
        objects(**dict.fromkeys(names, shape))(where, value, errors)

    return check


def lists_of(shape: Shape) -> Shape:
    """Return the shape of a list whose entries have *shape*, and are not null."""

    def check(where: str, value: Any, errors: list[FieldError]) -> None:
        if value is not None and not isinstance(value, list | tuple):
            errors.append(FieldError.wrong_type(where, value, "a list"))
            return
        for i, entry in enumerate(value or ()):
            if entry is None:
                errors.append(FieldError.required(f"{where}[{i}]"))
            shape(f"{where}[{i}]", entry, errors)

    return check


def _raise(errors: list[FieldError]) -> None:
    if errors:
        raise ConfigDecodeError(errors)


def instance_of(kind: type, expected: str) -> Shape:
    """Return the shape of a value of *kind*, which messages call *expected*; null is any."""

    def check(where: str, value: Any, errors: list[FieldError]) -> None:
        if value is not None and not isinstance(value, kind):
            errors.append(FieldError.wrong_type(where, value, expected))

    return check


_LABEL: Final = instance_of(str, "a label")
_PRESENCE: Final = instance_of(bool, "true or false")
_PREDICATES: Final = lists_of(
    only(
        name=anything,
        argument=objects(
            labelsPresence=only(labels=lists_of(_LABEL), presence=_PRESENCE),
            serviceAffinity=only(labels=lists_of(_LABEL)),
        ),
    )
)
_PRIORITIES: Final = lists_of(
    only(
        name=anything,
        weight=anything,
        argument=objects(
            labelPreference=only(label=_LABEL, presence=_PRESENCE),
            serviceAntiAffinity=only(label=_LABEL),
            requestedToCapacityRatioArguments=only(shape=lists_of(objects()), resources=lists_of(objects())),
        ),
    )
)
_POLICY: Final = only(
    apiVersion=anything,
    kind=anything,
    metadata=anything,
    predicates=_PREDICATES,
    priorities=_PRIORITIES,
    extenders=lists_of(objects()),
    hardPodAffinitySymmetricWeight=anything,
    alwaysCheckAllPredicates=anything,
)
