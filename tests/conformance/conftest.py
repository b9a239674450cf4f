"""Makes one test of each measured case."""

from __future__ import annotations

import pytest

from .corpus import Corpus
from .families import FAMILIES

_CORPUS = pytest.StashKey[Corpus]()


def _corpus(config: pytest.Config) -> Corpus:
    if _CORPUS not in config.stash:
        config.stash[_CORPUS] = Corpus(config.getoption("--conformance-dir"))
    return config.stash[_CORPUS]


@pytest.fixture(scope="session")
def corpus(pytestconfig: pytest.Config) -> Corpus:
    """The cases under ``--conformance-dir``."""
    return _corpus(pytestconfig)


@pytest.fixture(scope="session")
def bundled() -> Corpus:
    """The cases that come with the project, whatever the option says: what the comparers are tested with."""
    return Corpus()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises over the cases on disk, with ids ``<family>::<case>``."""
    if {"family", "index"} <= set(metafunc.fixturenames):
        corpus = _corpus(metafunc.config)
        metafunc.parametrize(
            ("family", "index"),
            [
                pytest.param(family, index, id=f"{family}::{name}")
                for family, comparer in FAMILIES.items()
                if comparer is not None and family in corpus.families
                for index, name in enumerate(corpus.names(family))
            ],
        )
