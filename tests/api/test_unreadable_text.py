"""Text that is no YAML, or scalars that do not fit their tags: refused with the line."""

from __future__ import annotations

import copy
import io
import re
from random import Random

import pytest
import yaml

from schedframe.api import load_manifests
from schedframe.errors import InputError

from .test_seeded_mistakes import right_manifests

MUTATIONS = 400
LINES = (
    "---", "...", "<<: *a", "a: &a {b: c}", "- x", "? [a]\n: b", "!!python/object:os.system x", "%YAML 9.9",
    "\t- a", "a: *nope", "x: !foo 5", "? {a: b}\n: c", "x: 0o17", "y: 1_000", "z: .inf", "s: !!set {a, b}",
    "b: !!binary aaa", "t: !!timestamp x", "i: !!int x", "f: !!float y", "o: !!bool 5",
    "n: !!int ''", "q: \"\\q\"", "c: \x00",
)  # fmt: skip
VALUES = ("{", "[", "'", "|", "1e400", "0x", "yes", "!!int x", '"\\q"', "&a", "12:30:45", "2001-02-30", "~")
CHARACTERS = "{}[]:,&*!|>%@`'\"#-\t\n \\\x00\x85\ufeff"


def mutated(rng: Random, text: str) -> str:
    """Return *text* with up to three changes: of a character, a line, an indentation or a value."""
    for _ in range(rng.choice([1, 1, 3])):
        at, lines = rng.randrange(len(text)), text.split("\n")
        row = rng.randrange(len(lines))
        how = rng.randrange(6)
        if how == 0:
            text = text[:at] + rng.choice(CHARACTERS) + text[at:]
        elif how == 1:
            text = text[:at] + text[at + rng.randrange(1, 5) :]
        elif how == 2:
            text = text[: at + 1]
        else:
            if how == 3:
                lines[row] = " " * rng.randrange(1, 4) + lines[row]
            elif how == 4:
                lines.insert(row, rng.choice(LINES))
            else:
                lines[row] = re.sub(r": .*", lambda _: f": {rng.choice(VALUES)}", lines[row])
            text = "\n".join(lines)
        text = text or " "
    return text


@pytest.mark.parametrize("seed", range(3))
def test_any_text_is_read_or_refused_with_its_line(seed: int) -> None:
    rng = Random(seed)
    refused = 0
    for _ in range(MUTATIONS):
        text = mutated(rng, yaml.safe_dump(copy.deepcopy(rng.choice(right_manifests())), sort_keys=False))
        stream = io.StringIO(text)
        stream.name = "pods.yaml"
        try:
            list(load_manifests(stream, strict=rng.random() < 0.8))
        except InputError as error:
            refused += 1
            places = [(each.location, each.fix) for each in error.errors]
            assert all(re.match(r"pods\.yaml:\d+", place) and fix for place, fix in places), (places, text)
    assert refused > MUTATIONS / 4


@pytest.mark.parametrize(
    ("scalar", "problem"),
    [
        ("!!int x", "metadata.name: cannot be read: 'x' is not a YAML int; correct it"),
        ("!!float y", "metadata.name: cannot be read: 'y' is not a YAML float"),
        ("!!timestamp x", "metadata.name: cannot be read: 'x' is not a YAML timestamp"),
        ("!!bool maybe", "metadata.name: cannot be read: 'maybe' is not a YAML bool"),
        ("!!int ''", "metadata.name: cannot be read: '' is not a YAML int"),
        ("a\x00b", "cannot be read as YAML: the character '\\x00' is not allowed; remove it"),
    ],
)
def test_a_scalar_that_cannot_be_read_has_its_line(scalar: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        list(load_manifests(f"kind: Pod\nmetadata:\n  name: {scalar}\n"))
    assert str(caught.value).removeprefix("line 3: Pod: ").removeprefix("line 3: ").startswith(problem)
