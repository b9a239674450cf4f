"""When garbage is collected in a scheduler that runs."""

from __future__ import annotations

import gc

import pytest

from schedframe.cli.garbage import YOUNG_OBJECTS, collection_postponed, exempt_present_objects


def test_nothing_is_collected_before_the_start_is_over() -> None:
    frozen, thresholds = gc.get_freeze_count(), gc.get_threshold()
    with collection_postponed():
        assert not gc.isenabled()
        exempt_present_objects()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
        assert gc.get_threshold() == (YOUNG_OBJECTS, *thresholds[1:])
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == thresholds


def test_a_start_that_fails_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(RuntimeError), collection_postponed():
        raise RuntimeError
    assert gc.isenabled()
