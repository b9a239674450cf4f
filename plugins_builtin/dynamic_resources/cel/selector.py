"""CEL expressions over a device, in the environment that selectors of device classes and claims have.

Source of the environment: k8s.io/dynamic-resource-allocation/cel. The library is loaded when the first
expression is compiled; it is not needed without claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from attrs import define

from schedframe import PluginError
from schedframe.api import DeviceAttribute, DeviceCapacity

from .domains import OR_EMPTY, PARTS, rewritten
from .functions import FUNCTIONS, quantity_of, semver_of

EXTRA: Final = "dra"
_MISSING_KEY: Final = re.compile(r'Key not found in map : "(.*)"\s*$', re.DOTALL)

Tree = dict[str, Any]


class CelError(PluginError):
    """An expression that cannot be compiled, or that fails for a device."""


class CelMissingError(PluginError):
    """A selector is to be evaluated, and the library for it is not installed."""


@define(eq=False)
class CelDevice:
    """The variable ``device`` of expressions: a tree of plain values, made once for each content."""

    tree: Tree

    @classmethod
    def of(
        cls,
        driver: str,
        shared: bool,
        attributes: Mapping[str, DeviceAttribute],
        capacity: Mapping[str, DeviceCapacity],
    ) -> CelDevice:
        """Build the tree; a name without a domain is the driver's. :class:`CelError` for an empty value."""
        return cls(
            {
                "driver": driver,
                "allowMultipleAllocations": shared,
                "attributes": _by_domain(
                    driver, {name: _attribute(name, a) for name, a in attributes.items()}
                ),
                "capacity": _by_domain(driver, {name: quantity_of(c.value) for name, c in capacity.items()}),
            }
        )


@define(eq=False)
class CelSelector:
    """One compiled expression."""

    text: str
    _evaluate: Callable[[Tree], Any]
    _domains: frozenset[tuple[str, str]] = frozenset()
    """(Map, domain) of the look-ups in the expression."""

    def matches(self, device: CelDevice) -> bool:
        """Return whether the expression holds; :class:`CelError` if it fails or is not boolean.

        A domain that the device does not have is an empty map. If a look-up of a computed domain fails, the
        domain is added and the expression is evaluated again. A failure that does not change the result
        raises nothing.
        """
        tree = device.tree | {part + OR_EMPTY: {**device.tree[part]} for part in PARTS}
        for part, domain in self._domains:
            tree[part + OR_EMPTY].setdefault(domain, {})
        while True:
            try:
                value = self._evaluate({"device": tree})
            except RuntimeError as error:  # the library raises what ends an evaluation, such as its budget
                raise CelError(f"CEL runtime error: {_in_one_line(error)}") from error
            kind = value.type().name()
            if kind == "BOOL":
                return bool(value.value())
            if kind != "ERROR":
                raise CelError(f"the result is of type {kind}, not BOOL")
            problem = str(value.value())
            missing = _MISSING_KEY.search(problem)
            if missing is None or not _add_domain(tree, missing[1]):
                raise CelError(f"CEL runtime error: {_in_one_line(problem)}")


def _add_domain(tree: Tree, domain: str) -> bool:
    """Add *domain* to the maps for look-ups, or else to those of the device, which an expression may alias.

    Return whether some map lacked it.
    """
    for suffix in (OR_EMPTY, ""):
        missing_on = [part + suffix for part in PARTS if domain not in tree[part + suffix]]
        for part in missing_on:
            tree[part] = {domain: {}, **tree[part]}
        if missing_on:
            return True
    return False


def _in_one_line(problem: object) -> str:
    """Return the text of *problem* without the lines that quote the expression, which may take kilobytes."""
    lines = [line.strip() for line in str(problem).splitlines()]
    return " ".join([line for line in lines if line and not line.startswith("|")])


@lru_cache(maxsize=256)
def compile_selector(text: str) -> CelSelector:
    """Return the compiled expression.

    Raises :class:`CelError` if it is invalid, :class:`CelMissingError` without the library.
    """
    environment = _environment()
    try:
        program = environment.compile(text)
        found = rewritten(text)
        if found.text != text:
            program = environment.compile(found.text)
    except RuntimeError as error:
        raise CelError(f"CEL compile error: {_in_one_line(error)}") from error
    return CelSelector(text, lambda tree: program.eval(data=tree), found.domains)


@cache
def _environment() -> Any:
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
    except ImportError as error:
        raise CelMissingError(
            "a claim or device class has a CEL selector, and no CEL library is installed; "
            f"install schedframe[{EXTRA}]"
        ) from error
    kinds = cel.Type
    return cel.NewEnv(
        variables={"device": kinds.Map(kinds.STRING, kinds.DYN)},
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()],
        functions=[
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        f"{name}_{number}",
                        getattr(kinds, overload.returns),
                        [getattr(kinds, parameter) for parameter in overload.parameters],
                        overload.member,
                        overload.call,
                    )
                    for number, overload in enumerate(overloads)
                ],
            )
            for name, overloads in FUNCTIONS.items()
        ],
    )


def _attribute(name: str, attribute: DeviceAttribute) -> Any:
    if attribute.version_value is not None:
        try:
            return semver_of(attribute.version_value)
        except ValueError as error:
            raise CelError(f"attribute {name}: {error}") from error
    value = attribute.value
    if value is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return value


def _by_domain(driver: str, values: Mapping[str, Any]) -> Tree:
    tree: Tree = {}
    for name, value in values.items():
        domain, slash, rest = name.partition("/")
        tree.setdefault(domain if slash else driver, {})[rest if slash else name] = value
    return tree
