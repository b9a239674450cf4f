"""A right that is missing is named once, with the rule to add."""

from __future__ import annotations

import pytest

from schedframe.cluster.kubernetes.errors import ApiError
from schedframe.cluster.kubernetes.rights import MissingRights

DENIED = 'pods "a" is forbidden: User "x" cannot {verb} resource "{what}" in API group "{group}" in …'


def forbidden(message: str, status: int = 403) -> ApiError:
    return ApiError("POST /somewhere", status, "Forbidden", message)


def test_each_right_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rights = MissingRights()
    bind = DENIED.format(verb="create", what="pods/binding", group="")
    event = DENIED.format(verb="create", what="events", group="events.k8s.io")
    for message in (bind, event, bind):
        rights.note(forbidden(message))
    assert [each.message.partition("; ")[2] for each in caplog.records] == [
        "add a rule to the ClusterRole of the scheduler: apiGroups: [''], resources: ['pods/binding'], "
        "verbs: ['create']",
        "add a rule to the ClusterRole of the scheduler: apiGroups: ['events.k8s.io'], "
        "resources: ['events'], verbs: ['create']",
    ]


@pytest.mark.parametrize(
    "error",
    [
        forbidden('admission webhook "x" denied the request'),
        forbidden("exceeded quota"),
        forbidden(DENIED.format(verb="create", what="pods", group=""), status=404),
        forbidden(DENIED.format(verb="list", what="pods", group="")),
    ],
)
def test_other_refusals_are_not(error: ApiError, caplog: pytest.LogCaptureFixture) -> None:
    MissingRights().note(error)
    assert not caplog.records
