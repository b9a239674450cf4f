from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from schedframe.api import Pod
from schedframe.errors import InvariantError
from schedframe.queue import NominatingMode, Nominator

from .support import pod


def names(nominator: Nominator, node_name: str) -> list[str]:
    return [pod.name for pod in nominator.nominated_pods_for_node(node_name)]


def test_in_order_of_nomination() -> None:
    nominator = Nominator()
    assert not nominator
    for name in "abc":
        nominator.add(pod(name), "n")
    nominator.add(pod("a"), "n")
    assert names(nominator, "n") == ["b", "c", "a"]
    assert names(nominator, "m") == []
    assert (len(nominator), bool(nominator), list(nominator.node_names)) == (3, True, ["n"])
    assert nominator.node_of(pod("a")) == "n"


def test_a_new_nomination_replaces_the_old_one_even_by_none() -> None:
    nominator = Nominator()
    nominator.add(pod(), "n")
    nominator.add(pod(), "m")
    assert (names(nominator, "n"), names(nominator, "m")) == ([], ["p"])
    nominator.add(pod(), "")
    assert not nominator
    assert nominator.node_of(pod()) is None


def test_noop_takes_the_node_of_the_status() -> None:
    nominator = Nominator()
    nominator.add(pod(nominated="s"), "ignored", NominatingMode.NOOP)
    assert names(nominator, "s") == ["p"]
    nominator.add(pod(), "ignored", NominatingMode.NOOP)
    assert not nominator


def test_pods_that_are_gone_or_bound_are_not_nominated() -> None:
    pending: set[str] = {"uid-p"}
    nominator = Nominator(lambda pod: pod.uid in pending)
    nominator.add(pod(), "n")
    assert names(nominator, "n") == ["p"]
    pending.clear()
    nominator.add(pod(), "m")
    assert not nominator


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("", "", "memory"), ("", "s", "s"), ("s", "", None), ("s", "t", "t"), ("s", "s", "s")],
)
def test_update_keeps_a_nomination_that_the_status_says_nothing_about(
    before: str, after: str, expected: str | None
) -> None:
    nominator = Nominator()
    nominator.add(pod(nominated=before), "memory")
    nominator.update(pod(nominated=before), pod(nominated=after, version="2"))
    assert nominator.node_of(pod()) == expected
    if expected is not None:
        (held,) = nominator.nominated_pods_for_node(expected)
        assert held.metadata.resource_version == "2"


def test_changes_tell_the_node_left_and_the_node_taken() -> None:
    nominator = Nominator()
    nominator.add(pod(), "n")
    before = nominator.version
    nominator.add(pod(), "m")
    assert nominator.changed_since(before) == ["n", "m"]
    before = nominator.version
    nominator.delete(pod())
    assert nominator.changed_since(before) == ["m"]
    assert nominator.changed_since(nominator.version) == []


def test_reading_twice_costs_no_copy() -> None:
    nominator = Nominator()
    nominator.add(pod(), "n")
    assert nominator.nominated_pods_for_node("n") is nominator.nominated_pods_for_node("n")


def test_a_broken_index_is_noticed() -> None:
    nominator = Nominator()
    nominator.add(pod(), "n")
    nominator.nominations["uid-p"] = "m"
    with pytest.raises(InvariantError):
        nominator.check_invariants()


NAMES = st.sampled_from("abcd")
NODES = st.sampled_from(["", "n", "m"])


class NominatorMachine(RuleBasedStateMachine):
    """A nominator against a list of nominations."""

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[str] = set()
        self.nominator = Nominator(lambda pod: pod.uid not in self.gone)
        self.list: list[tuple[str, Pod]] = []

    def put(self, subject: Pod, node_name: str) -> None:
        self.drop(subject)
        if node_name and subject.uid not in self.gone:
            self.list.append((node_name, subject))

    def drop(self, subject: Pod) -> None:
        self.list = [entry for entry in self.list if entry[1].uid != subject.uid]

    @rule(name=NAMES, node_name=NODES, status=NODES, mode=st.sampled_from(NominatingMode))
    def add(self, name: str, node_name: str, status: str, mode: NominatingMode) -> None:
        subject = pod(name, nominated=status)
        self.nominator.add(subject, node_name, mode)
        self.put(subject, node_name if mode is NominatingMode.OVERRIDE else status)

    @rule(name=NAMES, before=NODES, after=NODES)
    def update(self, name: str, before: str, after: str) -> None:
        old, new = pod(name, nominated=before), pod(name, nominated=after, version="2")
        self.nominator.update(old, new)
        kept = [node_name for node_name, held in self.list if held.uid == old.uid]
        self.put(new, kept[0] if kept and not before and not after else after)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.nominator.delete(pod(name))
        self.drop(pod(name))

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        self.gone ^= {pod(name).uid}

    @invariant()
    def agree(self) -> None:
        self.nominator.check_invariants()
        for node_name in ("n", "m"):
            expected = tuple(held for name, held in self.list if name == node_name)
            assert self.nominator.nominated_pods_for_node(node_name) == expected
        assert len(self.nominator) == len(self.list)
        assert set(self.nominator.node_names) == {name for name, _ in self.list}


TestNominatorMachine = NominatorMachine.TestCase
