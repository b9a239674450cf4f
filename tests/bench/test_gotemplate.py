"""The subset of Go's text/template."""

from __future__ import annotations

import pytest

from schedframe.bench.perf.gotemplate import has_actions, render
from schedframe.errors import InputError

ENVIRONMENT = {"Index": 27, "Count": 1000, "name": "a"}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("no action", "no action"),
        ("pod-{{ .Index }}-{{.Count}}", "pod-27-1000"),
        ("8{{ Mod .Index 12 }}", "83"),
        ("{{ DivideInt .Index 10 }}", "2"),
        ("{{ DivideInt 30000 .Count }}Mi", "30Mi"),
        ("{{ DivideFloat .Index 2 }} {{ DivideFloat .Index 9 }}", "13.5 3"),
        ("{{ AddInt .Index 1 2 }} {{ AddFloat 0.5 1 }}", "30 1.5"),
        ("{{ SubtractInt 5 .Index }} {{ SubtractFloat 1 0.5 }}", "-22 0.5"),
        ("{{ MultiplyInt 2 3 .Index }} {{ MultiplyFloat 0.5 3 }}", "162 1.5"),
        ("{{ Mod -7 3 }}", "-1"),
        ("{{ AddInt (DivideInt .Index 10) 1 }}", "3"),
        ("{{ .Index | Mod 100 }}", "19"),
        ("{{ DivideInt .Index 5 | AddInt 1 }}", "6"),
        ("a  {{- .Index -}}  b", "a27b"),
        ("a {{/* nothing */}} b", "a  b"),
        ('{{ "a \\" b" }}{{ `c` }}', 'a " bc'),
        ("{{ true }} {{ .name }}", "true a"),
        ("{{ DivideFloat 1 10000000 }} {{ MultiplyFloat 1e20 100 }}", "1e-07 1e+22"),
    ],
)
def test_rendered_as_go_does(text: str, rendered: str) -> None:
    assert render(text, ENVIRONMENT) == rendered
    assert has_actions(text) == ("{{" in text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{ .Nothing }}", "there is no field .Nothing; there are .Index, .Count, .name"),
        ("{{ Power 2 3 }}", "the function Power is not supported"),
        ("{{ if .Index }}a{{ end }}", "control structures are not supported"),
        ("{{ $x := 1 }}", "'\\$x := 1' is unknown"),
        ("{{ DivideInt 1 0 }}", "division by zero"),
        ("{{ Mod 1 0 }}", "division by zero"),
        ("{{ AddInt .name 1 }}", "could not convert string to float"),
        ("{{ SubtractInt 1 }}", "missing 1 required positional argument"),
        ("{{ (AddInt 1 2 }}", "a parenthesis is never closed"),
        ("{{ .Index 1 }}", "'1' is unexpected"),
        ("{{ 1 | 2 }}", "a value can only be piped into a function"),
        ("{{ AddInt ) }}", "'\\)' is unexpected"),
        ("{{ }}", "a value is missing"),
        ("a {{ .Index", "an action is never closed"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        render(text, ENVIRONMENT)
