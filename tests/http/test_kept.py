"""Connections that wait for another request."""

from __future__ import annotations

from attrs import define

from schedframe.http.address import Address
from schedframe.http.kept import KEEP_ALIVE_SECONDS, KeptConnections

HERE, THERE = Address.of("http://here"), Address.of("http://there")


@define(eq=False)
class Kept:
    is_open: bool = True
    is_closed: bool = False

    def is_idle(self) -> bool:
        return self.is_open

    def close(self) -> None:
        self.is_closed = True


def test_the_last_one_used_is_taken_first() -> None:
    kept = KeptConnections[Kept]()
    first, second, other = Kept(), Kept(), Kept()
    kept.put(HERE, first, 0.0)
    kept.put(HERE, second, 1.0)
    kept.put(THERE, other, 1.0)
    assert (kept.take(HERE, 2.0), kept.take(Address.of("http://here/path"), 2.0)) == (second, first)
    assert kept.take(HERE, 2.0) is None
    assert (kept.take(THERE, 2.0), len(kept)) == (other, 0)


def test_those_that_ended_or_are_idle_for_long_are_closed() -> None:
    kept = KeptConnections[Kept]()
    old, new, ended = Kept(), Kept(), Kept(is_open=False)
    kept.put(HERE, old, 0.0)
    kept.put(HERE, new, 5.0)
    kept.put(HERE, ended, 6.0)
    assert kept.take(HERE, KEEP_ALIVE_SECONDS + 1.0) is new
    assert (old.is_closed, new.is_closed, ended.is_closed) == (True, False, True)
    kept.put(HERE, new, 7.0)
    assert kept.take(HERE, KEEP_ALIVE_SECONDS + 8.0) is None
    assert new.is_closed


def test_addresses_without_end_are_not_kept() -> None:
    kept, all_of_them = KeptConnections[Kept](), []
    for number in range(100):
        all_of_them.append(Kept())
        kept.put(Address.of(f"http://host-{number}"), all_of_them[-1], 0.0)
        assert len(kept) <= 16
    assert len(kept) == sum(not each.is_closed for each in all_of_them)


def test_none_is_kept_after_the_end() -> None:
    kept = KeptConnections[Kept]()
    early, late = Kept(), Kept()
    kept.put(HERE, early, 0.0)
    kept.close()
    kept.put(HERE, late, 0.0)
    assert (early.is_closed, late.is_closed, len(kept)) == (True, True, 0)
