"""Where a pod may go: affinity, tolerations, spreading, taints.

Source: pkg/apis/core/validation/validation.go, validateAffinity, ValidateTolerations,
validateTopologySpreadConstraints.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api import names
from simcluster.api.validation.causes import Causes, GoText, Obj, quoted
from simcluster.api.validation.metadata import validate_selector

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_affinity(affinity: Obj | None, path: str, causes: Causes) -> None:
    """Node affinity, pod affinity, pod anti-affinity."""
    if not affinity:
        return
    node = affinity.get("nodeAffinity")
    if node:
        required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
        if required is not None:
            where = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            validate_node_selector(required, where, causes)
        for index, term in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            where = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            _validate_weight(term.get("weight", 0), where, causes)
            _validate_node_term(term.get("preference") or {}, f"{where}.preference", causes)
    for kind in ("podAffinity", "podAntiAffinity"):
        body = affinity.get(kind)
        if not body:
            continue
        for index, term in enumerate(body.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            where = f"{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
            _validate_pod_term(term, where, causes)
        for index, term in enumerate(body.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            where = f"{path}.{kind}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            _validate_weight(term.get("weight", 0), where, causes)
            _validate_pod_term(term.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm", causes)


def _validate_weight(weight: int, path: str, causes: Causes) -> None:
    if not 1 <= weight <= 100:
        causes.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_pod_term(term: Obj, path: str, causes: Causes) -> None:
    validate_selector(term.get("labelSelector"), f"{path}.labelSelector", causes)
    validate_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector", causes)
    for index, namespace in enumerate(term.get("namespaces") or ()):
        causes.checked(f"{path}.namespaces[{index}]", namespace, names.dns_label(namespace))
    key = term.get("topologyKey", "")
    if not key:
        causes.required(f"{path}.topologyKey", "can not be empty")
    causes.checked(f"{path}.topologyKey", key, names.qualified_name(key) if key else ())


def validate_node_selector(selector: Obj, path: str, causes: Causes) -> None:
    """Terms of a node selector, of which one must hold."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        causes.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        _validate_node_term(term, f"{path}.nodeSelectorTerms[{index}]", causes)


def _validate_node_term(term: Obj, path: str, causes: Causes) -> None:
    for key in ("matchExpressions", "matchFields"):
        for index, requirement in enumerate(term.get(key) or ()):
            _validate_node_requirement(requirement, f"{path}.{key}[{index}]", causes)


def _validate_node_requirement(requirement: Obj, path: str, causes: Causes) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            causes.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            causes.required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = requirement.get("key", "")
    causes.checked(f"{path}.key", key, names.qualified_name(key))


def validate_tolerations(tolerations: Sequence[Obj], path: str, causes: Causes) -> None:
    """Tolerations of a pod."""
    for index, toleration in enumerate(tolerations):
        where = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if key:
            causes.checked(f"{where}.key", key, names.qualified_name(key))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.invalid(f"{where}.operator", operator, detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            causes.invalid(f"{where}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator in ("", "Equal"):
            problems = names.label_value(value)
            if problems:
                causes.invalid(f"{where}.operator", value, ";".join(problems))
        elif operator == "Exists":
            if value:
                shown = GoText(_go_toleration(toleration))
                causes.invalid(f"{where}.operator", shown, "value must be empty when `operator` is 'Exists'")
        else:
            causes.not_supported(f"{where}.operator", operator, ("Equal", "Exists"))
        if effect:
            causes.one_of(f"{where}.effect", effect, TAINT_EFFECTS)


def _go_toleration(toleration: Obj) -> str:
    parts = [f"{k.capitalize()}:{quoted(toleration.get(k, ''))}" for k in ("key", "operator", "value", "effect")]
    return f"core.Toleration{{{', '.join(parts)}, TolerationSeconds:(*int64)(nil)}}"


def validate_spread(constraints: Sequence[Obj], path: str, causes: Causes) -> None:
    """Topology spread constraints."""
    seen: dict[tuple[str, str], None] = {}
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        skew = constraint.get("maxSkew", 0)
        if skew <= 0:
            causes.invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        key = constraint.get("topologyKey", "")
        if not key:
            causes.required(f"{where}.topologyKey", "can not be empty")
        else:
            causes.checked(f"{where}.topologyKey", key, names.qualified_name(key))
        action = constraint.get("whenUnsatisfiable", "")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            causes.not_supported(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if (key, action) in seen:
            causes.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", GoText(f'"{{{key}, {action}}}"'))
        seen[key, action] = None
        least = constraint.get("minDomains")
        if least is not None and least <= 0:
            causes.invalid(f"{where}.minDomains", least, "must be greater than zero")
        validate_selector(constraint.get("labelSelector"), f"{where}.labelSelector", causes)


def validate_taints(taints: Sequence[Obj], path: str, causes: Causes) -> None:
    """Taints of a node."""
    seen: dict[tuple[str, str], None] = {}
    for index, taint in enumerate(taints):
        where, key, effect = f"{path}[{index}]", taint.get("key", ""), taint.get("effect", "")
        causes.checked(f"{where}.key", key, names.qualified_name(key))
        problems = names.label_value(taint.get("value", ""))
        if problems:
            causes.invalid(f"{where}.value", taint["value"], ";".join(problems))
        causes.one_of(f"{where}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            parts = f"Key:{quoted(key)}, Value:{quoted(taint.get('value', ''))}, Effect:{quoted(effect)}"
            shown = GoText(f"core.Taint{{{parts}, TimeAdded:<nil>}}")
            causes.duplicate(where, shown, "taints must be unique by key and effect pair")
        seen[key, effect] = None
