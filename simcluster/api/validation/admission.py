"""Admission policies, their bindings, and webhook configurations.

Source: kubernetes pkg/apis/admissionregistration/validation. Left out: the type check of
expressions against the schemas of what they match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simcluster.api import names
from simcluster.api.cel import CelSyntaxError, compile_expression
from simcluster.api.validation.causes import Causes, Obj
from simcluster.api.validation.metadata import validate_selector

_OBJECTS = ("object", "oldObject", "request", "namespaceObject", "authorizer")
_POLICY = (*_OBJECTS, "params", "variables")
_OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")
_REASONS = ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_REVIEWS = ("v1", "v1beta1")


def validate_policy(policy: Obj, causes: Causes) -> None:
    """A ValidatingAdmissionPolicy."""
    spec: Obj = policy.get("spec") or {}
    causes.one_of("spec.failurePolicy", spec.get("failurePolicy"), ("Fail", "Ignore"))
    kind = spec.get("paramKind")
    if kind is not None:
        for field in ("apiVersion", "kind"):
            if not kind.get(field):
                causes.required(f"spec.paramKind.{field}")
    match = spec.get("matchConstraints")
    if match is None:
        causes.required("spec.matchConstraints")
    else:
        if not match.get("resourceRules"):
            causes.required("spec.matchConstraints.resourceRules")
        _validate_rules(match, "spec.matchConstraints", causes)
    validations = spec.get("validations") or ()
    if not validations and not spec.get("auditAnnotations"):
        detail = "validations or auditAnnotations must be specified"
        causes.required("spec.validations", detail)
        causes.required("spec.auditAnnotations", detail)
    _validate_conditions(spec.get("matchConditions") or (), "spec.matchConditions", _POLICY, causes)
    for index, variable in enumerate(spec.get("variables") or ()):
        if variable.get("name", "") in ("", "_"):
            causes.required(f"spec.variables[{index}].name", "name is not specified")
        _validate_expression(variable.get("expression"), f"spec.variables[{index}].expression", _POLICY, causes)
    for index, annotation in enumerate(spec.get("auditAnnotations") or ()):
        path, key = (
            f"spec.auditAnnotations[{index}]",
            f"{policy['metadata'].get('name', '')}/{annotation.get('key', '')}",
        )
        causes.checked(f"{path}.key", key, names.qualified_name(key))
        if not annotation.get("valueExpression", "").strip():
            causes.required(f"{path}.valueExpression", "valueExpression is not specified")
    for index, validation in enumerate(validations):
        path = f"spec.validations[{index}]"
        _validate_expression(validation.get("expression"), f"{path}.expression", _POLICY, causes)
        if validation.get("messageExpression"):
            _validate_expression(validation["messageExpression"], f"{path}.messageExpression", _POLICY, causes)
        causes.one_of(f"{path}.reason", validation.get("reason"), _REASONS, required=False)


def validate_policy_binding(binding: Obj, causes: Causes) -> None:
    """A ValidatingAdmissionPolicyBinding."""
    spec: Obj = binding.get("spec") or {}
    name = spec.get("policyName", "")
    if not name:
        causes.required("spec.policyName")
    else:
        causes.checked("spec.policyName", name, names.dns_subdomain(name))
    actions = list(spec.get("validationActions") or ())
    if not actions:
        causes.required("spec.validationActions", "at least one validation action is required")
    for index, action in enumerate(actions):
        causes.one_of(f"spec.validationActions[{index}]", action, _ACTIONS)
    if "Deny" in actions and "Warn" in actions:
        causes.invalid(
            "spec.validationActions",
            actions,
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)",
        )
    reference = spec.get("paramRef")
    if reference is not None:
        if not reference.get("name") and reference.get("selector") is None:
            causes.required("spec.paramRef", "one of name or selector must be specified")
        if reference.get("name") and reference.get("selector") is not None:
            causes.forbidden("spec.paramRef.name", "name and selector are mutually exclusive")
        validate_selector(reference.get("selector"), "spec.paramRef.selector", causes)
        action = reference.get("parameterNotFoundAction")
        causes.one_of("spec.paramRef.parameterNotFoundAction", action, ("Deny", "Allow"))
    if spec.get("matchResources") is not None:
        _validate_rules(spec["matchResources"], "spec.matchResources", causes)


def _validate_rules(match: Obj, path: str, causes: Causes) -> None:
    for field in ("namespaceSelector", "objectSelector"):
        validate_selector(match.get(field), f"{path}.{field}", causes)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            _validate_rule(rule, f"{path}.{field}[{index}]", causes)


def validate_webhooks(configuration: Obj, causes: Causes) -> None:
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    seen: dict[str, None] = {}
    mutating = configuration.get("kind") == "MutatingWebhookConfiguration"
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", webhook.get("name", "")
        _validate_webhook(webhook, path, causes, mutating=mutating)
        if name in seen:
            causes.duplicate(f"{path}.name", name)
        seen[name] = None


def _validate_webhook(webhook: Obj, path: str, causes: Causes, *, mutating: bool) -> None:
    name = webhook.get("name", "")
    if not name:
        causes.required(f"{path}.name")
    else:
        causes.checked(f"{path}.name", name, names.dns_subdomain(name))
        if name.count(".") < 2:
            causes.invalid(f"{path}.name", name, "should be a domain with at least three segments separated by dots")
    reviews = list(webhook.get("admissionReviewVersions") or ())
    if not reviews:
        causes.required(f"{path}.admissionReviewVersions", f"must specify one of {', '.join(_REVIEWS)}")
    elif not any(version in _REVIEWS for version in reviews):
        causes.invalid(
            f"{path}.admissionReviewVersions", reviews, f"must include at least one of {', '.join(_REVIEWS)}"
        )
    for position, rule in enumerate(webhook.get("rules") or ()):
        _validate_rule(rule, f"{path}.rules[{position}]", causes)
    for key in ("namespaceSelector", "objectSelector"):
        validate_selector(webhook.get(key), f"{path}.{key}", causes)
    causes.one_of(f"{path}.failurePolicy", webhook.get("failurePolicy"), ("Fail", "Ignore"), required=False)
    causes.one_of(f"{path}.matchPolicy", webhook.get("matchPolicy"), ("Equivalent", "Exact"), required=False)
    if not webhook.get("sideEffects"):
        causes.required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun")
    else:
        causes.one_of(f"{path}.sideEffects", webhook["sideEffects"], ("None", "NoneOnDryRun"))
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        causes.invalid(f"{path}.timeoutSeconds", timeout, "the timeout value must be between 1 and 30 seconds")
    if mutating:
        policy = webhook.get("reinvocationPolicy")
        causes.one_of(f"{path}.reinvocationPolicy", policy, ("IfNeeded", "Never"), required=False)
    validate_webhook_client(webhook.get("clientConfig") or {}, f"{path}.clientConfig", causes)
    _validate_conditions(webhook.get("matchConditions") or (), f"{path}.matchConditions", _OBJECTS, causes)


def validate_webhook_client(config: Obj, path: str, causes: Causes) -> None:
    """How a webhook's server is named: by a URL or by a Service."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        causes.required(path, "exactly one of url or service is required")
    if url is not None and not url.startswith("https://"):
        scheme = url.partition("://")[0] if "://" in url else ""
        detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        causes.invalid(f"{path}.url", scheme or url, detail)
    if service is not None:
        if not service.get("name"):
            causes.required(f"{path}.service.name", "service name is required")
        if not service.get("namespace"):
            causes.required(f"{path}.service.namespace", "service namespace is required")
        port = service.get("port", 443)
        if not 0 < port < 65536:
            causes.invalid(f"{path}.service.port", port, "port is not valid: must be between 1 and 65535, inclusive")


