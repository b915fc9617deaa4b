"""NodeSelectors: terms over node labels and names, used by pods and by volumes.

Source: component-helpers scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.selectors import Requirement


def term_matches(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    """Whether a NodeSelectorTerm selects a node; a term without requirements selects none."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    about = {"metadata.name": name}
    return all(_holds(entry, labels) for entry in expressions) and all(_holds(entry, about) for entry in fields)


def _holds(entry: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ())).matches(labels)


def node_selector_matches(selector: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    """Whether a NodeSelector (its terms are alternatives) selects a node."""
    return any(term_matches(term, labels, name) for term in selector.get("nodeSelectorTerms") or ())
