"""Nodes, configuration, quota, access and events.

Source: pkg/apis/{core,rbac,scheduling,coordination}/validation.
"""

from __future__ import annotations

import base64
import json

from simcluster.api import names, quantity
from simcluster.api.encoding.jsontext import syntax_error
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj, quoted
from simcluster.api.validation.metadata import validate_selector
from simcluster.api.validation.resources import validate_amount, validate_quota_name
from simcluster.api.validation.scheduling import validate_taints

#: Largest content of a ConfigMap or a Secret. Source: core.MaxSecretSize.
MAX_DATA_BYTES = 1024 * 1024

_WHEN_IMMUTABLE = "field is immutable when `immutable` is set"


def validate_node(node: Obj, causes: Causes) -> None:
    """core/v1 Node."""
    validate_taints((node.get("spec") or {}).get("taints") or (), "spec.taints", causes)


def validate_node_update(node: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 Node after a write."""
    validate_node(node, causes)
    before, spec = old.get("spec") or {}, node.get("spec") or {}
    if _ranges(before) and _ranges(spec) != _ranges(before):
        detail = 'node updates may not change podCIDR except from "" to valid'
        causes.forbidden("spec.podCIDRs", detail)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        causes.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _ranges(spec: Obj) -> list[str]:
    """A node's pod ranges; the older single field, if it says something else, wins."""
    single, several = spec.get("podCIDR"), spec.get("podCIDRs") or []
    return [single] if single and (not several or several[0] != single) else several


def validate_config_map(config_map: Obj, causes: Causes) -> None:
    """core/v1 ConfigMap."""
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    total = 0
    for key, value in data.items():
        causes.checked(f"data[{key}]", key, names.config_key(key))
        if key in binary:
            causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        total += len(value.encode())
    for key, value in binary.items():
        causes.checked(f"binaryData[{key}]", key, names.config_key(key))
        total += len(value) * 3 // 4
    if total > MAX_DATA_BYTES:
        causes.too_long("[]", MAX_DATA_BYTES)


def validate_config_map_update(config_map: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 ConfigMap after a write."""
    if old.get("immutable"):
        _validate_immutable(config_map, old, ("data", "binaryData"), causes)
    validate_config_map(config_map, causes)


def _validate_immutable(obj: Obj, old: Obj, keys: tuple[str, ...], causes: Causes) -> None:
    if not obj.get("immutable"):
        causes.forbidden("immutable", _WHEN_IMMUTABLE)
    for key in keys:
        if (obj.get(key) or {}) != (old.get(key) or {}):
            causes.forbidden(key, _WHEN_IMMUTABLE)


#: Keys that Secrets of a type must have.
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def _validate_docker_config(key: str, encoded: str, causes: Causes) -> None:
    text = base64.b64decode(encoded).decode(errors="replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        causes.invalid(f"data[{key}]", "<secret contents redacted>", syntax_error(text, error))


def validate_secret(secret: Obj, causes: Causes) -> None:
    """core/v1 Secret."""
    data = secret.get("data") or {}
    for key in data:
        causes.checked(f"data[{key}]", key, names.config_key(key))
    if sum(len(value) * 3 // 4 for value in data.values()) > MAX_DATA_BYTES:
        causes.too_long("data", MAX_DATA_BYTES)
    kind = secret.get("type", "")
    if kind == _ACCOUNT_TOKEN and not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
        causes.required(f"metadata.annotations[{_ACCOUNT_NAME}]")
    for key in ("dockerconfigjson", "dockercfg"):
        if kind == f"kubernetes.io/{key}" and f".{key}" in data:
            _validate_docker_config(f".{key}", data[f".{key}"], causes)
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            causes.required(f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not ("username" in data or "password" in data):
        causes.required("data[username]")
        causes.required("data[password]")


def validate_secret_update(secret: Obj, old: Obj, causes: Causes) -> None:
    """core/v1 Secret after a write."""
    if secret.get("type") != old.get("type"):
        causes.invalid("type", secret.get("type", ""), IMMUTABLE)
    if old.get("immutable"):
        _validate_immutable(secret, old, ("data",), causes)
    validate_secret(secret, causes)


def validate_quota(quota: Obj, causes: Causes) -> None:
    """core/v1 ResourceQuota."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    for name in sorted(hard):
        path = f"spec.hard[{name}]"
        validate_quota_name(name, path, causes)
        validate_amount(name, hard[name], path, causes)
    scopes = list((quota.get("spec") or {}).get("scopes") or ())
    for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if all(scope in scopes for scope in pair):
            shown = GoText("[]core.ResourceQuotaScope{" + ", ".join(quoted(scope) for scope in scopes) + "}")
            causes.invalid("spec.scopes", shown, "conflicting scopes")
    for term in ((quota.get("spec") or {}).get("scopeSelector") or {}).get("matchExpressions") or ():
        _validate_scope(term, "spec.scopeSelector.matchExpressions", causes)


_SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")


def _validate_scope(term: Obj, path: str, causes: Causes) -> None:
    name, operator, values = term.get("scopeName", ""), term.get("operator", ""), term.get("values") or []
    if name not in _SCOPES:
        causes.invalid(f"{path}.scopeName", name, "unsupported scope")
    elif name != "PriorityClass" and operator != "Exists":
        scopes = [f"ResourceQuotaScope{scope}" for scope in _SCOPES if scope != "PriorityClass"]
        detail = f"must be 'Exist' when scope is any of {', '.join(scopes[:-1])} or {scopes[-1]}"
        causes.invalid(f"{path}.operator", operator, detail)
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            causes.required(f"{path}.values", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            causes.invalid(f"{path}.values", values, detail)
    else:
        causes.invalid(f"{path}.operator", operator, "not a valid selector operator")


_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def validate_limit_range(limit_range: Obj, causes: Causes) -> None:
    """core/v1 LimitRange."""
    seen: dict[str, None] = {}
    for index, item in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", item.get("type", "")
        problems = names.qualified_name(kind)
        causes.checked(f"{path}.type", kind, problems)
        if not problems and "/" not in kind and kind not in _LIMIT_TYPES:
            causes.invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            causes.duplicate(f"{path}.type", kind)
        seen[kind] = None
        bounds = ("min", "defaultRequest", "default", "max")
        if kind == "Pod":
            for key in ("default", "defaultRequest"):
                if item.get(key):
                    causes.forbidden(f"{path}.{key}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(key) or ()) for key in ("min", "max")):
            detail = "either minimum or maximum storage value is required, but neither was provided"
            causes.required(f"{path}.limits", detail)
        for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
            if quantity.parse(ratio) < quantity.parse("1"):
                causes.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1")
        resources = sorted({name for key in bounds for name in item.get(key) or ()})
        for name in resources:
            _validate_order(item, name, path, causes)


#: Which bound may not exceed which, and what is said about it.
_ORDER = (
    ("min", "max", "min", "min value {low} is greater than max value {high}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {low} is greater than max value {high}"),
    ("default", "max", "default", "default value {low} is greater than max value {high}"),
    ("min", "defaultRequest", "defaultRequest", "min value {low} is greater than default request value {high}"),
    ("min", "default", "default", "min value {low} is greater than default value {high}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {low} is greater than default limit value {high}",
    ),
)


def _validate_order(item: Obj, name: str, path: str, causes: Causes) -> None:
    for lower, upper, field, text in _ORDER:
        low, high = (item.get(lower) or {}).get(name), (item.get(upper) or {}).get(name)
        if low is not None and high is not None and quantity.parse(low) > quantity.parse(high):
            shown = (item.get(field) or {})[name]
            causes.invalid(f"{path}.{field}[{name}]", shown, text.format(low=low, high=high))


_VERBS = "verbs must contain at least one value"


def validate_role(role: Obj, causes: Causes) -> None:
    """rbac.authorization.k8s.io/v1 Role and ClusterRole."""
    cluster = role.get("kind") == "ClusterRole"
    for index, rule in enumerate(role.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            causes.required(f"{path}.verbs", _VERBS)
        urls = rule.get("nonResourceURLs")
        if urls:
            if not cluster:
                detail = "namespaced rules cannot apply to non-resource URLs"
                causes.invalid(f"{path}.nonResourceURLs", list(urls), detail)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                causes.invalid(f"{path}.nonResourceURLs", list(urls), detail)
            continue
        if not rule.get("apiGroups"):
            causes.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            causes.required(f"{path}.resources", "resource rules must supply at least one resource")
    gathered = role.get("aggregationRule")
    if gathered is not None:
        path, selectors = "aggregationRule.clusterRoleSelectors", gathered.get("clusterRoleSelectors") or ()
        if not selectors:
            causes.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for index, selector in enumerate(selectors):
            validate_selector(selector, f"{path}[{index}]", causes)


def validate_role_binding(binding: Obj, causes: Causes) -> None:
    """rbac.authorization.k8s.io/v1 RoleBinding and ClusterRoleBinding."""
    reference, cluster = binding.get("roleRef") or {}, binding.get("kind") == "ClusterRoleBinding"
    group = "rbac.authorization.k8s.io"
    if reference.get("apiGroup") != group:
        causes.not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (group,))
    kinds = ("ClusterRole",) if cluster else ("ClusterRole", "Role")
    if reference.get("kind") not in kinds:
        causes.not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    if not reference.get("name"):
        causes.required("roleRef.name")
    else:
        causes.checked("roleRef.name", reference["name"], names.path_segment(reference["name"]))
    for index, subject in enumerate(binding.get("subjects") or ()):
        _validate_subject(subject, f"subjects[{index}]", causes)


def _validate_subject(subject: Obj, path: str, causes: Causes) -> None:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), "rbac.authorization.k8s.io"
    if not name:
        causes.required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            causes.checked(f"{path}.name", name, names.dns_subdomain(name))
        if subject.get("apiGroup"):
            causes.not_supported(f"{path}.apiGroup", subject["apiGroup"], ("",))
        if not subject.get("namespace"):
            causes.required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if subject.get("apiGroup") != group:
            causes.not_supported(f"{path}.apiGroup", subject.get("apiGroup", ""), (group,))
    else:
        causes.not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def validate_role_binding_update(binding: Obj, old: Obj, causes: Causes) -> None:
    """A binding after a write: what it binds to stays."""
    validate_role_binding(binding, causes)
    new = binding.get("roleRef") or {}
    if new != old.get("roleRef"):
        parts = f"APIGroup:{quoted(new.get('apiGroup', ''))}, Kind:{quoted(new.get('kind', ''))}"
        shown = GoText(f"rbac.RoleRef{{{parts}, Name:{quoted(new.get('name', ''))}}}")
        causes.invalid("roleRef", shown, "cannot change roleRef")


def validate_event(event: Obj, causes: Causes) -> None:
    """core/v1 Event."""
    about = (event.get("involvedObject") or event.get("regarding") or {}).get("namespace", "")
    namespace = event["metadata"].get("namespace", "")
    # Events about cluster-scoped objects lie in `default`.
    if (about or "default") != namespace and not (not about and namespace == "kube-system"):
        causes.invalid("involvedObject.namespace", about, "does not match event.namespace")


#: Highest value of a user's PriorityClass. Source: scheduling.HighestUserDefinablePriority.
_MAX_PRIORITY = 1_000_000_000


def validate_priority_class(priority_class: Obj, causes: Causes) -> None:
    """scheduling.k8s.io/v1 PriorityClass."""
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    if name.startswith("system-"):
        if name not in ("system-cluster-critical", "system-node-critical"):
            detail = "priority class names with 'system-' prefix are reserved for system use only"
            causes.forbidden("metadata.name", f"{detail}. error: {name} is not a known system priority class")
    elif value > _MAX_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        causes.forbidden("value", detail)
    policy = priority_class.get("preemptionPolicy")
    causes.one_of("preemptionPolicy", policy, ("Never", "PreemptLowerPriority"), required=False)


def validate_priority_class_update(priority_class: Obj, old: Obj, causes: Causes) -> None:
    """scheduling.k8s.io/v1 PriorityClass after a write."""
    if priority_class.get("value", 0) != old.get("value", 0):
        causes.forbidden("value", "may not be changed in an update.")
    if priority_class.get("preemptionPolicy") != old.get("preemptionPolicy"):
        causes.invalid("preemptionPolicy", priority_class.get("preemptionPolicy"), IMMUTABLE)


def validate_lease(lease: Obj, causes: Causes) -> None:
    """coordination.k8s.io/v1 Lease."""
    seconds = (lease.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        causes.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    causes.not_negative("spec.leaseTransitions", (lease.get("spec") or {}).get("leaseTransitions"))
