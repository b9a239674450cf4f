"""Checks of a plugin at registration, each with the fix in the message."""

from __future__ import annotations

import inspect
from collections.abc import Container
from difflib import get_close_matches
from typing import Any, Final, get_args, get_type_hints
from weakref import WeakSet

import attrs

from ..errors import PluginError
from .declarations import check_declarations, check_spelling
from .factories import SharedInstance, has_args, plugin_class_of
from .points import (
    ASYNC_HOOKS,
    HOOK_ARGUMENTS,
    HOOKS,
    has_hooks_of_class,
    has_own_hooks,
    hooks_of,
    unmarked_of,
)

_passed: Final = WeakSet[type]()
"""Classes of plugins that keep the contract. A program may make a scheduler for each question, and most of
the time to make one went into looking at the same classes: 3 of 20 ms."""

_WRAPPER: Final = (
    "is a wrapper, and wrappers are refused: the calls of hooks are compiled, and nothing runs around them; "
    "implement the hook itself, or pass an observer to the scheduler to watch it"
)
_ORDERED: Final = (
    "is marked with {}, which would have no effect: the profile orders plugins; leave the option out, and "
    "put the plugin where it belongs in the profile"
)
_WITHOUT_EFFECT: Final = {
    "wrapper": _WRAPPER,
    "hookwrapper": _WRAPPER,
    "tryfirst": _ORDERED.replace("{}", "tryfirst"),
    "trylast": _ORDERED.replace("{}", "trylast"),
    "optionalhook": "is marked with optionalhook, which would have no effect: every hook is optional, and an "
    "unknown one is refused; leave the option out, and say which versions have it as a dependency of the "
    "package",
    "specname": "is marked with specname={0!r}, and hooks are found by the names of their methods; name the "
    "method {0} and leave the option out",
}
"""Option of pluggy's mark → why it is refused, and what to do."""


def check_plugin_class(name: str, factory: Any) -> None:
    """Raise :class:`PluginError` if instances of *factory* could not take part; functions are checked later,
    when they have made a plugin."""
    if not callable(factory):
        raise PluginError(
            f"plugin {name}: {factory!r} is not callable; register the plugin's class, which is called with "
            "(args, handle)"
        )
    made = factory.plugin if isinstance(factory, SharedInstance) else plugin_class_of(factory)
    if made is not None:
        check_plugin(name, made)


def check_plugin(name: str, plugin: Any) -> None:
    """Raise :class:`PluginError` if *plugin* (a class or an instance) breaks the contract.

    Classes that passed are not looked at again, only what an instance declares: see :data:`_passed`.
    """
    cls = plugin if inspect.isclass(plugin) else type(plugin)
    if cls not in _passed or has_own_hooks(plugin):
        _check_class(name, plugin, cls)
        check_spelling(name, cls)
        if has_hooks_of_class(plugin):
            _passed.add(cls)
    check_declarations(name, plugin)


def _check_class(name: str, plugin: Any, cls: type) -> None:
    _check_equality(name, cls)
    hooks = hooks_of(plugin)
    for hook, options in hooks.items():
        _check_hook(name, plugin, hook, options)
        _check_needs(name, cls, hook, hooks)
    if not hooks:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__} implements no extension point; mark its methods with "
            "@hookimpl"
        )
    for hook in unmarked_of(plugin):
        raise PluginError(
            f"plugin {name}: {cls.__qualname__}.{hook} has the name of an extension point and no mark, so it "
            "would never be called; put @hookimpl above it, or give it another name"
        )