def _validate_rule(rule: Obj, path: str, causes: Causes) -> None:
    for field in ("apiGroups", "apiVersions", "resources"):
        values = list(rule.get(field) or ())
        if not values:
            causes.required(f"{path}.{field}")
        elif "*" in values and len(values) > 1 and field != "resources":
            causes.invalid(f"{path}.{field}", values, "if '*' is present, must not specify other " + _OTHERS[field])
    operations = list(rule.get("operations") or ())
    if not operations:
        causes.required(f"{path}.operations")
    elif "*" in operations and len(operations) > 1:
        causes.invalid(f"{path}.operations", operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        causes.one_of(f"{path}.operations[{index}]", operation, _OPERATIONS)
    causes.one_of(f"{path}.scope", rule.get("scope"), ("*", "Cluster", "Namespaced"), required=False)


_OTHERS = {"apiGroups": "API groups", "apiVersions": "API versions"}


def _validate_conditions(conditions: Iterable[Obj], path: str, declared: tuple[str, ...], causes: Causes) -> None:
    seen: dict[str, None] = {}
    for index, entry in enumerate(conditions):
        where, name = f"{path}[{index}]", entry.get("name", "")
        _validate_expression(entry.get("expression"), f"{where}.expression", declared, causes)
        if not name:
            causes.required(f"{where}.name")
        else:
            causes.checked(f"{where}.name", name, names.qualified_name(name))
        if name in seen:
            causes.duplicate(f"{where}.name", name)
        seen[name] = None


def _validate_expression(expression: Any, path: str, declared: tuple[str, ...], causes: Causes) -> None:
    text = (expression or "").strip()
    if not text:
        causes.required(path, "" if path.startswith("webhooks") else "expression is not specified")
        return
    try:
        compile_expression(expression, declared)
    except CelSyntaxError as error:
        causes.invalid(path, expression, f"compilation failed: {error}")
