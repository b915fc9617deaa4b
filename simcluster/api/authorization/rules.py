"""PolicyRules: what they match, what they cover, how they are merged and printed.

A rule is the dictionary of the wire (`verbs`, `apiGroups`, `resources`, `resourceNames`,
`nonResourceURLs`) and is never changed here.

Sources: pkg/apis/rbac/v1/evaluation_helpers.go, k8s.io/component-helpers/auth/rbac/validation
and pkg/registry/rbac/validation/policy_compact.go of Kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simcluster.api.authorization.question import Question

Rule = Mapping[str, Any]

_PRINTED = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def matches_verb(rule: Rule, verb: str) -> bool:
    """Whether the rule names the verb."""
    verbs = rule.get("verbs") or ()
    return "*" in verbs or verb in verbs


def matches_resource(rule: Rule, group: str, resource: str, subresource: str) -> bool:
    """Whether the rule is about the resource, whatever names it is limited to."""
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    if "*" not in groups and group not in groups:
        return False
    if "*" in resources:
        return True
    if not subresource:
        return resource in resources
    return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources


def matches_path(rule: Rule, path: str) -> bool:
    """Whether the rule is about the path; `/api/*` stands for everything below `/api/`."""
    for url in rule.get("nonResourceURLs") or ():
        if url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*"))):
            return True
    return False


def allows(rule: Rule, question: Question) -> bool:
    """Whether the rule allows what is asked."""
    if not matches_verb(rule, question.verb):
        return False
    if question.path:
        return matches_path(rule, question.path)
    if not matches_resource(rule, question.group, question.resource, question.subresource):
        return False
    names = rule.get("resourceNames")
    return not names or question.name in names


def broken_down(rule: Rule) -> list[dict[str, Any]]:
    """The rule as rules of one verb and one resource (and name), or one path, each."""
    found: list[dict[str, Any]] = []
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                one = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                found.extend([{**one, "resourceNames": [name]} for name in names] or [one])
    for url in rule.get("nonResourceURLs") or ():
        found.extend({"verbs": [verb], "nonResourceURLs": [url]} for verb in rule.get("verbs") or ())
    return found


def compacted(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Rules of the same single resource joined into one with all their verbs."""
    kept: list[dict[str, Any]] = []
    simple: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for rule in rules:
        groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
        names = rule.get("resourceNames") or []
        if rule.get("nonResourceURLs") or len(groups) != 1 or len(resources) != 1 or len(names) > 1:
            kept.append(dict(rule))
            continue
        key = (groups[0], resources[0], names[0] if names else None)
        joined = simple.setdefault(key, {**rule, "verbs": []})
        joined["verbs"] = list(dict.fromkeys([*joined["verbs"], *(rule.get("verbs") or ())]))
    return [*kept, *simple.values()]


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[dict[str, Any]]:
    """The parts of `wanted` that no rule of `owned` grants."""
    return [part for rule in wanted for part in broken_down(rule) if not any(_covers(own, part) for own in owned)]


def _covers(own: Rule, part: Rule) -> bool:
    if not matches_verb(own, part["verbs"][0]):
        return False
    if part.get("nonResourceURLs"):
        return matches_path(own, part["nonResourceURLs"][0])
    groups, resources = own.get("apiGroups") or (), own.get("resources") or ()
    if "*" not in groups and part["apiGroups"][0] not in groups:
        return False
    resource = part["resources"][0]
    if "*" not in resources and resource not in resources:
        subresource = resource.partition("/")[2]
        if not subresource or f"*/{subresource}" not in resources:
            return False
    names = own.get("resourceNames") or ()
    return not names or (bool(part.get("resourceNames")) and part["resourceNames"][0] in names)


def text_of(rule: Rule) -> str:
    """The rule on one line, as errors print it.

    >>> text_of({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]})
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}'
    """
    parts = [f"{title}:{quoted(rule[key])}" for title, key in _PRINTED if rule.get(key)]
    return "{" + ", ".join(parts) + "}"


def quoted(values: Iterable[str]) -> str:
    """A list of texts as Go's %q prints it.

    >>> quoted(["a", "b"])
    '["a" "b"]'
    """
    return "[" + " ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"
