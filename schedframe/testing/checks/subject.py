"""The plugin under test: its class, its arguments, and how an instance is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field

from ..._base.value import record
from ...config.decode import structure_args
from ...framework import Depends, depends_on
from ...framework.adapter import adapt
from ...framework.declarations import declared
from ...framework.points import HOOK_ARGUMENTS, hooks_of
from ...framework.validation import args_class_of


@record(eq=False)
class Subject:
    """*factory* is the plugin's class, or a function of ``(args, handle)``.

    ``args`` may be an instance of the plugin's args class, the JSON data of one, or ``None`` for the
    defaults.
    """

    factory: Any
    args: Any = None
    name: str = ""
    hooks: frozenset[str] = frozenset()
    """Hooks that it implements; known once it was made."""
    _wanted: frozenset[str] | None = None
    _calls: dict[str, Callable[..., Any]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.name = self.name or getattr(self.factory, "__name__", type(self.factory).__name__)
        args_class = self.args_class
        if args_class is not None:
            self.args = structure_args(self.args, args_class)

    @property
    def args_class(self) -> type | None:
        """Type of the arguments; ``None`` if the plugin takes none, or any."""
        return args_class_of(self.factory)

    @property
    def depends_on(self) -> Depends:
        """Return what its answers about a row depend on."""
        return depends_on(self.factory)

    @property
    def reads(self) -> tuple[str, ...]:
        """Kinds that it says it reads beyond a row."""
        return declared(self.factory, "reads")

    def make(self, handle: Any) -> Any:
        """Return a new instance, made as a profile makes one."""
        if not inspect.isclass(self.factory):
            return self.factory(self.args, handle)
        offered = {"args": self.args, "handle": handle}
        if self._wanted is None:
            self._wanted = frozenset(inspect.signature(self.factory).parameters)
        return self.factory(**{name: value for name, value in offered.items() if name in self._wanted})

    def calls(self, plugin: Any) -> Mapping[str, Callable[..., Any]]:
        """Hook → a call with the plugin and all arguments of the specification, by position."""
        if not self._calls:
            cls = type(plugin)
            for hook in hooks_of(plugin):
                function = inspect.unwrap(getattr(cls, hook))
                named = tuple(inspect.signature(function).parameters)[1:]
                self._calls[hook] = adapt(function, ("self", *named), ("self", *HOOK_ARGUMENTS[hook]))
            self.hooks = frozenset(self._calls)
        return self._calls
