"""Which versions meet the requirement of a package."""

from __future__ import annotations

import pytest

from schedframe.framework.requirement import fits


@pytest.mark.parametrize(
    "stated",
    [">=0.3", ">=0.3,<0.5", "==0.4", "==0.4.0", "!=0.3", " >= 0.3 , < 1 ", ">0.3.9", "<=0.4", "~=0.9", ""],
)
@pytest.mark.parametrize("version", ["0.4", "0.4.0", "0.4.0.dev3", "0.4rc1"])
def test_versions_that_fit(stated: str, version: str) -> None:
    assert fits(stated, version)


@pytest.mark.parametrize("stated", [">=0.5", ">=0.3,<0.4", "==0.3", "!=0.4", ">0.4", "<0.4", "<=0.3.10"])
def test_versions_that_do_not_fit(stated: str) -> None:
    assert not fits(stated, "0.4.0")


def test_numbers_are_compared_as_numbers() -> None:
    assert fits(">=0.9", "0.10")
