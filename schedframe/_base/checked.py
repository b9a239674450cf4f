"""Functions and classes whose arguments are checked against their annotations.

A wrong argument is an :class:`InputError` where it is passed, and an unknown keyword a ``TypeError`` with a
similar one. An argument that is the default costs one comparison. Decoders and copies, which make values by
the ten thousand from fields that are checked already, construct them by :func:`unchecked`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial, wraps
from inspect import Parameter
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import attrs

from ..errors import InputError
from .annotations import Check, check_of, hints_of
from .drafts import OPENING, filling_lines
from .wording import unknown_keyword

Made = TypeVar("Made")
T = TypeVar("T", bound=Callable[..., Any])

_UNCHECKED: Final = "_made_unchecked"
_EXACT: Final = {"str": str, "int": int, "bool": bool, "float": float}
_TUPLE: Final = re.compile(r"tuple\[(\w+), \.\.\.\]")
_MOST_LISTED: Final = 10
"""Arguments that an error lists."""
_VARIABLE: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def checked(target: T) -> T:
    """Return a function, or a class with another ``__init__``, that refuses arguments of wrong types.

    ``@checked`` stands above all other decorators but those of methods. Annotations are resolved at the first
    argument that is checked.
    """
    return _checked(target, ())


def checked_except(*names: str) -> Callable[[T], T]:
    """Return :func:`checked` for all arguments but these, which something else checks."""
    return lambda target: _checked(target, names)


def _checked(target: T, left_out: tuple[str, ...]) -> T:
    if isinstance(target, type):
        add = partial(add_initializers, target, left_out)
        # a class that is made at its first use gets them then
        getattr(vars(target).get("__init__"), "after_completion", _call)(add)
        return target
    name = target.__qualname__.removesuffix(".__init__")
    return cast("T", wraps(target)(_calling(_Subject(target, target, name, "", left_out))))


def _call(action: Callable[[], None]) -> None:
    action()


def unchecked(cls: type[Made]) -> Callable[..., Made]:
    """Return the constructor of *cls* without checks; the class itself if it has none."""
    cls.__init__  # noqa: B018  # completes a class that is made at its first use
    return cast("Callable[..., Made]", vars(cls).get(_UNCHECKED, cls))


def check_arguments(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    """Raise :class:`InputError` for the first argument that does not fit the annotation of *function*.

    For functions of the scheduling cycle: they call it when something else failed, and cost nothing before.
    Methods leave ``self`` out.
    """
    checks = _checks_of(function)
    for check, value in zip(checks.values(), arguments, strict=False):
        check(value)
    for name, value in keywords.items():
        checks.get(name, _ignore)(value)


@cache
def _checks_of(function: Callable[..., Any]) -> dict[str, Callable[[Any], None]]:
    """Return parameter → its check, in the order of the parameters."""
    hints = hints_of(function)
    names = [each.name for each in inspect.signature(function).parameters.values() if not _is_owner(each)]
    checks = [(name, check_of(hints[name])) for name in names]
    return {name: _ignore if check is None else partial(check, name) for name, check in checks}


@attrs.frozen
class _Subject:
    """A function to call with checked arguments, and where what messages say comes from."""

    call: Callable[..., Any]
    source: Callable[..., Any]
    """Has the annotations."""
    owner: str
    """What a message about an unknown keyword names."""
    location: str
    """Of errors."""
    left_out: tuple[str, ...]
    """Parameters without a check."""


def add_initializers(
    cls: type[Any], left_out: tuple[str, ...] = (), *, checks: bool = True, fills: bool = False
) -> None:
    """Give *cls* another ``__init__``, and a constructor for :func:`unchecked`.

    *checks*: it checks its arguments but those *left_out*. *fills*: it may set the fields by a draft.
    """
    init = cls.__init__
    signature = inspect.signature(init)
    parameters = list(signature.parameters.values())
    subject = _Subject(init, cls if attrs.has(cls) else init, cls.__name__, cls.__name__, left_out)
    scope: dict[str, Any] = {"__cls": cls, "__init": init, "__new": cls.__new__}
    call = f"__init({', '.join(map(_passed, parameters))})"
    fill = filling_lines(cls, scope) if fills else []
    if not fill and not checks:
        return
    new = ["self = __draft()", *fill] if fill else ["self = __new(__cls)", call]
    make = _compiled(parameters[1:], [*new, "return self"], dict(scope), subject)
    lines = [f"if self.__class__ is not __cls: return {call}", OPENING, *fill] if fill else [call]
    if checks:
        lines = [*_checks(parameters, scope, subject), *lines]
    made = _compiled(parameters, lines, scope, subject)
    vars(made).update(vars(init), __wrapped__=init, __signature__=signature)
    made.__doc__, made.__module__ = init.__doc__, cls.__module__
    made.__qualname__, made.__annotations__ = f"{cls.__qualname__}.__init__", init.__annotations__
    type.__setattr__(cls, "__init__", made)
    type.__setattr__(cls, _UNCHECKED, staticmethod(make))


def _calling(subject: _Subject) -> Callable[..., Any]:
    """Return a function with the parameters of ``subject.call``, which checks them and calls it."""
    scope: dict[str, Any] = {"__call": subject.call}
    parameters = list(inspect.signature(subject.call).parameters.values())
    call = f"return __call({', '.join(map(_passed, parameters))})"
    return _compiled(parameters, [*_checks(parameters, scope, subject), call], scope, subject)


def _compiled(
    parameters: list[Parameter], lines: list[str], scope: dict[str, Any], subject: _Subject
) -> Callable[..., Any]:
    """Return a function of these parameters and *lines*, compiled when it is first called.

    Names in *scope* begin with two underscores, so that no parameter hides one of them.
    """
    made: Any = FunctionType(_FIRST_CALL, scope)

    def first(values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        function = _compile(parameters, lines, scope, subject)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        made.__code__ = function.__code__  # at last: another thread may call it
        return made(*values, **keywords)

    scope["__first"] = first
    return cast("Callable[..., Any]", made)


def _first_call(*values: Any, **keywords: Any) -> Any:
    return __first(values, keywords)  # type: ignore[name-defined]  # noqa: F821 - of the scope


_FIRST_CALL: Final = _first_call.__code__


def _compile(parameters: list[Parameter], lines: list[str], scope: dict[str, Any], subject: _Subject) -> Any:
    head = []
    for index, each in enumerate(parameters):
        if each.kind is Parameter.KEYWORD_ONLY and not _has_star(parameters[:index]):
            head.append("*")
        head.append(_declared(each, scope))
        if each.kind is Parameter.POSITIONAL_ONLY and not _positional_only(parameters[index + 1 :]):
            head.append("/")
    if "__refuse" in scope:
        head.append("**__unknown")
    text = "\n    ".join([f"def __made({', '.join(head)}):", *lines])
    exec(compile(text, f"<checked {subject.owner}>", "exec"), scope)
    return scope.pop("__made")


def _checks(parameters: list[Parameter], scope: dict[str, Any], subject: _Subject) -> list[str]:
    """Return the lines that check the parameters, by checks that are put into *scope*."""
    lines = []
    for each in parameters:
        if each.kind in _VARIABLE:
            lines.append(f"if {each.name}: __check_{each.name}({each.name})")
        elif not _is_owner(each) and each.name not in subject.left_out:
            lines.append(_line(each, scope, subject.source.__module__))
    if all(each.kind is not Parameter.VAR_KEYWORD for each in parameters):
        known = [each.name for each in parameters if not _is_owner(each)]
        scope["__refuse"] = lambda keywords: _refuse(subject.owner, known, keywords)
        lines.append("if __unknown: __refuse(__unknown)")
    _resolve_later(scope, parameters, subject)
    return lines


def _positional_only(parameters: list[Parameter]) -> bool:
    return any(each.kind is Parameter.POSITIONAL_ONLY for each in parameters)


def _is_owner(each: Parameter) -> bool:
    """Return whether the parameter is the ``self`` or ``cls`` of a method."""
    return each.name in ("self", "cls") and each.annotation is Parameter.empty


def _has_star(parameters: list[Parameter]) -> bool:
    return any(each.kind in (Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY) for each in parameters)


def _declared(each: Parameter, scope: dict[str, Any]) -> str:
    if each.kind is Parameter.VAR_POSITIONAL:
        return f"*{each.name}"
    if each.kind is Parameter.VAR_KEYWORD:
        return f"**{each.name}"
    if each.default is Parameter.empty:
        return each.name
    scope[f"__default_{each.name}"] = each.default
    return f"{each.name}=__default_{each.name}"


def _passed(each: Parameter) -> str:
    if each.kind is Parameter.VAR_POSITIONAL:
        return f"*{each.name}"
    if each.kind is Parameter.VAR_KEYWORD:
        return f"**{each.name}"
    return f"{each.name}={each.name}" if each.kind is Parameter.KEYWORD_ONLY else each.name


def _line(each: Parameter, scope: dict[str, Any], module: str) -> str:
    """Return the line that checks a parameter, by a check that is in *scope* later.

    An argument of exactly the class that the annotation names is not passed to the check, nor is ``None``, or
    a tuple of such values, where the annotation allows them.
    """
    name, conditions = each.name, []
    annotation = each.annotation if isinstance(each.annotation, str) else ""
    if annotation.endswith(" | None"):
        conditions.append(f"{name} is not None")
        annotation = annotation.removesuffix(" | None")
    if each.default is not Parameter.empty and not (conditions and each.default is None):
        conditions.append(f"{name} is not __default_{name}")
    items = _TUPLE.fullmatch(annotation)
    annotation = items[1] if items else annotation
    cls = _EXACT.get(annotation, getattr(sys.modules[module], annotation, None))
    if isinstance(cls, type) and items:
        scope[f"__only_{name}"], scope["__tuple"], scope["__type"] = {cls}.issuperset, tuple, type
        conditions.append(f"({name}.__class__ is not __tuple or not __only_{name}(map(__type, {name})))")
    elif isinstance(cls, type):
        scope[f"__class_{name}"] = cls
        conditions.append(f"{name}.__class__ is not __class_{name}")
    head = f"if {' and '.join(conditions)}: " if conditions else ""
    return f"{head}__check_{name}({name})"


def _resolve_later(scope: dict[str, Any], parameters: list[Parameter], subject: _Subject) -> None:
    """Put checks into *scope* that replace themselves by those of the annotations when one is called."""
    names = [each.name for each in parameters]

    def resolve() -> None:
        hints = hints_of(subject.source)
        for each in parameters:
            check = check_of(hints[each.name]) if each.name in hints else None
            bound = _ignore if check is None else _bound(_of_kind(each, check), each.name, subject.location)
            scope[f"__check_{each.name}"] = bound

    def first(name: str) -> Callable[[Any], None]:
        def check(value: Any) -> None:
            resolve()
            scope[f"__check_{name}"](value)

        return check

    for name in names:
        scope[f"__check_{name}"] = first(name)


def _of_kind(parameter: Parameter, check: Check) -> Check:
    """Return the check of all values of a parameter with stars; *check* itself for any other one."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        named: Callable[[str, Any], Iterable[tuple[str, Any]]] = _by_index
    elif parameter.kind is Parameter.VAR_KEYWORD:
        named = _by_name
    else:
        return check

    def each_of(path: str, values: Any) -> None:
        for name, value in named(path, values):
            check(name, value)

    return each_of


def _by_index(path: str, values: tuple[Any, ...]) -> Iterable[tuple[str, Any]]:
    return ((f"{path}[{index}]", value) for index, value in enumerate(values))


def _by_name(_: str, values: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    return values.items()


def _bound(check: Check, path: str, location: str) -> Callable[[Any], None]:
    def bound(value: Any) -> None:
        try:
            check(path, value)
        except InputError as error:
            raise error.in_location(location) from None

    return bound


def _ignore(_: Any) -> None:
    """Accept any value."""


def _refuse(owner: str, known: list[str], keywords: dict[str, Any]) -> None:
    """Raise ``TypeError`` for an unknown keyword."""
    raise unknown_keyword(f"{owner} has no argument", next(iter(keywords)), known, _MOST_LISTED)
