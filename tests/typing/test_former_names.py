"""A program with former names still passes type checkers."""

from __future__ import annotations

from pathlib import Path

from schedframe import _moved

from .checker import code_of, errors_in, expected_errors

SOURCE = """
from FORMER import CSINode, DistinctColumn, NodeSpec, Requirement, is_scalar_resource, zone_of
from schedframe import Node, api, state
from schedframe.embed import Apart, Needs, Requirements
from schedframe.state import FollowingColumns, TermKind
import schedframe

driver: CSINode = api.CSINode(api.ObjectMeta("n"))
same: api.NodeSpec = NodeSpec()
scalar: bool = is_scalar_resource("example.com/gpu")
wrong: int = zone_of(Node(api.ObjectMeta("n")))  # assignment
needs: Needs = Requirements()
apart = Apart({"app": "db"})


class Mine(FollowingColumns):
    def rebind(self) -> None: ...


def size(column: DistinctColumn[str], kind: TermKind, requirement: Requirement) -> int:
    return len(column.values)


schedframe.NoSuchName  # attr-defined
""".replace("FORMER", "schedframe")  # in one piece, a test would take it for an import of this tree


def test_a_former_program_passes(tmp_path: Path) -> None:
    found = errors_in({"former.py": SOURCE}, tmp_path)
    assert [(line, code_of(message)) for _, line, message in found] == expected_errors(SOURCE)


def test_all_former_names_are_known(tmp_path: Path) -> None:
    source = f"from schedframe import {', '.join(_moved._PACKAGE_OF)}\n"
    assert not errors_in({"names.py": source}, tmp_path)
