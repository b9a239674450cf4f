"""The index of rejected classes answers as a model does, whatever is dropped from it in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import define, field
from hypothesis import example, given
from hypothesis import strategies as st

from schedframe.cycle import rejected_classes
from schedframe.cycle.rejected_classes import RejectedClasses

OWNERS = range(4)
ROWS = range(3)


@define(eq=False)
class Table:
    """A table of which only the log of changed rows is read."""

    changed: list[int] = field(factory=list)

    @property
    def row_log(self) -> Table:
        return self

    def since(self, version: int) -> list[int]:
        return self.changed[version:]


def passing(group: Any, row: int) -> Any:
    """As of a group whose queries are the rows that pass."""
    pairs = zip(group.numbers, group.queries, strict=True)
    return np.array([number for number, rows in pairs if row in rows], np.intp)


def check(index: RejectedClasses, model: dict[int, set[int]]) -> None:
    index.check_invariants()
    for owner in OWNERS:
        rows = model.get(owner, set())
        assert (owner in index) == (owner in model)
        assert index.suits_none(owner) == (owner in model and not rows)
        assert index.only_row(owner) == (next(iter(rows)) if len(rows) == 1 else None)
    assert index.few is not None
    assert set(index.few) == {owner for owner, rows in model.items() if rows}


STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(OWNERS), st.booleans()),
    st.tuples(st.just("change"), st.sampled_from(ROWS)),
    st.tuples(st.just("keep"), st.sets(st.sampled_from(OWNERS))),
)


SEVERAL_KEPT = [
    *(("add", owner, True) for owner in range(3)),
    *(("change", row) for row in ROWS),
    ("keep", {1, 2}),
    *(("change", row) for row in ROWS),
    ("keep", {2}),
    ("change", 0),
]


@given(
    steps=st.lists(STEPS, max_size=40),
    suits=st.lists(st.sets(st.sampled_from(ROWS)), min_size=len(OWNERS), max_size=len(OWNERS)),
)
@example(steps=SEVERAL_KEPT, suits=[{0, 1}, {2}, {0, 2}, set()])
def test_what_is_kept_has_the_same_answers_as_before(steps: list[Any], suits: list[set[int]]) -> None:
    table = Table()
    index = RejectedClasses(table, lambda: (len(table.changed), 0), 100, 100)  # type: ignore[arg-type]
    model: dict[int, set[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rejected_classes._Group, "passing", passing)
        for what, subject, *more in steps:
            if what == "add":
                index.add(subject, "columns", suits[subject], by_state=more[0])  # type: ignore[arg-type]
                model.setdefault(subject, set())
            elif what == "change":
                table.changed.append(subject)
                index.sync()
                for owner, rows in model.items():
                    rows.update({subject} & suits[owner])
            else:
                drops = index.drops
                index.keep(subject)
                assert index.drops > drops, "what relied on a class must look again"
                model = {owner: rows for owner, rows in model.items() if owner in subject}
            check(index, model)
