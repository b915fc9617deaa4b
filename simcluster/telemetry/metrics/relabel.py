"""Relabelling, as Prometheus does it to what it discovers and to what it scrapes.

Source: model/relabel/relabel.go of Prometheus 3. Expressions have RE2's syntax; replacements Go's (`$1`, `${1}`).
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

_REFERENCE = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))")
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
        """As a configuration has it. Raises ValueError: an action that does not exist."""
        known = {key: value for key, value in given.items() if key in cls._fields}
        labels = known.pop("source_labels", ())
        assert isinstance(labels, Sequence)
        rule = cls(source_labels=tuple(map(str, labels)))._replace(**{k: _plain(v) for k, v in known.items()})
        rule = rule._replace(action=rule.action.lower())
        if rule.action not in ACTIONS:
            raise ValueError(f'unknown relabel action "{rule.action}"')
        return rule


def _plain(value: object) -> object:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)


@functools.lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(f"^(?s:{text})$")


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
    action, pattern = rule.action, _pattern(rule.regex)
    if action in ("keep", "drop"):
        return (pattern.fullmatch(value) is not None) == (action == "keep")
    if action in ("keepequal", "dropequal"):
        return (labels.get(rule.target_label, "") == value) == (action == "keepequal")
    if action == "replace":
        match = pattern.fullmatch(value)
        if match is not None:
            labels[_expand(match, rule.target_label)] = _expand(match, rule.replacement)
    elif action == "hashmod":
        digest = int.from_bytes(hashlib.md5(value.encode(), usedforsecurity=False).digest()[8:], "big")
        labels[rule.target_label] = str(digest % max(1, rule.modulus))
    elif action in ("lowercase", "uppercase"):
        labels[rule.target_label] = value.lower() if action == "lowercase" else value.upper()
    elif action == "labelmap":
        for name, match in [(name, pattern.fullmatch(name)) for name in labels]:
            if match is not None:
                labels[_expand(match, rule.replacement)] = labels[name]
    else:
        for name in [name for name in labels if (pattern.fullmatch(name) is None) == (action == "labelkeep")]:
            del labels[name]
    return True


def _expand(match: re.Match[str], template: str) -> str:
    """Go's Regexp.Expand: references to groups that are not there are empty."""
    if "$" not in template:
        return template

    def group(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        name = found[2] or found[3]
        try:
            return match[int(name) if name.isdecimal() else name] or ""
        except (IndexError, KeyError):
            return ""

    return _REFERENCE.sub(group, template)
