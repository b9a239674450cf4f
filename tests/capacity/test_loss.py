"""What a loss costs: equal to taking each domain away in a fork of its own."""

from __future__ import annotations

import pytest

from schedframe.capacity import CapacityLoss, DomainLoss, loss
from schedframe.errors import InputError
from schedframe.fork import Fork
from schedframe.testing import node, pod

from ..controllers.charts import chart
from ..fork.worlds import random_fork
from ..profiles import scaled
from .worlds import owned

ZONE = "topology.kubernetes.io/zone"


def by_domain(answer: CapacityLoss) -> dict[str, DomainLoss]:
    return {each.domain: each for each in answer.domains}


def single(fork: Fork, by: str, domain: str) -> DomainLoss:
    """Return one domain of a run of its own."""
    with fork.fork() as other:
        (only,) = loss(other, by=by, only=[domain], after=False).domains
        return only


@pytest.mark.parametrize("by", ["node", "zone"])
def test_all_at_once_is_each_by_itself(by: str) -> None:
    for seed in range(scaled(8)):
        with random_fork(seed) as fork:
            for domain, found in by_domain(loss(fork, by=by, after=False)).items():
                assert found == single(fork, by, domain), f"seed {seed}, {domain}"
            assert not fork.diff()


def test_pods_with_volumes_claims_and_budgets() -> None:
    for seed in range(scaled(4)):
        with Fork.of(chart(seed), strict=False) as fork:
            fork.schedule()
            for domain, found in by_domain(loss(fork)).items():
                assert found == single(fork, "node", domain), f"seed {seed}, {domain}"


def test_a_pod_is_lost_if_no_other_node_has_room_and_the_worst_is_first() -> None:
    cluster = [
        node("a", cpu=4),
        node("b", cpu=4),
        owned(pod("large").requests(cpu="3").on_node("a")),
        owned(pod("small").requests(cpu="1").on_node("b")),
        owned(pod("other").requests(cpu="2").on_node("b")),
    ]
    answer = loss(cluster)
    assert [each.domain for each in answer.domains] == ["b", "a"]
    first, second = answer.domains
    assert [str(each) for each in first.lost] == [
        "default/other: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    ]
    assert dict(first.rescheduled) == {"default/small": "a"}
    assert [each.pod for each in second.lost] == ["default/large"]
    assert not answer.is_survived


def test_a_pod_without_a_controller_is_lost_and_one_of_a_daemon_set_goes_along() -> None:
    cluster = [
        node("a"),
        node("b"),
        pod("bare").on_node("a"),
        owned(pod("daemon").on_node("a"), "DaemonSet"),
    ]
    worst = loss(cluster).worst
    assert worst is not None
    assert [str(each) for each in worst.lost] == ["default/bare: nothing makes it again"]
    assert dict(worst.rescheduled) == {}


def test_a_victim_of_preemption_is_lost_unless_it_finds_another_place() -> None:
    cluster = [
        node("a", cpu=2),
        node("b", cpu=2),
        node("c", cpu=1),
        owned(pod("high").requests(cpu="2").priority(10).on_node("a")),
        owned(pod("low").requests(cpu="1").on_node("b")),
        owned(pod("low2").requests(cpu="1").on_node("b")),
    ]
    found = by_domain(loss(cluster))["a"]
    assert found.rescheduled["default/high"] == "b"
    assert len(found.lost) == 1
    assert len(found.rescheduled) == 2


def test_nodes_with_one_value_of_a_label_go_together() -> None:
    cluster = [
        node("a", cpu=2).in_zone("west"),
        node("b", cpu=2).in_zone("west"),
        node("c", cpu=2).in_zone("east"),
        node("nowhere", cpu=1),
        owned(pod("one").requests(cpu="2").on_node("a")),
    ]
    answer = loss(cluster, by=ZONE)
    assert {each.domain: each.nodes for each in answer.domains} == {"west": ("a", "b"), "east": ("c",)}
    assert answer.is_survived
    assert answer.to_dict()["domains"][0]["rescheduled"] == [{"pod": "default/one", "node": "c"}]


def test_pods_that_wait_go_on_waiting() -> None:
    cluster = [node("a", cpu=1), node("b", cpu=1), pod("waits").requests(cpu="2")]
    answer = loss(cluster)
    assert answer.is_survived
    assert all(not each.rescheduled for each in answer.domains)


def test_the_table_has_a_row_for_each_domain() -> None:
    answer = loss([node("a"), pod("bare").on_node("a")])
    assert (
        str(answer)
        == "node  nodes  lost  rescheduled  lost pods\na     1      1     0            default/bare"
    )


@pytest.mark.parametrize(
    ("by", "only", "problem"), [("rack", None, "no node has the label rack"), ("node", ["b"], "no node is b")]
)
def test_mistakes(by: str, only: list[str] | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        loss([node("a")], by=by, only=only)
