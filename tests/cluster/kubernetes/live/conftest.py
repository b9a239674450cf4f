"""Every test here runs against the double, and against a real API server if there is one.

``SCHEDFRAME_TEST_KUBECONFIG`` names the kubeconfig of a server on which the tests may create namespaces,
nodes and pods. They leave everything else alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from schedframe.api import PodGroup
from schedframe.cluster.kubernetes import Access, load_access
from schedframe.cluster.kubernetes.credentials import StaticToken
from schedframe.testing.api_server import ApiServer

from .place import Place

KUBECONFIG = os.environ.get("SCHEDFRAME_TEST_KUBECONFIG", "")
NO_SERVER = "no real API server: SCHEDFRAME_TEST_KUBECONFIG is not set"


@pytest.fixture(params=["double", "real"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A namespace on a server."""
    if request.param == "real":
        if not KUBECONFIG:
            pytest.skip(NO_SERVER)  # here, not by a mark, so that the report has one line for all
        made = Place(load_access(KUBECONFIG))
        yield made
        made.close()
        return
    with ApiServer(graceful=True) as server:
        server.serve(PodGroup)
        token = server.config_of("admin")["users"][0]["user"]["token"]
        made = Place(Access(server.url, StaticToken(f"Bearer {token}")))
        yield made
        made.close()
