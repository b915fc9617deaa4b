"""Which writes an admission policy or a webhook is about: rules and selectors.

Sources: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and policy/matching.
`matchPolicy: Equivalent` takes every version of the same resource for equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.admission.plugin import Cluster
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.validation.metadata import is_matching

Rule = Mapping[str, Any]
#: Their own configuration is not subject to them.
_EXEMPT = "admissionregistration.k8s.io"


def is_exempt(attributes: Attributes) -> bool:
    """Whether webhooks and policies never see the resource."""
    return attributes.resource.group == _EXEMPT


def subresource_of(attributes: Attributes) -> str:
    """The subresource through which the write came."""
    return "scale" if attributes.scale is not None else attributes.subresource


def objects_of(attributes: Attributes) -> tuple[Any, Any]:
    """The new and the old object as admission sees them; None where there is none."""
    if attributes.scale is not None:
        return attributes.scale
    return (None if attributes.operation == "DELETE" else attributes.obj), attributes.old


def rules_match(
    rules: Iterable[Rule], attributes: Attributes, cluster: Cluster, *, equivalent: bool, name: str = ""
) -> bool:
    """Whether any rule names the operation, the resource and its scope."""
    for rule in rules:
        if _rule_matches(rule, attributes, cluster, equivalent):
            names = rule.get("resourceNames")
            if not names or (name or attributes.name or _new_name(attributes)) in names:
                return True
    return False


def _new_name(attributes: Attributes) -> str:
    return str((attributes.obj or {}).get("metadata", {}).get("name", ""))


def _rule_matches(rule: Rule, attributes: Attributes, cluster: Cluster, equivalent: bool) -> bool:
    resource = attributes.resource
    if not _named(rule.get("operations"), attributes.operation) or not _named(rule.get("apiGroups"), resource.group):
        return False
    versions: list[str] = [resource.version]
    if equivalent:
        versions += [r.version for r in cluster.resources.all if r.name == resource.name]
    if not any(_named(rule.get("apiVersions"), version) for version in versions):
        return False
    scope = rule.get("scope", "*")
    is_cluster_wide = not attributes.namespace or resource.storage == "namespaces"
    if scope != "*" and (scope == "Cluster") != is_cluster_wide:
        return False
    return _resource_named(rule.get("resources") or (), resource.plural, subresource_of(attributes))


def _named(values: Iterable[str] | None, value: str) -> bool:
    return any(entry in ("*", value) for entry in values or ())


def _resource_named(values: Iterable[str], plural: str, subresource: str) -> bool:
    for entry in values:
        name, _, part = entry.partition("/")
        if name in ("*", plural) and part in ("*", subresource):
            return True
    return False


def selectors_match(
    namespaces: Mapping[str, Any] | None, objects: Mapping[str, Any] | None, attributes: Attributes, cluster: Cluster
) -> bool:
    """Whether `namespaceSelector` and `objectSelector` select the write."""
    if namespaces and not _namespace_selected(namespaces, attributes, cluster):
        return False
    if not objects:
        return True
    new, old = objects_of(attributes)
    return any(
        obj is not None and is_matching(objects, (obj.get("metadata") or {}).get("labels")) for obj in (new, old)
    )


def _namespace_selected(selector: Mapping[str, Any], attributes: Attributes, cluster: Cluster) -> bool:
    if attributes.resource.storage == "namespaces":
        obj: Any = attributes.obj if attributes.operation == "CREATE" else attributes.old
    elif attributes.namespace:
        obj = cluster.by_name("namespaces", "", attributes.namespace)
    else:
        return True  # selectors of namespaces do not concern what lives in none
    return obj is not None and is_matching(selector, obj["metadata"].get("labels"))


def admission_request(attributes: Attributes, uid: str) -> Json:
    """The `request` of an AdmissionReview, and the variable `request` of expressions; without objects."""
    resource, subresource = attributes.resource, subresource_of(attributes)
    group, version, kind = resource.group, resource.version, resource.kind
    if attributes.scale is not None:
        group, version, kind = "autoscaling", "v1", "Scale"
    kind_of: Json = {"group": group, "version": version, "kind": kind}
    resource_of: Json = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request: Json = {"uid": uid, "kind": kind_of, "resource": resource_of}
    if subresource:
        request["subResource"] = subresource
    request.update({"requestKind": kind_of, "requestResource": resource_of})
    if subresource:
        request["requestSubResource"] = subresource
    name = attributes.name or _new_name(attributes)
    if name:
        request["name"] = name
    if attributes.namespace or resource.storage == "namespaces":
        request["namespace"] = attributes.namespace or name
    user: Json = {"username": attributes.user.name, "groups": list(attributes.user.groups)}
    request.update({"operation": attributes.operation, "userInfo": user, "dryRun": attributes.dry_run})
    options = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
    request["options"] = {"kind": options[attributes.operation], "apiVersion": "meta.k8s.io/v1"}
    return request
