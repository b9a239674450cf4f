"""The undo log and its dictionary, against copies."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from schedframe._base.undo import UndoDict, UndoLog
from schedframe.errors import InvariantError

keys = st.sampled_from("abcdef")


class UndoMachine(RuleBasedStateMachine):
    """Two dictionaries with one log; the model copies both."""

    def __init__(self) -> None:
        super().__init__()
        self.log = UndoLog()
        self.undone: list[str] = []
        self.dicts = [UndoDict(self.log, {"a": 0, "b": 0}, self.undone.append), UndoDict(self.log)]
        self.models: list[dict[str, int]] = [{"a": 0, "b": 0}, {}]
        self.trials: list[tuple[int, list[dict[str, int]]]] = []

    @rule(which=st.integers(0, 1), key=keys, value=st.integers(0, 3))
    def put(self, which: int, key: str, value: int) -> None:
        self.dicts[which][key] = self.models[which][key] = value

    @rule(which=st.integers(0, 1), key=keys)
    def pop(self, which: int, key: str) -> None:
        assert self.dicts[which].pop(key, -1) == self.models[which].pop(key, -1)

    @rule(which=st.integers(0, 1), key=keys)
    def setdefault(self, which: int, key: str) -> None:
        assert self.dicts[which].setdefault(key, 9) == self.models[which].setdefault(key, 9)

    @precondition(lambda self: self.models[0])
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.models[0])))
        del self.dicts[0][key], self.models[0][key]

    @rule()
    def begin(self) -> None:
        self.trials.append((self.log.begin(), [dict(model) for model in self.models]))

    @precondition(lambda self: self.trials)
    @rule()
    def keep(self) -> None:
        self.log.keep(self.trials.pop()[0])

    @precondition(lambda self: self.trials)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.trials) - 1))
        depth, models = self.trials[at]
        del self.trials[at:]
        before = [dict(model) for model in self.models]
        self.undone.clear()
        self.log.revert(depth)
        self.models = models
        changed = {key for key in "abcdef" if before[0].get(key) != models[0].get(key)}
        assert changed <= set(self.undone)

    @invariant()
    def equal_and_in_order(self) -> None:
        for found, model in zip(self.dicts, self.models, strict=True):
            assert len(found) == len(model)
            assert [*found] == [*model]
            assert [*found.items()] == [*model.items()]
            assert [*found.values()] == [*model.values()]
            assert [*reversed(found)] == [*reversed(model)]

    @invariant()
    def nothing_is_left(self) -> None:
        assert len(self.log.marks) == len(self.trials)
        if not self.trials:
            assert not self.log.entries


TestUndo = UndoMachine.TestCase


def test_a_trial_that_is_over_cannot_end_again() -> None:
    log = UndoLog()
    outer = log.begin()
    inner = log.begin()
    log.revert(outer)
    for end in (log.revert, log.keep):
        with pytest.raises(InvariantError, match="trial 1 is over: 0 trials are under way"):
            end(inner)


def test_an_owner_that_is_saved_is_set_back_as_a_whole() -> None:
    log, state = UndoLog(), [1]
    outer = log.begin()
    log.save("owner", (state.__setitem__, 0, 1))
    log.begin()
    assert not log.is_saved("owner")
    log.save("owner", (state.__setitem__, 0, 2))
    assert log.is_saved("owner")
    log.back_to(1)
    assert (state, log.is_saved("owner")) == ([2], False)
    log.revert(outer)
    assert state == [1]
