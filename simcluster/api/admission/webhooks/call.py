"""One call of a webhook: the review that is sent, the answer that is believed, the errors.

Sources: k8s.io/apiserver/pkg/admission/plugin/webhook/{generic,request,errors},
pkg/util/webhook; the API server gives a whole write 34 seconds
(requestTimeoutUpperBound in pkg/endpoints/handlers).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api import conversion
from simcluster.api.admission.matching import (
    admission_request,
    is_exempt,
    matching_resource,
    objects_of,
    selectors_match,
)
from simcluster.api.admission.plugin import Cluster, refuse
from simcluster.api.admission.policies.expressions import ExpressionError, first_unmet
from simcluster.api.admission.policies.plugin import scope_of
from simcluster.api.admission.webhooks.source import Hook
from simcluster.api.admission.webhooks.transport import CallFailure, call_of, refused
from simcluster.api.backends import WebhookReply
from simcluster.api.encoding import jsontext
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.resources import Resource
from simcluster.engine import SECOND

#: How long one write may take in all.
DEADLINE_NS = 34 * SECOND
_V1 = "admission.k8s.io/v1"
_EXPIRED = "context deadline exceeded"


class Verdict(NamedTuple):
    """What a webhook answered: the `response` of its review, and how long it took."""

    response: Mapping[str, Any]
    spent_ns: int


def seen_by(hook: Hook, attributes: Attributes, cluster: Cluster) -> Resource | None:
    """The version of the resource in which the webhook is asked about this write; None if it is not asked.

    Raises ApiError 403 if its conditions fail.
    """
    webhook = hook.webhook
    if is_exempt(attributes):
        return None
    equivalent = webhook.get("matchPolicy", "Equivalent") == "Equivalent"
    seen = matching_resource(webhook.get("rules") or (), attributes, cluster, equivalent=equivalent)
    return seen if seen is not None and _is_selected(hook, attributes, cluster) else None


def _is_selected(hook: Hook, attributes: Attributes, cluster: Cluster) -> bool:
    webhook = hook.webhook
    if not selectors_match(webhook.get("namespaceSelector"), webhook.get("objectSelector"), attributes, cluster):
        return False
    conditions = webhook.get("matchConditions")
    if not conditions:
        return True
    try:
        return first_unmet(conditions, scope_of(attributes, cluster)) is None
    except ExpressionError as error:
        if hook.ignores_failure:
            return False
        raise refuse(attributes, str(error)) from None


def ask(hook: Hook, attributes: Attributes, seen: Resource, cluster: Cluster, *, started_ns: int) -> Verdict:
    """Send the review of the object in the version `seen`. `started_ns`: what the request has spent before.

    Raises:
        CallFailure: no answer, or none that counts.
        ApiError: the webhook cannot take part in a dry run.
    """
    webhook = hook.webhook
    if attributes.dry_run and webhook.get("sideEffects") in ("Unknown", "Some"):
        message = f"admission webhook {json.dumps(hook.name)} does not support dry run"
        raise ApiError(400, "BadRequest", message)
    uid = cluster.identities.uid("admissionreviews", attributes.namespace, f"{hook.configuration}/{hook.name}")
    timeout_s = webhook.get("timeoutSeconds", 10)
    limit_ns = max(0, min(timeout_s * SECOND, DEADLINE_NS - started_ns))
    call = call_of(webhook["clientConfig"], review_of(attributes, seen, cluster, uid), limit_ns)
    post = f'failed to call webhook: Post "{call.url}?timeout={timeout_s}s": '
    if limit_ns == 0:
        raise CallFailure(post + _EXPIRED)
    reply = WebhookReply(error="no route to host") if cluster.backend is None else cluster.backend.call(call)
    spent_ns = min(reply.delay_ns, limit_ns)
    cluster.spent_ns = max(cluster.spent_ns, started_ns + spent_ns)
    if reply.delay_ns >= limit_ns:
        raise CallFailure(post + _EXPIRED)
    if reply.error:
        raise CallFailure(post + reply.error)
    return Verdict(_response(reply, uid), spent_ns)


def review_of(attributes: Attributes, seen: Resource, cluster: Cluster, uid: str) -> Json:
    """The AdmissionReview of a write."""
    new, old = objects_of(attributes)
    if attributes.part is None:
        new = None if new is None else conversion.from_storage(seen, new, cluster)
        old = None if old is None else conversion.from_storage(seen, old, cluster)
    request = admission_request(attributes, uid, seen)
    return {
        "kind": "AdmissionReview",
        "apiVersion": _V1,
        "request": {**request, "object": new, "oldObject": old},
    }


def _response(reply: WebhookReply, uid: str) -> Mapping[str, Any]:
    """The `response` of the answer. Raises CallFailure."""
    if reply.status >= 400:
        raise CallFailure("failed to call webhook: " + refused(reply))
    if not reply.body:
        raise CallFailure(
            f"failed to call webhook: 0-length response with status code: {reply.status} and content type: "
        )
    try:
        review = json.loads(reply.body)
    except json.JSONDecodeError as error:
        why = jsontext.syntax_error(reply.body, error)
        raise CallFailure(f"failed to call webhook: couldn't get version/kind; json parse error: {why}") from None
    return _verified(review, reply.body, uid)


def _verified(review: Any, body: str, uid: str) -> Mapping[str, Any]:
    invalid = "received invalid webhook response: "
    if not isinstance(review, Mapping) or not review.get("kind"):
        raise CallFailure(f"failed to call webhook: Object 'Kind' is missing in '{body}'")
    response = review.get("response")
    if not isinstance(response, Mapping):
        raise CallFailure(f"{invalid}webhook response was absent")
    if response.get("uid", "") != uid:
        raise CallFailure(f'{invalid}expected response.uid="{uid}", got {json.dumps(response.get("uid", ""))}')
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    found = f"{group}/{version}, Kind={review['kind']}"
    if found != f"{_V1}, Kind=AdmissionReview":
        raise CallFailure(f"{invalid}expected webhook response of {_V1}, Kind=AdmissionReview, got {found}")
    if response.get("patch") and response.get("patchType") != "JSONPatch":
        why = "webhook returned response.patch but not response.patchType"
        if response.get("patchType"):
            why = f'webhook returned invalid response.patchType of "{response["patchType"]}"'
        raise CallFailure(invalid + why)
    return response


# What becomes of it.


def denied(hook: Hook, response: Mapping[str, Any]) -> ApiError:
    """The refusal of a webhook."""
    status: Mapping[str, Any] = response.get("status") or {}
    by = f"admission webhook {json.dumps(hook.name)} denied the request"
    said = status.get("message") or status.get("reason")
    code = status.get("code") or 0
    return ApiError(
        code if code >= 400 else 400, status.get("reason", ""), f"{by}: {said}" if said else f"{by} without explanation"
    )


def failed(hook: Hook, why: CallFailure) -> ApiError:
    """The answer to a write whose webhook (failurePolicy Fail) could not be asked."""
    return internal(f"failed calling webhook {json.dumps(hook.name)}: {why}")


def internal(why: str) -> ApiError:
    """500."""
    return ApiError(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})


def timed_out() -> ApiError:
    """The request's own deadline has passed."""
    message = "Timeout: request did not complete within requested timeout - context deadline exceeded"
    return ApiError(504, "Timeout", message, {})
