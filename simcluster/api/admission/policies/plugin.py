"""The admission plugin ValidatingAdmissionPolicy.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating (dispatcher.go,
validator.go). Left out: audit annotations and the action Audit (there is no audit log).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from simcluster.api.admission.matching import (
    admission_request,
    is_exempt,
    objects_of,
    rules_match,
    selectors_match,
    subresource_of,
)
from simcluster.api.admission.plugin import Cluster, Plugin, refuse
from simcluster.api.admission.policies.expressions import ExpressionError, Variables, first_unmet, value_of
from simcluster.api.authentication.identity import service_account
from simcluster.api.authorization.question import Question
from simcluster.api.cel.authority import Authority
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, labels_of, name_of
from simcluster.api.registry.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes
from simcluster.api.resources import Resource
from simcluster.api.selectors import matches, of_label_selector

#: A message from `messageExpression` may not be longer than this.
_MAX_MESSAGE = 5 * 1024
_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class Denial(NamedTuple):
    """One validation that does not hold (or cannot be evaluated)."""

    message: str
    reason: str = ""


class ValidatingAdmissionPolicy(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE, DELETE, CONNECT)
    sees_parts: ClassVar[bool] = True

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Refuse what a bound policy refuses. Raises ApiError of the reason the policy gives."""
        active = cluster.policies.active
        if not active or is_exempt(attributes):
            return
        denied: list[tuple[str, str, Denial]] = []
        for policy, bindings in active:
            if not _concerns(policy["spec"].get("matchConstraints"), attributes, cluster):
                continue
            for binding in bindings:
                if not _concerns(binding["spec"].get("matchResources"), attributes, cluster):
                    continue
                for denial in _denials(policy, binding, attributes, cluster):
                    self._act(policy, binding, denial, denied, cluster)
        if denied:
            raise _refusal(attributes, *denied[0])

    def _act(
        self,
        policy: ApiObject,
        binding: ApiObject,
        denial: Denial,
        denied: list[tuple[str, str, Denial]],
        cluster: Cluster,
    ) -> None:
        actions = binding["spec"].get("validationActions") or ()
        if "Deny" in actions:
            denied.append((name_of(policy), name_of(binding), denial))
        if "Warn" in actions:
            cluster.warnings.append(
                f"Validation failed for ValidatingAdmissionPolicy '{name_of(policy)}' with binding "
                f"'{name_of(binding)}': {denial.message}"
            )


def _concerns(match: Mapping[str, Any] | None, attributes: Attributes, cluster: Cluster) -> bool:
    if not match:
        return True
    if not selectors_match(match.get("namespaceSelector"), match.get("objectSelector"), attributes, cluster):
        return False
    equivalent = match.get("matchPolicy", "Equivalent") == "Equivalent"
    if rules_match(match.get("excludeResourceRules") or (), attributes, cluster, equivalent=equivalent):
        return False
    rules = match.get("resourceRules")
    return not rules or rules_match(rules, attributes, cluster, equivalent=equivalent)


def _refusal(attributes: Attributes, policy: str, binding: str, denial: Denial) -> ApiError:
    message = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {denial.message}"
    error = refuse(attributes, message)
    error.reason = denial.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error


def _denials(policy: ApiObject, binding: ApiObject, attributes: Attributes, cluster: Cluster) -> list[Denial]:
    """What the policy has against the write under one binding."""
    fails = policy["spec"].get("failurePolicy", "Fail") == "Fail"
    try:
        found: list[Denial] = []
        for params in _params(policy["spec"].get("paramKind"), binding["spec"].get("paramRef"), attributes, cluster):
            found.extend(_judged(policy["spec"], params, attributes, cluster, fails))
        return found
    except ExpressionError as error:
        return [Denial(str(error))] if fails else []


