"""Every configuration of the conformance cases: accepted or refused as recorded, and read back as written."""

from __future__ import annotations

import pytest

from schedframe.config import CatalogueEntry, dump_config, load_config
from schedframe.errors import ConfigError
from tests.conformance.config_case import OUT_OF_TREE
from tests.conformance.corpus import Corpus
from tests.profiles import sample

BUNDLED = Corpus()
FAKES = (CatalogueEntry("FakeReserve", ("reserve",)),)
"""Plugins of the cases of pod groups."""


def test_what_is_written_reads_back_the_same() -> None:
    read = 0
    for case in sample(BUNDLED.cases("config"), 3):
        if case["expected"]["ok"]:
            config = load_config(case["yaml"], out_of_tree=OUT_OF_TREE)
            assert load_config(dump_config(config), out_of_tree=OUT_OF_TREE) == config, case["name"]
            read += 1
    assert read > 30


@pytest.mark.parametrize("family", sorted(BUNDLED.families - {"config", "queue"}))
def test_configurations_of_scheduling_cases(family: str) -> None:
    for case in sample(BUNDLED.cases(family)):
        expected = case.get("expect")
        error = expected.get("config_error") if isinstance(expected, dict) else None
        if error is None:
            load_config(
                case.get("config"),
                out_of_tree=FAKES,
                feature_gates=dict.fromkeys(case.get("gates", ()), True),
            )
        else:
            with pytest.raises(ConfigError):
                load_config(case["config"])
