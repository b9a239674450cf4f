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

from attrs import frozen

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("schedframe", "plugins_builtin")
PROSE: Final = (*PACKAGES, "examples")
TREE: Final = (*PROSE, "docs", "tests")

TUNED: Final = ("schedframe/cycle", "schedframe/state", "plugins_builtin/node_resources")
"""Where tuning constants are counted: the scheduling cycle and the columns that it caches."""

MAX_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 40
MAX_PARAMETERS: Final = 7
MAX_RETIRED_WORDS: Final = 10
MAX_TUNING_CONSTANTS: Final = 35

LONG_FILES: Final[dict[str, str]] = {
    "schedframe/queue/priority_queue.py": "one class with its constructor; most of it is docstrings",
}
"""Path → why the file may have more lines."""

LONG_FUNCTIONS: Final[dict[str, str]] = {}
"""``path:function`` → why the function may have more lines."""

MANY_PARAMETERS: Final[dict[str, str]] = {
    "schedframe/simulate/simulation.py:Simulation.__init__": "keywords that notebooks show and complete",
    "schedframe/cli/bench_app.py:run": "the options of a command",
    "schedframe/why/explain.py:explain": "keywords that notebooks show and complete",
    "schedframe/simulate/hints.py:queueing_hint": "the event as the hint gets it, and evaluate's keywords",
}
"""``path:function`` → why the function may have more parameters."""

FORMULA_CONSTANTS: Final[dict[str, str]] = {
    "schedframe/cycle/search/sampling.py:MIN_FEASIBLE_NODES_TO_FIND": "a rule of the reference",
    "schedframe/cycle/search/sampling.py:MIN_FEASIBLE_NODES_PERCENTAGE": "a rule of the reference",
    "schedframe/cycle/binding/pod_status.py:LONGEST_NOTE": "a limit of the API",
    "schedframe/cycle/binding/pod_status.py:WRITES_KEPT": "which events count as news",
    "schedframe/cycle/binding/paused.py:FIRST_VERIFICATION_SECONDS": "when the cluster is asked again",
    "schedframe/cycle/binding/paused.py:LONGEST_VERIFICATION_SECONDS": "when the cluster is asked again",
    "schedframe/cycle/runtime/interrupts.py:SAME_PRESS_SECONDS": "which signal is the second one",
    "schedframe/cycle/runtime/interrupts.py:LONGEST_SECONDS": "when a signal breaks into a step that hangs",
    "schedframe/cycle/slow_attempts.py:REST": "when a pod is tried again",
    "schedframe/cycle/slow_attempts.py:FRAMES": "what a report shows",
    "schedframe/cycle/search/tie_breaking.py:MOST_DRAWS": "a rule: it decides which row is drawn",
    "schedframe/state/columns.py:ABSENT": "a code: no value",
    "schedframe/state/label_groups.py:_BYTES_PER_COLUMN": "an estimate for accounting",
    "schedframe/state/label_groups.py:_BYTES_PER_ROW": "an estimate for accounting",
    "schedframe/state/sparse_resources.py:_ENTRY_CELLS": "an estimate for accounting",
    "schedframe/state/resource_columns.py:FIRST_CAPACITY": "the beginning of a doubling",
    "schedframe/state/resource_columns.py:_PAGE": "a format: numbers in a page of memory",
    "schedframe/cycle/latency.py:BUCKETS_PER_DOUBLING": "the precision of percentiles",
    "schedframe/cycle/latency.py:_SHORTEST": "the unit of a format",
    "schedframe/cycle/latency.py:BATCH": "the memory of a histogram",
    "schedframe/cycle/events.py:KEPT": "a bound of memory",
    "schedframe/cycle/reload.py:CLOSE_AFTER": "when former plugins are looked at again",
    "schedframe/cycle/reload.py:LOOK_AFTER": "when a waiting thread looks again",
    "schedframe/cycle/metering/counts.py:FOLDED": "when durations are counted",
    "schedframe/cycle/metering/calls.py:SAMPLED": "a share of the reference",
    "schedframe/cycle/metering/counts.py:EVENTS_FOR_EACH_MEASURED": "which events are measured",
    "schedframe/cycle/metering/counts.py:MOST_ATTEMPTS": "a label of the reference",
    "schedframe/cycle/inspection.py:CORE_SECONDS": "when a question is given up",
    "schedframe/cycle/inspection.py:LISTED": "the length of a report",
    "schedframe/cycle/equivalence/policy.py:BYTES_A_CLASS": "an estimate for accounting",
    "schedframe/cycle/equivalence/policy.py:BYTES_AN_ANSWER": "an estimate for accounting",
    "schedframe/cycle/search/tie_breaking.py:INFEASIBLE": "a code: no score",
    "schedframe/cycle/equivalence/index/score_matrix.py:LARGEST_SCORE": "a format: what fits into two bytes",
    "schedframe/cycle/equivalence/index/score_matrix.py:_REJECTED": "a code: no score",
    "schedframe/cycle/equivalence/index/score_matrix.py:_NEVER": "a code: no version",
    "schedframe/cycle/equivalence/status_codes.py:NO_NODE": "a code: no node",
    "schedframe/cycle/equivalence/status_codes.py:NO_PLUGIN": "a code: no plugin",
    "plugins_builtin/node_resources/arithmetic.py:EXACT": "a format: integers that a float holds exactly",
    "plugins_builtin/node_resources/arithmetic.py:_PERCENT": "a formula of the reference",
    "plugins_builtin/node_resources/arithmetic.py:_WRAP": "a format: int64 overflow of Go",
    "plugins_builtin/node_resources/arithmetic.py:_HALF": "a format: int64 overflow of Go",
    "plugins_builtin/node_resources/shortage.py:UNRESOLVABLE": "a bit of a code",
    "plugins_builtin/node_resources/shortage.py:PODS": "a bit of a code",
    "plugins_builtin/node_resources/shortage.py:FIRST_RESOURCE": "a bit of a code",
    "plugins_builtin/node_resources/shortage.py:OTHER_BITS": "a format of codes",
    "plugins_builtin/node_resources/shortage.py:BYTE": "a format of codes",
    "plugins_builtin/node_resources/shortage.py:WORD": "a format: bits of an int64",
    "plugins_builtin/node_resources/strategies.py:_FULL": "a formula of the reference",
    "plugins_builtin/node_resources/strategies.py:_TWO": "a formula of the reference",
    "plugins_builtin/node_resources/usage.py:_ONE": "a formula",
    "schedframe/state/row_states.py:_LEFT_OUT": "a code: no state",
}
"""``path:NAME`` → why the number is no tuning constant: a formula's, a format's or the reference's."""