def args_class_of(factory: Any) -> type | None:
    """Return the attrs class of the plugin's ``args`` field, ``None`` if it takes none.

    ``SomeArgs | None`` counts as ``SomeArgs``. Raises :class:`PluginError` for an annotation that cannot be
    resolved: arguments would then reach the plugin unchecked.
    """
    cls = plugin_class_of(factory)
    if cls is None or not attrs.has(cls) or has_args(factory):
        return None
    annotation = next((a.type for a in attrs.fields(cls) if a.name == "args"), None)
    if isinstance(annotation, str):
        annotation = _resolved(cls, annotation)
    for candidate in (annotation, *get_args(annotation)):
        if inspect.isclass(candidate) and attrs.has(candidate):
            return candidate
    return None


def _resolved(factory: type, annotation: str) -> Any:
    """Return what a postponed annotation means where it was written; other fields need not be resolvable."""
    owner = next(
        (base for base in factory.__mro__ if "args" in vars(base).get("__annotations__", {})), factory
    )
    probe = type("args", (), {"__annotations__": {"args": annotation}, "__module__": owner.__module__})
    try:
        return get_type_hints(probe)["args"]
    except NameError as error:
        raise PluginError(
            f"the args of {factory.__qualname__} are annotated {annotation!r}, which is not there at run "
            f"time ({error}); import it outside of TYPE_CHECKING, at the level of the module"
        ) from error


def _check_equality(name: str, cls: type) -> None:
    if vars(object)["__eq__"] is not inspect.getattr_static(cls, "__eq__") or cls.__hash__ is None:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__} compares by value, so two instances with equal fields would "
            "count as one plugin; define it with @define(eq=False)"
        )


def _check_needs(name: str, cls: type, hook: str, hooks: Container[str]) -> None:
    spec = HOOKS[hook].spec
    if spec.needs and not any(each in hooks for each in spec.needs):
        what = f"is a form of {spec.form_of} that" if spec.form_of else "belongs to another hook and"
        raise PluginError(
            f"plugin {name}: {cls.__qualname__}.{hook} {what} is never called by itself; implement "
            f"{' or '.join(spec.needs)} too"
        )


def _check_hook(name: str, plugin: Any, hook: str, options: dict[str, Any]) -> None:
    cls = plugin if inspect.isclass(plugin) else type(plugin)
    for option, reason in _WITHOUT_EFFECT.items():
        if options.get(option):
            raise PluginError(f"plugin {name}: {cls.__qualname__}.{hook} {reason.format(options[option])}")
    if hook not in HOOK_ARGUMENTS:
        close = get_close_matches(hook, HOOK_ARGUMENTS, 1)
        hint = (
            f"did you mean {close[0]}?" if close else f"the extension points are {', '.join(HOOK_ARGUMENTS)}"
        )
        raise PluginError(f"plugin {name}: {cls.__qualname__}.{hook} is no extension point; {hint}")
    specified = HOOK_ARGUMENTS[hook]
    function = inspect.getattr_static(plugin, hook)
    if isinstance(function, (staticmethod, classmethod)) or not inspect.isroutine(function):
        raise PluginError(f"plugin {name}: {cls.__qualname__}.{hook} is no plain method; define it with self")
    if inspect.iscoroutinefunction(function) and hook not in ASYNC_HOOKS:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__}.{hook} is async, and the core waits for nothing; define it "
            f"without async, or do the work in {' or '.join(sorted(ASYNC_HOOKS))}"
        )
    signature, own = inspect.signature(function), f"plugin {name}: {cls.__qualname__}.{hook}"
    wanted = f"{hook}(self, {', '.join(specified)})" if specified else f"{hook}(self)"
    first = next(iter(signature.parameters), None)
    if (first is None or first in specified) and inspect.getattr_static(cls, hook, None) is function:
        raise PluginError(f"{own}{signature} lacks self; use any of {wanted}")
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise PluginError(
                f"{own}{signature} has the {parameter.kind.description} argument "
                f"{parameter.name!r}; use plain positional arguments, any of {wanted}"
            )
        if parameter.name not in specified:
            raise PluginError(
                f"{own}{signature} asks for {parameter.name!r}, which this extension "
                f"point does not offer; use any of {wanted}"
            )
