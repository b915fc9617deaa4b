"""Relabelling, as Prometheus does it to what it discovers and to what it scrapes.

Source: model/relabel/relabel.go of Prometheus 3. Expressions have RE2's syntax; replacements Go's (`$1`, `${1}`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from simcluster.telemetry.promql.regex import compiled, expand

ACTIONS = (
    "replace", "keep", "drop", "keepequal", "dropequal", "hashmod", "labelmap", "labeldrop", "labelkeep", "lowercase",
    "uppercase",
)  # fmt: skip


class Rule(NamedTuple):
    """One entry of `relabel_configs`, with Prometheus's defaults."""

    action: str = "replace"
    source_labels: tuple[str, ...] = ()
    separator: str = ";"
    regex: str = "(.*)"
    target_label: str = ""
    replacement: str = "$1"
    modulus: int = 0

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Rule:
        """As a configuration has it. Raises ValueError: an action that does not exist, no expression."""
        words = given.get("source_labels", ())
        assert isinstance(words, Sequence)
        rule = cls(
            str(given.get("action", "replace")),
            tuple(map(str, words)),
            str(given.get("separator", ";")),
            str(given.get("regex", "(.*)")),
            str(given.get("target_label", "")),
            str(given.get("replacement", "$1")),
            int(str(given.get("modulus", 0))),
        )
        rule = rule._replace(action=rule.action.lower())
        if rule.action not in ACTIONS:
            raise ValueError(f'unknown relabel action "{rule.action}"')
        compiled(rule.regex)
        return rule


def relabelled(labels: Mapping[str, str], rules: Iterable[Rule]) -> dict[str, str] | None:
    """Labels after all rules, empty ones left out; None if a rule drops the target."""
    found = dict(labels)
    for rule in rules:
        if not _apply(found, rule):
            return None
    return {name: value for name, value in found.items() if value}


def _apply(labels: dict[str, str], rule: Rule) -> bool:
    """One rule; False if it drops."""
    value = rule.separator.join([labels.get(name, "") for name in rule.source_labels])
    action, pattern = rule.action, compiled(rule.regex)
    if action in ("keep", "drop"):
        return (pattern.match(value) is not None) == (action == "keep")
    if action in ("keepequal", "dropequal"):
        return (labels.get(rule.target_label, "") == value) == (action == "keepequal")
    if action == "replace":
        match = pattern.match(value)
        if match is not None:
            labels[expand(rule.target_label, match)] = expand(rule.replacement, match)
    elif action == "hashmod":
        digest = int.from_bytes(hashlib.md5(value.encode(), usedforsecurity=False).digest()[8:], "big")
        labels[rule.target_label] = str(digest % max(1, rule.modulus))
    elif action in ("lowercase", "uppercase"):
        labels[rule.target_label] = value.lower() if action == "lowercase" else value.upper()
    elif action == "labelmap":
        for name, match in [(name, pattern.match(name)) for name in labels]:
            if match is not None:
                labels[expand(rule.replacement, match)] = labels[name]
    else:
        for name in [name for name in labels if (pattern.match(name) is None) == (action == "labelkeep")]:
            del labels[name]
    return True
