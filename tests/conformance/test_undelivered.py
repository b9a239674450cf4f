"""The list of missing plugins tells the truth, and so do the other plugin names that the runner relies on."""

from __future__ import annotations

from importlib.metadata import entry_points

from plugins_builtin.catalogue import CATALOGUE

from . import plan
from .scheduling_case import POST_FILTER_PLUGINS
from .undelivered import UNDELIVERED


def test_the_list_is_the_catalogue_less_what_is_installed() -> None:
    installed = {entry.name for entry in entry_points(group="schedframe.plugins")}
    assert set(CATALOGUE.names()) - installed == UNDELIVERED


def test_post_filter_plugins_are_those_of_the_catalogue() -> None:
    by_default = {entry.name for entry in CATALOGUE.defaults() if "postFilter" in entry.points}
    assert by_default == POST_FILTER_PLUGINS


def test_plugins_that_pods_meet_are_the_default_filters_and_scores() -> None:
    everything = plan.plugins_met(
        [
            {
                "spec": {
                    "affinity": {"podAffinity": {"x": 1}},
                    "topologySpreadConstraints": [{}],
                    "volumes": [{}],
                    "resourceClaims": [{}],
                }
            }
        ]
    )
    deciding = {e.name for e in CATALOGUE.defaults() if {"filter", "score"} & set(e.points)}
    assert everything == deciding
    filters = {e.name for e in CATALOGUE.defaults() if "filter" in e.points}
    assert filters >= plan.MET_BY_SOME_PODS == everything - plan.plugins_met([])
    assert plan.plugins_met([], {"Service"}) - plan.plugins_met([]) == {"PodTopologySpread"}
