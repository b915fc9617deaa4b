"""Priority and fairness: which requests are one flow, and what their level may use.

Source: pkg/apis/flowcontrol/validation. Left out: that the mandatory objects keep their fixed specs, and the bits
of entropy that a hand of queues needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import names
from simcluster.api.validation.causes import Causes, Obj

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_MOST_PRECEDENCE, _MOST_QUEUES = 10_000, 10_000_000
#: Kinds of subjects, and the fields that describe them.
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}


def validate_flow_schema(schema: Obj, causes: Causes) -> None:
    """flowcontrol.apiserver.k8s.io/v1 FlowSchema."""
    spec, path = schema.get("spec") or {}, "spec.matchingPrecedence"
    precedence = spec.get("matchingPrecedence", 0)
    if precedence <= 0:
        causes.invalid(path, precedence, "must be a positive value")
    elif precedence > _MOST_PRECEDENCE:
        causes.invalid(path, precedence, f"must not be greater than {_MOST_PRECEDENCE}")
    elif precedence == 1 and schema["metadata"].get("name") != "exempt":
        causes.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        causes.not_supported("spec.distinguisherMethod.type", method.get("type", ""), ("ByNamespace", "ByUser"))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    if level:
        causes.checked("spec.priorityLevelConfiguration.name", level, names.dns_subdomain(level))
    else:
        causes.required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or ()):
        _validate_rule(rule, f"spec.rules[{index}]", causes)


def _validate_rule(rule: Obj, path: str, causes: Causes) -> None:
    subjects = rule.get("subjects") or ()
    if not subjects:
        causes.required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        _validate_subject(subject, f"{path}.subjects[{index}]", causes)
    resources, paths = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resources and not paths:
        causes.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, each in enumerate(resources):
        where = f"{path}.resourceRules[{index}]"
        _validate_verbs(each, where, causes)
        _validate_wildcards(each, "apiGroups", where, causes, "resource rules must supply at least one api group")
        _validate_wildcards(each, "resources", where, causes, "resource rules must supply at least one resource")
        if not each.get("namespaces") and not each.get("clusterScope"):
            detail = "resource rules that are not cluster scoped must supply at least one namespace"
            causes.required(f"{where}.namespaces", detail)
    for index, each in enumerate(paths):
        where = f"{path}.nonResourceRules[{index}]"
        _validate_verbs(each, where, causes)
        _validate_wildcards(each, "nonResourceURLs", where, causes, "nonResourceURLs must contain at least one value")


def _validate_subject(subject: Obj, path: str, causes: Causes) -> None:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        causes.not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))
        return
    for other, field in _SUBJECTS.items():
        body, where = subject.get(field), f"{path}.{field}"
        if other != kind:
            if body is not None:
                causes.forbidden(where, f"{field} is forbidden when subject kind is not '{other}'")
        elif body is None:
            causes.required(where, f"{field} is required when subject kind is '{other}'")
        else:
            if not body.get("name"):
                causes.required(f"{where}.name")
            if other == "ServiceAccount" and not body.get("namespace"):
                causes.required(f"{where}.namespace", "must specify namespace for service account")


def _validate_verbs(rule: Obj, path: str, causes: Causes) -> None:
    verbs = rule.get("verbs") or ()
    _validate_wildcards(rule, "verbs", path, causes, "verbs must contain at least one value")
    if verbs and "*" not in verbs and any(verb not in _VERBS for verb in verbs):
        causes.not_supported(f"{path}.verbs", list(verbs), _VERBS)


_CALLED = {"apiGroups": "api groups", "nonResourceURLs": "non-resource URLs"}


def _validate_wildcards(rule: Obj, field: str, path: str, causes: Causes, missing: str) -> None:
    values: Sequence[str] = rule.get(field) or ()
    if not values:
        causes.required(f"{path}.{field}", missing)
    elif "*" in values and len(values) > 1:
        detail = f"if '*' is present, must not specify other {_CALLED.get(field, field)}"
        causes.invalid(f"{path}.{field}", list(values), detail)


def validate_priority_level(level: Obj, causes: Causes) -> None:
    """flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration."""
    spec = level.get("spec") or {}
    kind, limited = spec.get("type", ""), spec.get("limited")
    if (level["metadata"].get("name") == "exempt") != (kind == "Exempt"):
        causes.invalid("spec.type", kind, "type must be 'Exempt' if and only if name is 'exempt'")
    if kind not in ("Exempt", "Limited"):
        causes.not_supported("spec.type", kind, ("Exempt", "Limited"))
    elif kind == "Exempt":
        if limited is not None:
            causes.forbidden("spec.limited", "must be nil if the type is not Limited")
    elif limited is None:
        causes.required("spec.limited", "must not be empty when type is Limited")
    else:
        _validate_limited(limited, "spec.limited", causes)


def _validate_limited(limited: Obj, path: str, causes: Causes) -> None:
    shares = limited.get("nominalConcurrencyShares", 0)
    if shares < 0:
        causes.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    response = limited.get("limitResponse") or {}
    kind, queuing, where = response.get("type", ""), response.get("queuing"), f"{path}.limitResponse"
    if kind == "Reject":
        if queuing is not None:
            causes.forbidden(f"{where}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind != "Queue":
        causes.not_supported(f"{where}.type", kind, ("Queue", "Reject"))
    elif queuing is None:
        causes.required(f"{where}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    else:
        _validate_queuing(queuing, f"{where}.queuing", causes)


def _validate_queuing(queuing: Obj, path: str, causes: Causes) -> None:
    queues = queuing.get("queues", 0)
    for key in ("queueLengthLimit", "queues", "handSize"):
        if queuing.get(key, 0) <= 0:
            causes.invalid(f"{path}.{key}", queuing.get(key, 0), "must be positive")
    if queues > _MOST_QUEUES:
        causes.invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if queuing.get("handSize", 0) > queues:
        causes.invalid(f"{path}.handSize", queuing["handSize"], f"should not be greater than queues ({queues})")
