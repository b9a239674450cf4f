"""The part of Go's text/template that scheduler_perf's object templates use.

Actions hold ``.Index``, ``.Count`` and other fields, numbers, strings, the arithmetic functions of
scheduler_perf, parentheses and pipelines; comments and trim markers are understood. Nothing else is: no
variables, conditions or loops.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...errors import InputError

Value = int | float | str | bool
Environment = Mapping[str, Any]

_ACTION: Final = re.compile(r"\{\{(-\s)?\s*(/\*.*?\*/|.*?)\s*(\s-)?\}\}", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<field>\.[A-Za-z_]\w*)
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
      | (?P<string>"(?:[^"\\]|\\.)*"|`[^`]*`)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark>[()|])
    )""",
    re.VERBOSE,
)
_CONTROL: Final = frozenset({"if", "else", "end", "range", "with", "define", "template", "block", "break"})
_FIX: Final = "use fields, numbers, strings, parentheses, pipelines and the arithmetic functions"


def has_actions(text: str) -> bool:
    """Return whether rendering *text* would change anything."""
    return "{{" in text


def render(text: str, environment: Environment) -> str:
    """*text* with every action replaced. Raises :class:`InputError` for what is not understood."""
    parts: list[str] = []
    position = 0
    for action in _ACTION.finditer(text):
        before = text[position : action.start()]
        if position and text[:position].endswith("-}}"):
            before = before.lstrip()
        parts.append(before.rstrip() if action[1] else before)
        if not action[2].startswith("/*"):
            parts.append(_shown(_evaluate(action[2], environment)))
        position = action.end()
    rest = text[position:]
    if "{{" in rest:
        raise InputError(
            "", f"an action is never closed: {rest[rest.index('{{') :][:40]!r}", "close it with }}"
        )
    parts.append(rest.lstrip() if text[:position].endswith("-}}") else rest)
    return "".join(parts)


def _shown(value: Value) -> str:
    """As Go prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e21:
            return str(int(value))
        return re.sub(r"e([-+]?)(\d)$", r"e\g<1>0\2", repr(value))
    return str(value)


# ---- reading an action -------------------------------------------------------------------------------------


def _evaluate(source: str, environment: Environment) -> Value:
    tokens = _tokens(source)
    value = _pipeline(source, tokens, environment)
    if tokens:
        raise _not_understood(source, f"{tokens[0][1]!r} is unexpected")
    return value


def _tokens(source: str) -> list[tuple[str, str]]:
    """(what it is, the text) of each token."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(source.rstrip()):
        match = _TOKEN.match(source, position)
        if match is None:
            raise _not_understood(source, f"{source[position:].strip()[:20]!r} is unknown")
        assert match.lastgroup is not None
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


def _pipeline(source: str, tokens: list[tuple[str, str]], environment: Environment) -> Value:
    value = _command(source, tokens, environment, [])
    while tokens and tokens[0][1] == "|":
        tokens.pop(0)
        value = _command(source, tokens, environment, [value])
    return value


def _command(
    source: str, tokens: list[tuple[str, str]], environment: Environment, piped: list[Value]
) -> Value:
    """Return a function with its arguments, the piped value being the last, or a single operand."""
    if tokens and tokens[0][0] == "name" and tokens[0][1] not in _LITERALS:
        name = tokens.pop(0)[1]
        function = FUNCTIONS.get(name)
        if function is None:
            what = "control structures are" if name in _CONTROL else f"the function {name} is"
            raise _not_understood(source, f"{what} not supported")
        arguments = []
        while tokens and tokens[0][1] not in (")", "|"):
            arguments.append(_operand(source, tokens, environment))
        return _call(source, function, arguments + piped)
    if piped:
        raise _not_understood(source, "a value can only be piped into a function")
    return _operand(source, tokens, environment)


def _operand(source: str, tokens: list[tuple[str, str]], environment: Environment) -> Value:
    if not tokens:
        raise _not_understood(source, "a value is missing")
    kind, text = tokens.pop(0)
    if kind == "field":
        if text[1:] not in environment:
            raise _not_understood(source, f"there is no field {text}; there are {_fields(environment)}")
        value: Value = environment[text[1:]]
        return value
    if kind == "number":
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    if kind == "string":
        return text[1:-1] if text[0] == "`" else re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in _LITERALS:
        return _LITERALS[text]
    if text == "(":
        inner = _pipeline(source, tokens, environment)
        if not tokens or tokens.pop(0)[1] != ")":
            raise _not_understood(source, "a parenthesis is never closed")
        return inner
    raise _not_understood(source, f"{text!r} is unexpected")


def _fields(environment: Environment) -> str:
    return ", ".join(f".{name}" for name in environment)


def _not_understood(source: str, why: str) -> InputError:
    return InputError(f"{{{{{source}}}}}", why, _FIX)


# ---- the functions of scheduler_perf -----------------------------------------------------------------------


def _call(source: str, function: Callable[..., Value], arguments: list[Value]) -> Value:
    try:
        return function(*map(float, arguments))
    except ZeroDivisionError as error:
        raise _not_understood(source, "division by zero") from error
    except (TypeError, ValueError) as error:
        raise _not_understood(source, str(error)) from error


def _add(*numbers: float) -> float:
    return sum(numbers)


def _multiply(*numbers: float) -> float:
    return math.prod(numbers)


def _subtract(first: float, second: float) -> float:
    return first - second


def _divide(first: float, second: float) -> float:
    return first / second


def _mod(first: float, second: float) -> int:
    """Of whole numbers; the sign is that of *first*, as in Go."""
    if not int(second):
        raise ZeroDivisionError
    return int(math.fmod(int(first), int(second)))


def _whole(function: Callable[..., float]) -> Callable[..., int]:
    return lambda *numbers: int(function(*numbers))


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "AddFloat": _add,
    "AddInt": _whole(_add),
    "DivideFloat": _divide,
    "DivideInt": _whole(_divide),
    "Mod": _mod,
    "MultiplyFloat": _multiply,
    "MultiplyInt": _whole(_multiply),
    "SubtractFloat": _subtract,
    "SubtractInt": _whole(_subtract),
}
_LITERALS: Final = {"true": True, "false": False}
