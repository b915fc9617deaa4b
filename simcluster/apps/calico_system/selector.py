"""Calico's selectors, as far as they choose nodes: `all()`, `has(k)`, `k == 'v'`, `k != 'v'`, `!` before one, `&&`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TERM = re.compile(r"(!?)\s*(?:(all)\(\)|has\(([^)]+)\)|(\S+?)\s*(==|!=)\s*['\"]([^'\"]*)['\"])")


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels is chosen; an empty selector, or one that is none, chooses nobody.

    >>> matches("has(route-reflector) && zone != 'b'", {"route-reflector": "true", "zone": "a"})
    True
    """
    found = [_TERM.fullmatch(part.strip()) for part in selector.split("&&")]
    return all(term is not None and _holds(term, labels) for term in found)


def _holds(term: re.Match[str], labels: Mapping[str, str]) -> bool:
    negated, every, key, name, operator, value = term.groups()
    if every:
        said = True
    elif key:
        said = key.strip() in labels
    else:
        said = (labels.get(name) == value) == (operator == "==")
    return said != bool(negated)
