"""A command that is imported when it is carried out, completed or asked for its help."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from typer.core import TyperCommand
from typer.main import get_command


class LaterCommand(TyperCommand):
    """Stands for the command of that name in the ``app`` of a module, or for that app itself."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module

    def load(self) -> Any:
        """Return the command with its options."""
        made = get_command(import_module(f".{self._module}", __package__).app)
        return getattr(made, "commands", {}).get(self.name, made)

    def make_context(self, *args: Any, **settings: Any) -> Any:
        """Return the context of the command itself."""
        return self.load().make_context(*args, **settings)
