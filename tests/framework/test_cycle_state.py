from __future__ import annotations

import pytest
from attrs import define
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe.errors import InvariantError, SchedframeError
from schedframe.framework import CycleState, CycleStateError, StateKey

COUNT: StateKey[int] = StateKey("Fit/count")
OTHER: StateKey[int] = StateKey("Fit/count")
BAG: StateKey[Bag] = StateKey("Spread/bag")


@define
class Bag:
    items: list[int]

    def clone(self) -> Bag:
        return Bag(list(self.items))


def test_reading_an_absent_entry_says_what_to_look_for() -> None:
    with pytest.raises(
        CycleStateError, match="Fit/count is not in the cycle state; it is written by"
    ) as caught:
        CycleState().read(COUNT)
    assert isinstance(caught.value, SchedframeError | KeyError)
    assert not str(caught.value).startswith("'")


def test_keys_compare_by_identity() -> None:
    state = CycleState()
    state.write(COUNT, 1)
    assert OTHER not in state
    assert state.get(OTHER) is None
    assert state.get(OTHER, 7) == 7
    assert repr(COUNT) == "StateKey('Fit/count')"


def test_a_clone_shares_what_cannot_be_cloned() -> None:
    state = CycleState()
    shared = [1]
    key: StateKey[list[int]] = StateKey("shared")
    state.write(key, shared)
    state.write(BAG, Bag([1]))
    copy = state.clone()
    assert copy.read(key) is shared
    copy.read(BAG).items.append(2)
    assert state.read(BAG).items == [1]


def test_a_template_makes_clones_of_what_the_state_was() -> None:
    state = CycleState()
    bag = Bag([1])
    state.write(COUNT, 1)
    state.write(BAG, bag)
    state.skip_filter_plugins.add("Fit")
    make = state.template()
    state.write(COUNT, 2)
    state.skip_filter_plugins.clear()
    first, second = make(), make()
    assert (first.read(COUNT), first.read(BAG), first.skip_filter_plugins) == (1, bag, {"Fit"})
    assert first.read(BAG) is not bag
    assert first.read(BAG) is not second.read(BAG)
    first.write(OTHER, 5)
    first.skip_score_plugins.add("Fit")
    assert OTHER not in second
    assert not second.skip_score_plugins


def test_skipped_plugins_are_cloned() -> None:
    state = CycleState()
    state.skip_filter_plugins.add("A")
    state.skip_score_plugins.add("B")
    copy = state.clone()
    copy.skip_filter_plugins.add("C")
    copy.skip_score_plugins.clear()
    assert (state.skip_filter_plugins, state.skip_score_plugins) == ({"A"}, {"B"})


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state._entries.update(text=1),
        lambda state: state.skip_filter_plugins.add(""),
        lambda state: state.skip_score_plugins.add(5),
    ],
)
def test_damage_is_found(damage: object) -> None:
    state = CycleState()
    state.write(COUNT, 1)
    state.check_invariants()
    assert callable(damage)
    damage(state)
    with pytest.raises(InvariantError):
        state.check_invariants()


KEYS = [StateKey[Bag](f"key{i}") for i in range(4)]


class CycleStateMachine(RuleBasedStateMachine):
    """Several states, clones of each other, each with a dictionary that says what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[tuple[CycleState, dict[StateKey[Bag], list[int]], set[str]]] = [
            (CycleState(), {}, set())
        ]

    which = st.integers(0, 7)
    keys = st.sampled_from(KEYS)

    def _at(self, which: int) -> tuple[CycleState, dict[StateKey[Bag], list[int]], set[str]]:
        return self.states[which % len(self.states)]

    @rule(which=which, key=keys, items=st.lists(st.integers(), max_size=2))
    def write(self, which: int, key: StateKey[Bag], items: list[int]) -> None:
        state, model, _ = self._at(which)
        state.write(key, Bag(list(items)))
        model[key] = list(items)

    @rule(which=which, key=keys, item=st.integers())
    def change(self, which: int, key: StateKey[Bag], item: int) -> None:
        state, model, _ = self._at(which)
        if key in model:
            state.read(key).items.append(item)
            model[key].append(item)
        else:
            with pytest.raises(CycleStateError):
                state.read(key)

    @rule(which=which, key=keys)
    def delete(self, which: int, key: StateKey[Bag]) -> None:
        state, model, _ = self._at(which)
        state.delete(key)
        model.pop(key, None)

    @rule(which=which, name=st.sampled_from("ABC"))
    def skip(self, which: int, name: str) -> None:
        state, _, skipped = self._at(which)
        state.skip_filter_plugins.add(name)
        skipped.add(name)

    @rule(which=which)
    def clone(self, which: int) -> None:
        state, model, skipped = self._at(which)
        copied = {key: list(items) for key, items in model.items()}
        self.states = [*self.states[-5:], (state.clone(), copied, set(skipped))]

    @invariant()
    def agree(self) -> None:
        for state, model, skipped in self.states:
            state.check_invariants()
            assert len(state) == len(model)
            assert state.skip_filter_plugins == skipped
            for key in KEYS:
                assert (key in state) == (key in model)
                found = state.get(key)
                assert (None if found is None else found.items) == model.get(key)


TestCycleState = CycleStateMachine.TestCase
