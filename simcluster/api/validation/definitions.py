"""CustomResourceDefinitions: names, versions, structural schemas, rules in CEL.

Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation and
pkg/apiserver/schema/{validation,structural}. Left out: the cost of CEL rules, whether defaults
fit their schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api import names
from simcluster.api.cel import CelSyntaxError, compile_expression
from simcluster.api.objects import condition
from simcluster.api.validation.admission import validate_webhook_client
from simcluster.api.validation.causes import IMMUTABLE, Causes, GoText, Obj

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def validate_definition(definition: Obj, causes: Causes) -> None:
    """A new definition."""
    spec: Obj = definition.get("spec") or {}
    group, plural = spec.get("group", ""), (spec.get("names") or {}).get("plural", "")
    name = definition["metadata"].get("name", "")
    if plural and group and name != f"{plural}.{group}":
        causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    _check_approval(definition, group, causes)
    _validate_spec(spec, causes)


def validate_definition_update(definition: Obj, old: Obj, causes: Causes) -> None:
    """A changed definition: what is served may not become another thing."""
    spec, before = definition["spec"], old["spec"]
    _validate_spec(spec, causes)
    established = condition(old, "Established")
    if spec.get("group") != before.get("group"):
        causes.invalid("spec.group", spec.get("group"), IMMUTABLE)
    if spec["names"].get("plural") != before["names"].get("plural"):
        causes.invalid("spec.names.plural", spec["names"].get("plural"), IMMUTABLE)
    if established is not None and established["status"] == "True":
        if spec.get("scope") != before.get("scope"):
            causes.invalid("spec.scope", spec.get("scope"), IMMUTABLE)
        if spec["names"].get("kind") != before["names"].get("kind"):
            causes.invalid("spec.names.kind", spec["names"].get("kind"), IMMUTABLE)
    present = [version.get("name") for version in spec.get("versions") or ()]
    for index, stored in enumerate((old.get("status") or {}).get("storedVersions") or ()):
        if stored not in present:
            causes.invalid(f"status.storedVersions[{index}]", stored, "must appear in spec.versions")


def _check_approval(definition: Obj, group: str, causes: Causes) -> None:
    if not any(group == suffix or group.endswith("." + suffix) for suffix in _PROTECTED):
        return
    if not (definition["metadata"].get("annotations") or {}).get(_APPROVAL):
        causes.required(
            f"metadata.annotations[{_APPROVAL}]",
            f'protected groups must have approval annotation "{_APPROVAL}", see '
            "https://github.com/kubernetes/enhancements/pull/1111",
        )


def _validate_spec(spec: Obj, causes: Causes) -> None:
    group = spec.get("group", "")
    if not group:
        causes.required("spec.group")
    else:
        causes.checked("spec.group", group, names.dns_subdomain(group))
        if "." not in group:
            causes.invalid("spec.group", group, "should be a domain with at least one dot")
    causes.one_of("spec.scope", spec.get("scope"), ("Cluster", "Namespaced"))
    versions: Sequence[Obj] = spec.get("versions") or ()
    if not versions:
        causes.required("spec.versions", "must have at least one version")
    stored = [v for v in versions if v.get("storage")]
    if versions and len(stored) != 1:
        shown = GoText(json.dumps(list(versions), separators=(",", ":")))
        causes.invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    seen: dict[str, None] = {}
    for index, version in enumerate(versions):
        name, path = version.get("name", ""), f"spec.versions[{index}]"
        causes.checked(f"{path}.name", name, names.dns1035_label(name))
        if name in seen:
            causes.invalid(f"{path}.name", name, "must be unique")
        seen[name] = None
        _validate_version(version, path, causes)
    _validate_names(spec.get("names") or {}, causes)
    _validate_conversion(spec.get("conversion") or {}, causes)


def _validate_conversion(conversion: Obj, causes: Causes) -> None:
    """The strategy and its webhook; fields are named as in the internal version."""
    path = "spec.conversion"
    strategy = conversion.get("strategy", "")
    causes.one_of(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook: Obj = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    if strategy != "Webhook":
        for name, given in (("webhookClientConfig", client), ("conversionReviewVersions", versions)):
            if given:
                causes.forbidden(f"{path}.{name}", "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        causes.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        validate_webhook_client(client, f"{path}.webhookClientConfig", causes)
    if not versions:
        causes.required(f"{path}.conversionReviewVersions")
    elif not any(version in ("v1", "v1beta1") for version in versions):
        why = "must include at least one of v1, v1beta1"
        causes.invalid(f"{path}.conversionReviewVersions", list(versions), why)


def _validate_names(wanted: Obj, causes: Causes) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        value, path = wanted.get(field, ""), f"spec.names.{field}"
        if not value:
            causes.required(path)
            continue
        causes.checked(path, value, names.dns1035_label(value.lower()))
    if wanted.get("kind") and wanted.get("kind") == wanted.get("listKind"):
        causes.invalid("spec.names.listKind", wanted["listKind"], "kind and listKind may not be the same")
    for index, short in enumerate(wanted.get("shortNames") or ()):
        causes.checked(f"spec.names.shortNames[{index}]", short, names.dns1035_label(short))
    for index, category in enumerate(wanted.get("categories") or ()):
        causes.checked(f"spec.names.categories[{index}]", category, names.dns1035_label(category))


def _validate_version(version: Obj, path: str, causes: Causes) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    where = f"{path}.schema.openAPIV3Schema"
    if schema is None:
        causes.required(where, "schemas are required")
    else:
        if not schema.get("type"):
            causes.required(f"{where}.type", "must not be empty at the root")
        elif schema["type"] != "object":
            causes.invalid(f"{where}.type", schema["type"], "must be object at the root")
        _validate_schema(schema, where, causes)
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
            value = scale.get(field, "")
            if not value:
                causes.required(f"{path}.subresources.scale.{field}")
            elif not value.startswith(root):
                causes.invalid(
                    f"{path}.subresources.scale.{field}", value, f"should be a json path under {root.rstrip('.')}"
                )
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        _validate_column(column, f"{path}.additionalPrinterColumns[{index}]", causes)


def _validate_column(column: Obj, path: str, causes: Causes) -> None:
    if not column.get("name"):
        causes.required(f"{path}.name")
    kinds = ("boolean", "date", "integer", "number", "string")
    if not column.get("type"):
        causes.required(f"{path}.type", f"must be one of {','.join(kinds)}")
    elif column["type"] not in kinds:
        causes.invalid(f"{path}.type", column["type"], f"must be one of {','.join(kinds)}")
    if not column.get("jsonPath"):
        causes.required(f"{path}.JSONPath")


def _validate_schema(schema: Obj, path: str, causes: Causes) -> None:
    """The parts of a schema that make it structural."""
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        causes.not_supported(f"{path}.type", kind, _TYPES)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        _validate_rule(rule, f"{path}.x-kubernetes-validations[{index}]", causes)
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    if properties and isinstance(additional, (Mapping, bool)) and additional:
        causes.forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    for name in sorted(properties):
        inner, where = properties[name], f"{path}.properties[{name}]"
        _need_type(inner, where, "must not be empty for specified object fields", causes)
        _validate_schema(inner, where, causes)
    if isinstance(additional, Mapping):
        _need_type(additional, f"{path}.additionalProperties", "must not be empty for specified object fields", causes)
        _validate_schema(additional, f"{path}.additionalProperties", causes)
    items = schema.get("items")
    if isinstance(items, Mapping):
        _need_type(items, f"{path}.items", "must not be empty for specified array items", causes)
        _validate_schema(items, f"{path}.items", causes)
    elif kind == "array" and items is None:
        causes.required(f"{path}.items", "must be specified")
    elif isinstance(items, list):
        causes.forbidden(f"{path}.items", "items must be a schema object and not an array")


def _need_type(schema: Any, path: str, why: str, causes: Causes) -> None:
    if isinstance(schema, Mapping) and not (schema.get("type") or schema.get(_INT_OR_STRING) or schema.get(_PRESERVE)):
        causes.required(f"{path}.type", why)


def _validate_rule(rule: Obj, path: str, causes: Causes) -> None:
    expression = rule.get("rule", "")
    if not expression.strip():
        causes.required(f"{path}.rule", "rule is not specified")
        return
    try:
        compile_expression(expression, ("self", "oldSelf"))
    except CelSyntaxError as error:
        shown = ", ".join(f'{name}:"{rule.get(key, "")}"' for name, key in _RULE_FIELDS)
        value = GoText(f"apiextensions.ValidationRule{{{shown}}}")
        causes.invalid(f"{path}.rule", value, f"compilation failed: {error}")


_RULE_FIELDS = (("Rule", "rule"), ("Message", "message"), ("MessageExpression", "messageExpression"))
