"""All Python code in README and docs passes mypy --strict."""

from __future__ import annotations

from pathlib import Path

from tests.docs.snippets import PAGES, blocks, page_id

from .checker import errors_in


def source_of(page: Path) -> str:
    """Return the blocks of *page* as one module, each on the lines where it stands on the page."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            lines += [""] * (block.first_line - 1 - len(lines)) + list(block.lines)
    return "\n".join(lines)


def test_code_passes_mypy_strict(tmp_path: Path) -> None:
    names = {f"page_{number}.py": page for number, page in enumerate(PAGES)}
    sources = {name: source_of(page) for name, page in names.items()}
    found = errors_in({name: text for name, text in sources.items() if text.strip()}, tmp_path)
    errors = [f"{page_id(names[name])}:{line}: {message}" for name, line, message in found]
    assert not errors, "\n".join(errors)