RETIRED: Final = re.compile(
    r"\b(somebody|nobody|anybody|everybody|whoever|anew|meanwhile|hardly|so many|so much|hears|the long way"
    r"|judge[sd]?|judging|(?:is|are|was|were|be|been|being) told)\b",
    re.IGNORECASE,
)


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


# ---- tuning constants ------------------------------------------------------------------------------------


def tuning_constants() -> list[str]:
    """``path:NAME`` of each number that changes speed or memory, and no decision.

    That is each module-level number in capitals below :data:`TUNED` that :data:`FORMULA_CONSTANTS` does not
    list, and each field with a numeric default in a class of a ``policy.py``.
    """
    return [name for name, value in numbers() if _is_number(value) and name not in FORMULA_CONSTANTS]


def numbers() -> list[tuple[str, ast.expr]]:
    """``path:NAME`` and value of the constants and policy fields below :data:`TUNED`."""
    return [
        (f"{source.path}:{name}", value)
        for source in sources(TUNED)
        for name, value in _assigned(source.tree, in_classes=source.path.endswith("/policy.py"))
        if in_capitals(name) or source.path.endswith("/policy.py")
    ]


def in_capitals(name: str) -> bool:
    """Whether *name* is written as a constant is, private ones included."""
    return re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) is not None


def _assigned(tree: ast.Module | ast.ClassDef, *, in_classes: bool) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if in_classes and isinstance(node, ast.ClassDef):
            yield from _assigned(node, in_classes=False)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _is_number(value: ast.expr) -> bool:
    """Whether *value* is a numeric literal, or an expression of such."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.BinOp) and _is_number(value.left) and _is_number(value.right)


# ---- sizes -----------------------------------------------------------------------------------------------


def long_files() -> list[str]:
    """``path: lines`` of files above the limit."""
    return [
        f"{source.path}: {lines}"
        for source in sources(TREE)
        if (lines := source.text.count("\n")) > MAX_LINES and source.path not in LONG_FILES
    ]


def long_functions() -> list[str]:
    """``path:function: lines`` of functions above the limit, their docstrings not counted."""
    return [
        f"{name}: {lines}"
        for name, function in functions()
        if (lines := _code_lines(function)) > MAX_FUNCTION_LINES and name not in LONG_FUNCTIONS
    ]


def many_parameters() -> list[str]:
    """``path:function: parameters`` of functions above the limit."""
    return [
        f"{name}: {count}"
        for name, function in functions()
        if (count := _parameters(function)) > MAX_PARAMETERS and name not in MANY_PARAMETERS
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
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def _parameters(function: Function) -> int:
    arguments = function.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def report() -> None:
    """Print every violation."""
    for rule, violations in (
        ("circles of files", [" <-> ".join(circle) for circle in circles()]),
        (f"files over {MAX_LINES} lines", long_files()),
        (f"functions over {MAX_FUNCTION_LINES} lines, docstrings not counted", long_functions()),
        (f"more than {MAX_PARAMETERS} parameters", many_parameters()),
        ("tuning constants outside policy.py", [n for n in tuning_constants() if "/policy.py:" not in n]),
        ("tuning constants in policy.py", [n for n in tuning_constants() if "/policy.py:" in n]),
        ("retired words", retired_words()),
    ):
        print(f"== {rule}: {len(violations)}", *violations, "", sep="\n")


if __name__ == "__main__":
    report()
