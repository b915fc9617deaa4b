"""Custom resources from one version to another: by name only, or by the definition's webhook.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/{converter,webhook_converter}.go.
The API server gives a conversion 30 seconds. Left out: reviews of version v1beta1, and that a
real server may convert several objects by one call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simcluster.api.admission.webhooks.transport import CallFailure, call_of, refused
from simcluster.api.backends import WebhookReply
from simcluster.api.encoding import jsontext
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.resources import Resource
from simcluster.engine import SECOND

if TYPE_CHECKING:
    from simcluster.api.admission.plugin import Cluster

_TIMEOUT_S = 30
_V1 = "apiextensions.k8s.io/v1"
_KEPT = ("labels", "annotations")


def in_version(resource: Resource, obj: Any, version: str, cluster: Cluster | None) -> Json:
    """The object in another version of its kind. Raises ApiError 500 if the webhook fails."""
    api_version = f"{resource.group}/{version}"
    found: Json = obj
    if found.get("apiVersion") == api_version:
        return found
    assert resource.custom is not None
    if resource.custom.converter is None or cluster is None:
        return {**found, "apiVersion": api_version}
    return _converted(resource.custom.converter, found, api_version, cluster)


def _converted(config: Mapping[str, Any], obj: Json, api_version: str, cluster: Cluster) -> Json:
    about = f"conversion webhook for {obj['apiVersion']}, Kind={obj['kind']}"
    try:
        answer = _asked(config, obj, api_version, cluster)
    except CallFailure as failure:
        raise _error(f"{about} failed: {failure}") from None
    if len(answer) != 1:
        raise _error(f"{about} returned {len(answer)} objects, expected 1")
    made = answer[0]
    if made.get("apiVersion") != api_version:
        why = f"invalid groupVersion (expected {api_version}, received {made.get('apiVersion', '')})"
        raise _error(f"{about} returned invalid object at index 0: {why}")
    if made.get("kind") != obj["kind"]:
        why = f"invalid kind (expected {obj['kind']}, received {made.get('kind', '')})"
        raise _error(f"{about} returned invalid object at index 0: {why}")
    metadata = made.get("metadata") or {}
    for field, word in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = obj["metadata"].get(field, ""), metadata.get(field, "")
        if before != after:
            raise _error(f"{about} returned invalid object: must have the same {word}: {before} != {after}")
    # Of the metadata a webhook may change labels and annotations only.
    restored = {key: value for key, value in obj["metadata"].items() if key not in _KEPT}
    restored.update((key, metadata[key]) for key in _KEPT if metadata.get(key))
    return {**made, "metadata": restored}


def _asked(config: Mapping[str, Any], obj: Json, api_version: str, cluster: Cluster) -> list[Json]:
    """The converted objects of the answer. Raises CallFailure."""
    metadata = obj["metadata"]
    stamp = f"{metadata.get('uid', '')} {metadata.get('resourceVersion', '')} {api_version} {cluster.sim.now}"
    digits = hashlib.sha256(stamp.encode()).hexdigest()
    uid = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": [obj]}
    review: Json = {"kind": "ConversionReview", "apiVersion": _V1, "request": request}
    call = call_of(config, review, _TIMEOUT_S * SECOND)
    reply = WebhookReply(error="no route to host") if cluster.backend is None else cluster.backend.call(call)
    cluster.spent_ns += min(reply.delay_ns, call.timeout_ns)
    post = f'Post "{call.url}?timeout={_TIMEOUT_S}s": '
    if reply.delay_ns >= call.timeout_ns:
        raise CallFailure(f"{post}context deadline exceeded")
    if reply.error:
        raise CallFailure(post + reply.error)
    if reply.status >= 400:
        raise CallFailure(refused(reply))
    return _objects_of(reply, uid)


def _objects_of(reply: WebhookReply, uid: str) -> list[Json]:
    if not reply.body:
        raise CallFailure(f"0-length response with status code: {reply.status} and content type: ")
    try:
        review = json.loads(reply.body)
    except json.JSONDecodeError as error:
        why = jsontext.syntax_error(reply.body, error)
        raise CallFailure(f"couldn't get version/kind; json parse error: {why}") from None
    if not isinstance(review, Mapping) or not review.get("kind"):
        raise CallFailure(f"Object 'Kind' is missing in '{reply.body}'")
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    found = f"{group}/{version}, Kind={review['kind']}"
    if found != f"{_V1}, Kind=ConversionReview":
        raise CallFailure(f"expected webhook response of {_V1}, Kind=ConversionReview, got {found}")
    response = review.get("response")
    if not isinstance(response, Mapping):
        raise CallFailure("no response provided")
    if response.get("uid", "") != uid:
        raise CallFailure(f'expected response.uid="{uid}", got {json.dumps(response.get("uid", ""))}')
    result: Mapping[str, Any] = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status", "")
        raise CallFailure(result.get("message") or f"response.result.status was '{status}', expected 'Success'")
    return list(response.get("convertedObjects") or ())


def _error(message: str) -> ApiError:
    return ApiError(500, "", message, {})
