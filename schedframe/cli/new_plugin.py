"""``schedframe new-plugin``: writes a package with a plugin, as a start."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Final

from .._base.value import record
from .._version import __version__
from ..errors import InputError
from ..framework import Registry
from .exits import writing

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_ ][A-Za-z0-9]+)*")

_LONGEST: Final = 36
"""Characters of a class name: with more, lines of the templates would be too long."""

_FILES: Final = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/$package/__init__.py": "init.py.txt",
    "src/$package/plugin.py": "plugin.py.txt",
    "src/$package/py.typed": "",
    "tests/test_contract.py": "test_contract.py.txt",
    "tests/test_placement.py": "test_placement.py.txt",
}
"""File of the package → its template; an empty file has none."""


@record(frozen=True)
class PluginNames:
    """One name as each place spells it: ``rack-rank``, ``rack_rank``, ``RackRank``."""

    distribution: str
    package: str
    class_name: str

    @classmethod
    def of(cls, name: str) -> PluginNames:
        """Whatever way *name* is spelled. :class:`InputError` if it is no name, or that of a plugin."""
        if _NAME.fullmatch(name) is None:
            fix = "use letters and digits, beginning with a letter, such as rack-rank"
            raise InputError("", f"{name!r} is no name for a plugin", fix, location="NAME")
        words = _WORD.findall(name)
        lower = [word.lower() for word in words]
        names = cls("-".join(lower), "_".join(lower), "".join(word[:1].upper() + word[1:] for word in words))
        if len(names.class_name) > _LONGEST:
            fix = f"use at most {_LONGEST} letters and digits"
            raise InputError("", f"{names.class_name} is too long", fix, location="NAME")
        if keyword.iskeyword(names.package) or names.package in ("schedframe", "plugins_builtin"):
            raise InputError("", f"{names.package} is taken", "choose another name", location="NAME")
        if find_spec(names.package) is not None:
            problem = f"a module named {names.package} is installed, which the package would hide"
            raise InputError("", problem, "choose another name", location="NAME")
        if names.class_name in Registry.installed():
            problem = f"a plugin named {names.class_name} is installed"
            raise InputError("", problem, "choose another name", location="NAME")
        return names


def create_package(name: str, directory: Path) -> list[Path]:
    """Write the package of a plugin into a new folder of *directory*; the files, in order.

    :class:`InputError` for a name that cannot be used, a folder that has something in it already, and what
    cannot be written.
    """
    names = PluginNames.of(name)
    root = directory / names.distribution
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(
            "", "is there already", "choose another name or --directory, or remove it", location=str(root)
        )
    values = {
        "distribution": names.distribution,
        "package": names.package,
        "class_name": names.class_name,
        "version": ".".join(__version__.split(".")[:2]),
    }
    templates = files(__package__).joinpath("templates", "plugin")
    written = []
    for target, template in _FILES.items():
        path = root / Template(target).substitute(values)
        text = templates.joinpath(template).read_text(encoding="utf-8") if template else ""
        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text).substitute(values), encoding="utf-8")
        written.append(path)
    return written


def next_steps(written: list[Path]) -> list[str]:
    """Return lines that name the files that were written and the next steps."""
    root = written[0].parent
    return [*map(str, written), "", f"Next: cd {root} && pip install -e '.[test]' && pytest"]