def _judged(
    spec: Mapping[str, Any], params: ApiObject | None, attributes: Attributes, cluster: Cluster, fails: bool
) -> list[Denial]:
    scope = scope_of(attributes, cluster, params)
    scope["variables"] = Variables(spec.get("variables") or (), scope)
    if first_unmet(spec.get("matchConditions") or (), scope) is not None:
        return []
    found: list[Denial] = []
    for validation in spec.get("validations") or ():
        expression, reason = validation["expression"], validation.get("reason", "")
        try:
            if value_of(expression, scope) is not True:
                found.append(Denial(_message(validation, scope), reason))
        except ExpressionError as error:
            if fails:
                found.append(Denial(str(error), reason))
    return found


def scope_of(attributes: Attributes, cluster: Cluster, params: ApiObject | None = None) -> Json:
    """The variables of an expression."""
    new, old = objects_of(attributes)
    namespace = cluster.by_name("namespaces", "", attributes.namespace) if attributes.namespace else None
    return {
        "object": new,
        "oldObject": old,
        "request": admission_request(attributes, ""),
        "params": params,
        "namespaceObject": namespace,
        "authorizer": Authority(RequestJudge(cluster, attributes), _own(attributes)),
    }


def _own(attributes: Attributes) -> dict[str, str]:
    """What the request itself is about, for `authorizer.requestResource`."""
    asked = {
        "group": attributes.resource.group,
        "resource": attributes.resource.plural,
        "subresource": subresource_of(attributes),
        "namespace": attributes.namespace,
        "name": attributes.name,
    }
    return {key: value for key, value in asked.items() if value}


class RequestJudge:
    """Answers `authorizer` for the user of a write."""

    def __init__(self, cluster: Cluster, attributes: Attributes) -> None:
        self.cluster = cluster
        self.attributes = attributes

    def may(self, user: tuple[str, str] | None, asked: dict[str, str]) -> tuple[bool, str]:
        """Whether the user, or a service account, may; and why."""
        authorizer = self.cluster.authorizer
        if authorizer is None:
            return True, ""
        subject = self.attributes.user if user is None else service_account(*user)
        decision = authorizer.decide(subject, Question(**asked))
        return decision.allowed, decision.reason


def _message(validation: Mapping[str, Any], scope: Json) -> str:
    expression = validation.get("messageExpression")
    if expression:
        try:
            text = value_of(expression, scope)
        except ExpressionError:
            text = None
        if isinstance(text, str):
            text = text.strip()
            if text and "\n" not in text and len(text) <= _MAX_MESSAGE:
                return text
    return validation.get("message") or f"failed expression: {validation['expression'].strip()}"


def _params(
    kind: Mapping[str, Any] | None, reference: Mapping[str, Any] | None, attributes: Attributes, cluster: Cluster
) -> list[ApiObject | None]:
    """The parameter objects of a binding; one None for a policy without. Raises ExpressionError."""
    if not kind or not reference:
        return [None]
    group, _, version = kind["apiVersion"].rpartition("/")
    resource = cluster.resources.by_kind.get((group, version, kind["kind"]))
    if resource is None:
        shown = f"{kind['apiVersion']}, Kind={kind['kind']}"
        raise ExpressionError(f"failed to configure policy: failed to find resource referenced by paramKind: '{shown}'")
    found = _referenced(resource, reference, attributes, cluster)
    if found:
        return found
    if reference.get("parameterNotFoundAction") == "Allow":
        return []
    raise ExpressionError(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )


def _referenced(
    resource: Resource, reference: Mapping[str, Any], attributes: Attributes, cluster: Cluster
) -> list[ApiObject | None]:
    namespace = (reference.get("namespace") or attributes.namespace) if resource.namespaced else ""
    if reference.get("name"):
        obj = cluster.by_name(resource.storage, namespace, reference["name"])
        return [obj] if obj is not None else []
    selector = reference.get("selector") or {}
    objects = cluster.store.objects(resource.storage, namespace)
    return [obj for obj in objects if matches(of_label_selector(selector), labels_of(obj))]
