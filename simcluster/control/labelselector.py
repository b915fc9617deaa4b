"""Label selectors as workload controllers read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.selectors import matches, of_label_selector


def selector_of(owner: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The LabelSelector of a workload; a ReplicationController's is a plain map of labels.

    >>> selector_of({"kind": "ReplicationController", "spec": {"selector": {"app": "a"}}})
    {'matchLabels': {'app': 'a'}}
    """
    found: Mapping[str, Any] | None = owner["spec"].get("selector")
    if owner.get("kind") == "ReplicationController":
        return {"matchLabels": found} if found else None
    return found


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector selects an object with these labels.

    A missing selector selects nothing, an empty one everything.

    >>> selector_matches({"matchLabels": {"app": "a"}}, {"app": "a", "x": "y"})
    True
    >>> selector_matches({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, {"x": "y"})
    False
    >>> selector_matches(None, {}), selector_matches({}, {"x": "y"})
    (False, True)
    """
    if selector is None:
        return False
    # Controllers ask this for every pod they own at every sync: labels first, they cost little.
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return not selector.get("matchExpressions") or matches(of_label_selector(selector), labels)
