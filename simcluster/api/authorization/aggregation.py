"""Aggregated ClusterRoles: their rules are those of the roles their selectors choose.

Source: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.objects import Json, labels_of, name_of
from simcluster.api.selectors import matches, of_label_selector


def is_aggregated(role: Mapping[str, Any]) -> bool:
    """Whether somebody else writes the role's rules."""
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def aggregated_rules(role: Mapping[str, Any], roles: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The rules of the chosen roles (sorted by name), each once, in order."""
    rules: list[Json] = []
    others = [other for other in roles if other["metadata"]["name"] != role["metadata"]["name"]]
    for selector in role["aggregationRule"]["clusterRoleSelectors"]:
        requirements = of_label_selector(selector)
        for other in sorted(others, key=name_of):
            if matches(requirements, labels_of(other)):
                rules.extend(rule for rule in other.get("rules") or () if rule not in rules)
    return rules
