from __future__ import annotations

import pytest

from schedframe.config import label_value_problems, qualified_name_problems
from schedframe.config.names import is_extended_resource_name


@pytest.mark.parametrize(
    "name",
    ["simple", "now-with-dashes", "1-starts-with-num", "1234", "Uppercase", "a.b/c_D", "e.com/" + "a" * 63],
)
def test_qualified(name: str) -> None:
    assert qualified_name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("", 1),
        ("a/", 1),
        ("/a", 1),
        ("/", 2),
        ("a/b/c", 1),
        ("-a", 1),
        ("a b", 1),
        ("a\n", 1),
        ("ä", 1),
        ("a" * 64, 1),
        ("Upper.com/a", 1),
        ("a..b/c", 1),
        ("x" * 254 + "/a", 1),
        ("bad name/x y", 2),
    ],
)
def test_not_qualified(name: str, problems: int) -> None:
    assert len(qualified_name_problems(name)) == problems


def test_label_values() -> None:
    assert not label_value_problems("")
    assert not label_value_problems("a.B_c-1")
    assert label_value_problems("-")
    assert label_value_problems("a" * 64)


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("example.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("sub.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        # With the prefix of quotas the name would be too long.
        ("a" * 250 + "/gpu", False),
    ],
)
def test_extended_resources(name: str, extended: bool) -> None:
    assert is_extended_resource_name(name) is extended
