"""How the documentation is built: ``sphinx-build -W docs OUTPUT``, with the extra ``docs`` installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import reference_pages  # noqa: E402 - found by the line above

from schedframe import __version__  # noqa: E402

project = "schedframe"
copyright = "the schedframe authors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "_ext", "_tools"]
html_theme = "furo"
html_title = f"schedframe {release}"

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]
"""Words such as ``node`` name many attributes; a link to one of them is as good as another."""

_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def _inside(app: Any, docname: str, source: list[str]) -> None:
    """Links that leave this folder name the file in the repository: it is not part of the site."""
    folder = (HERE / docname).parent

    def named(match: re.Match[str]) -> str:
        text, target = match[1], match[2].partition("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = (folder / target).resolve()
        if path.is_relative_to(HERE) and path.suffix == ".md":
            return match[0]
        name = path.relative_to(HERE.parent).as_posix()
        return f"{text} (`{name}`)" if text.strip("`") != name else f"`{name}`"

    source[0] = _LINK.sub(named, source[0])


def setup(app: Any) -> None:
    """Write the reference before pages are looked for, and mend links as they are read."""
    reference_pages.write(HERE / "reference" / "api")
    app.connect("source-read", _inside)
