"""Which writes an admission policy or a webhook is about: rules and selectors.

Sources: k8s.io/apiserver/pkg/admission/plugin/webhook/predicates and policy/matching.
`matchPolicy: Equivalent` takes every version of the same resource for equal. Left out: kinds that are
served by two groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from simcluster.api.admission.plugin import Cluster
from simcluster.api.authentication.identity import user_info
from simcluster.api.objects import Json, labels_of
from simcluster.api.registry.attributes import Attributes
from simcluster.api.resources import Resource
from simcluster.api.selectors import matches, of_label_selector

Rule = Mapping[str, Any]
#: Their own configuration is not subject to them.
_EXEMPT = "admissionregistration.k8s.io"


def is_exempt(attributes: Attributes) -> bool:
    """Whether webhooks and policies never see the resource."""
    return attributes.resource.group == _EXEMPT


def subresource_of(attributes: Attributes) -> str:
    """The subresource through which the write came."""
    return attributes.part.subresource if attributes.part is not None else attributes.subresource


def objects_of(attributes: Attributes) -> tuple[Any, Any]:
    """The new and the old object as admission sees them; None where there is none."""
    if attributes.part is not None:
        return attributes.part.new, attributes.part.old
    return (None if attributes.operation == "DELETE" else attributes.obj), attributes.old


def rules_match(
    rules: Iterable[Rule], attributes: Attributes, cluster: Cluster, *, equivalent: bool, name: str = ""
) -> bool:
    """Whether any rule names the operation, the resource and its scope."""
    return matching_resource(rules, attributes, cluster, equivalent=equivalent, name=name) is not None


def matching_resource(
    rules: Iterable[Rule], attributes: Attributes, cluster: Cluster, *, equivalent: bool, name: str = ""
) -> Resource | None:
    """The resource in the version in which the first matching rule wants to see it; None if none matches."""
    for rule in rules:
        found = _matching(rule, attributes, cluster, equivalent)
        if found is not None:
            names = rule.get("resourceNames")
            if not names or (name or attributes.name or _new_name(attributes)) in names:
                return found
    return None


def _new_name(attributes: Attributes) -> str:
    return str((attributes.obj or {}).get("metadata", {}).get("name", ""))


def _matching(rule: Rule, attributes: Attributes, cluster: Cluster, equivalent: bool) -> Resource | None:
    asked = attributes.requested or attributes.resource
    if not _named(rule.get("operations"), attributes.operation) or not _named(rule.get("apiGroups"), asked.group):
        return None
    versions = [asked]
    if equivalent:
        versions += [r for r in cluster.resources.all if r.name == asked.name and r.version != asked.version]
    found = next((r for r in versions if _named(rule.get("apiVersions"), r.version)), None)
    if found is None:
        return None
    scope = rule.get("scope", "*")
    is_cluster_wide = not attributes.namespace or asked.storage == "namespaces"
    if scope != "*" and (scope == "Cluster") != is_cluster_wide:
        return None
    return found if _resource_named(rule.get("resources") or (), asked.plural, subresource_of(attributes)) else None


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
    wanted, (new, old) = of_label_selector(objects), objects_of(attributes)
    return any(
        obj is not None and matches(wanted, (obj.get("metadata") or {}).get("labels") or {}) for obj in (new, old)
    )


def _namespace_selected(selector: Mapping[str, Any], attributes: Attributes, cluster: Cluster) -> bool:
    if attributes.resource.storage == "namespaces":
        obj: Any = attributes.obj if attributes.operation == "CREATE" else attributes.old
    elif attributes.namespace:
        obj = cluster.by_name("namespaces", "", attributes.namespace)
    else:
        return True  # selectors of namespaces do not concern what lives in none
    return obj is not None and matches(of_label_selector(selector), labels_of(obj))


def admission_request(attributes: Attributes, uid: str, seen: Resource | None = None) -> Json:
    """The `request` of an AdmissionReview, and the variable `request` of expressions; without objects.

    Args:
        seen: the version in which a rule wants to see the object, if it is another one.
    """
    asked, subresource = attributes.requested or attributes.resource, subresource_of(attributes)
    resource = seen or asked
    request: Json = {"uid": uid, "kind": _kind(attributes, resource), "resource": _plural(resource)}
    if subresource:
        request["subResource"] = subresource
    request.update({"requestKind": _kind(attributes, asked), "requestResource": _plural(asked)})
    if subresource:
        request["requestSubResource"] = subresource
    name = attributes.name or _new_name(attributes)
    if name:
        request["name"] = name
    if attributes.namespace or resource.storage == "namespaces":
        request["namespace"] = attributes.namespace or name
    user = user_info(attributes.user)
    request.update({"operation": attributes.operation, "userInfo": user, "dryRun": attributes.dry_run})
    request["options"] = _options(attributes)
    return request


def _kind(attributes: Attributes, resource: Resource) -> Json:
    group, version, kind = resource.group, resource.version, resource.kind
    if attributes.part is not None:
        group, version, kind = attributes.part[:3]
    return {"group": group, "version": version, "kind": kind}


def _plural(resource: Resource) -> Json:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _options(attributes: Attributes) -> Json | None:
    """The options of the request; a connection has none."""
    kinds = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
    kind = kinds.get(attributes.operation)
    if kind is None:
        return None
    options: Json = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if kind == "DeleteOptions":
        return {**options, **{k: v for k, v in (attributes.options or {}).items() if k not in options}}
    if attributes.dry_run:
        options["dryRun"] = ["All"]
    if attributes.manager:
        options["fieldManager"] = attributes.manager
    return options
