"""The shape of the source tree: import direction, wording, tuning constants, sizes.

Each rule has one function that lists its violations. ``python -m tests.structure`` prints all of them;
``test_structure.py`` asserts the limits.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("schedframe", "plugins_builtin")
PROSE: Final = (*PACKAGES, "examples")
TREE: Final = (*PROSE, "docs", "tests")

TUNED: Final = ("schedframe/cycle", "schedframe/state", "plugins_builtin/node_resources")
"""Where tuning constants are counted: the scheduling cycle and the columns that it caches."""

MAX_LINES: Final = 500
"""Of a file, docstrings not counted. 400 is the aim, but a class is never cut in two for it."""
MAX_FUNCTION_LINES: Final = 40
MAX_PARAMETERS: Final = 7
"""By position; see :data:`MAX_KEYWORDS`."""
MAX_KEYWORDS: Final = 14
"""Of parameters in all: those that are named at each call explain themselves, and notebooks complete them."""
MAX_RETIRED_WORDS: Final = 10
MAX_TUNING_CONSTANTS: Final = 37

RETIRED: Final = re.compile(
    r"\b(somebody|nobody|anybody|everybody|whoever|anew|meanwhile|hardly|so many|so much|hears|the long way"
    r"|judge[sd]?|judging|(?:is|are|was|were|be|been|being) told)\b",
    re.IGNORECASE,
)


CLAUSE: Final = re.compile(r"(What|Who|Whoever|Whose|Where|How|Whether|Which|When|Why)\b")
"""Begins a noun clause. Docstrings begin with a noun of the field or a verb, which may ask for a clause."""


@frozen
class Source:
    """One file of the tree."""

    path: str
    module: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The file, parsed."""
        return _parsed(self.text)

    @property
    def lines(self) -> list[str]:
        """The lines of the file."""
        return self.text.splitlines()

    @property
    def package(self) -> str:
        """The package that relative imports of this file start from."""
        if self.path.endswith("__init__.py"):
            return self.module
        return self.module.rpartition(".")[0]


@cache
def sources(roots: tuple[str, ...]) -> tuple[Source, ...]:
    """All Python files below *roots*."""
    return tuple(
        _source(path) for root in roots for path in sorted((ROOT / root).rglob("*.py")) if path.is_file()
    )


def _source(path: Path) -> Source:
    relative = path.relative_to(ROOT)
    parts = relative.with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Source(str(relative), module, text)


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


# ---- circles of files ------------------------------------------------------------------------------------


def imports() -> dict[str, set[str]]:
    """Module → the modules that it imports, type-checking and local imports included."""
    files = sources(PACKAGES)
    modules = {source.module for source in files}
    return {source.module: set(_imported(source, modules)) - {source.module} for source in files}


def _imported(source: Source, modules: set[str]) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = source.package.split(".")
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, base] if base else package)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                if name in modules:
                    yield name
                elif base in modules:
                    yield base


def circles() -> list[list[str]]:
    """Groups of modules that import each other, directly or not (strongly connected components, Tarjan)."""
    graph = imports()
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in number:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], number[target])
        if low[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


# ---- words -----------------------------------------------------------------------------------------------


def retired_words() -> list[str]:
    """``path:line: word`` for each retired word in a docstring or a comment."""
    return [
        f"{source.path}:{line + text.count(chr(10), 0, match.start())}: {match[0]}"
        for source in sources(TREE)
        if RETIRED.search(source.text)  # the tokens of a file take long
        for line, text in _prose(source)
        for match in RETIRED.finditer(text)
    ]


def clauses() -> list[str]:
    """``path:line: head`` of docstrings of modules, classes and functions that begin with a noun clause."""
    return [
        f"{source.path}:{node.body[0].lineno}: {text.partition(chr(10))[0]}"
        for source in sources(PROSE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Module | ast.ClassDef | Function)
        and CLAUSE.match(text := ast.get_docstring(node) or "")
    ]


def _prose(source: Source) -> Iterator[tuple[int, str]]:
    """Docstrings, those of attributes included, and comments, with their first lines."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text), lineno=line)):
                yield line, text
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


# ---- numbers ---------------------------------------------------------------------------------------------


def tuning_constants() -> list[str]:
    """``path:NAME`` of the numbers in files ``policy.py``: they change speed or memory, and no decision."""
    return [
        f"{source.path}:{name}"
        for source in sources(TUNED)
        if source.path.endswith("/policy.py")
        for tree in (source.tree, *(node for node in source.tree.body if isinstance(node, ast.ClassDef)))
        for row in _rows(tree)
        for name in row.names
    ]


def unexplained_numbers() -> list[str]:
    """``path:NAME`` of constants below :data:`TUNED` of which no text says where the number comes from.

    That is a comment beside it, or, for one or several in a row, a comment above or a docstring below.
    """
    return [
        f"{source.path}:{name}"
        for source in sources(TUNED)
        for row in _rows(source.tree)
        if not row.has_docstring and not source.lines[row.lines[0] - 2].startswith("#")
        for name, line in zip(row.names, row.lines, strict=True)
        if in_capitals(name) and "#" not in source.lines[line - 1]
    ]


@define
class _Row:
    """Numbers that are assigned one after the other."""

    names: list[str] = field(factory=list)
    lines: list[int] = field(factory=list)
    has_docstring: bool = False


def _rows(tree: ast.Module | ast.ClassDef) -> Iterator[_Row]:
    row = _Row()
    for node in (*tree.body, ast.Pass()):
        name, value = _assigned(node)
        if name is not None and value is not None and _is_number(value):
            row.names.append(name)
            row.lines.append(node.lineno)
        elif row.names:
            row.has_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            yield row
            row = _Row()


def in_capitals(name: str) -> bool:
    """Whether *name* is written as a constant is, private ones included."""
    return re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) is not None


def _assigned(node: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """Return the name that *node* assigns to, and the value."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    return None, None


def _is_number(value: ast.expr) -> bool:
    """Whether *value* is a numeric literal, or an expression of such."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.BinOp) and _is_number(value.left) and _is_number(value.right)


# ---- sizes -----------------------------------------------------------------------------------------------


def long_files() -> list[str]:
    """``path: lines`` of files above the limit, docstrings not counted."""
    return [
        f"{source.path}: {lines}"
        for source in sources(TREE)
        if source.text.count("\n") > MAX_LINES  # to parse all files takes long
        and (lines := source.text.count("\n") - _docstring_lines(source.tree)) > MAX_LINES
    ]


def _docstring_lines(tree: ast.AST) -> int:
    """Return how many lines are docstrings, those of attributes included."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def long_functions() -> list[str]:
    """``path:function: lines`` of functions above the limit, their docstrings not counted."""
    return [
        f"{name}: {lines}"
        for name, function in functions()
        if (lines := _code_lines(function)) > MAX_FUNCTION_LINES
    ]


def many_parameters() -> list[str]:
    """``path:function: parameters by position, in all`` of functions above a limit."""
    counts = ((name, *_parameters(function)) for name, function in functions())
    return [
        f"{name}: {by_position}, {in_all}"
        for name, by_position, in_all in counts
        if by_position > MAX_PARAMETERS or in_all > MAX_KEYWORDS
    ]


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for source in sources(PROSE):
        for name, function in _defined(source.tree, ""):
            yield f"{source.path}:{name}", function


def _defined(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
        if isinstance(child, Function):
            yield name, child
        yield from _defined(child, name)


def _code_lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1 - _docstring_lines(function)


def _parameters(function: Function) -> tuple[int, int]:
    """Return how many parameters may be passed by position, and how many there are; without ``self``."""
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    by_position = len(names) - (names[:1] in (["self"], ["cls"]))
    return by_position, by_position + len(arguments.kwonlyargs)


def report() -> None:
    """Print every violation."""
    for rule, violations in (
        ("circles of files", [" <-> ".join(circle) for circle in circles()]),
        (f"files over {MAX_LINES} lines", long_files()),
        (f"functions over {MAX_FUNCTION_LINES} lines, docstrings not counted", long_functions()),
        (f"more than {MAX_PARAMETERS} parameters by position", many_parameters()),
        ("numbers without an explanation", unexplained_numbers()),
        ("tuning constants", tuning_constants()),
        ("retired words", retired_words()),
        ("docstrings that begin with a noun clause", clauses()),
    ):
        print(f"== {rule}: {len(violations)}", *violations, "", sep="\n")


if __name__ == "__main__":
    report()
