"""The admission plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook.

Mutating webhooks are asked one after the other, validating ones all at once. Source:
k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, ClassVar

from simcluster.api import vetting
from simcluster.api.admission.plugin import Cluster, Plugin
from simcluster.api.admission.webhooks.call import (
    DEADLINE_NS,
    CallFailure,
    Verdict,
    ask,
    denied,
    failed,
    internal,
    is_concerned,
    timed_out,
)
from simcluster.api.admission.webhooks.source import Hook
from simcluster.api.errors import ApiError
from simcluster.api.objects import thaw
from simcluster.api.patch import jsonpatch
from simcluster.api.registry.attributes import CREATE, DELETE, UPDATE, Attributes
from simcluster.api.schema import decode

_ALL = (CREATE, UPDATE, DELETE)


class MutatingAdmissionWebhook(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = _ALL

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Let every webhook concerned change the new object. Raises ApiError."""
        hooks = cluster.hooks.mutating
        if not hooks:
            return
        asked: list[tuple[Hook, int]] = []  # with the number of changes made when it had answered
        changes = 0
        for hook in hooks:
            if is_concerned(hook, attributes, cluster):
                changes += self._consult(hook, attributes, cluster)
                asked.append((hook, changes))
        attributes.is_changed_by_webhooks = changes > 0
        for hook, seen in asked:
            if changes > seen and hook.webhook.get("reinvocationPolicy") == "IfNeeded":
                self._consult(hook, attributes, cluster)

    def _consult(self, hook: Hook, attributes: Attributes, cluster: Cluster) -> bool:
        """Ask one webhook and apply its patch; whether it changed the object. Raises ApiError."""
        verdict = _verdict(hook, attributes, cluster, cluster.spent_ns)
        if verdict is None:
            return False
        response = verdict.response
        _take_warnings(response, cluster)
        if not response.get("allowed"):
            raise denied(hook, response)
        return bool(response.get("patch")) and attributes.scale is None and _patch(response, attributes)


def _patch(response: Mapping[str, Any], attributes: Attributes) -> bool:
    if attributes.obj is None:
        raise internal(f'admission webhook "{attributes.resource.plural}" attempted to modify the object of a delete')
    before = attributes.new
    try:
        operations = json.loads(b64decode(response["patch"], validate=True))
        changed = jsonpatch.apply(thaw(before), operations)
    except (binascii.Error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise internal(f"invalid JSON patch: {error}") from None
    except jsonpatch.MalformedPatchError as error:
        raise internal(str(error)) from None
    except jsonpatch.JsonPatchError as error:
        raise internal(f"jsonpatch operation does not apply: {error}") from None
    if changed == before:
        return False
    decoded = decode(attributes.resource, changed)
    if decoded.error is not None:
        raise internal(f"failed to decode patched object: {decoded.error}")
    obj = decoded.object
    obj["apiVersion"], obj["kind"] = before["apiVersion"], before["kind"]
    vetting.default(attributes.resource, obj)
    attributes.obj = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **obj}
    return True


class ValidatingAdmissionWebhook(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = _ALL

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Ask every webhook concerned, all at the same time. Raises ApiError of the first refusal."""
        hooks = cluster.hooks.validating
        if not hooks:
            return
        concerned = [hook for hook in hooks if is_concerned(hook, attributes, cluster)]
        started_ns = cluster.spent_ns
        refusal: ApiError | None = None
        for hook in concerned:
            try:
                self._consult(hook, attributes, cluster, started_ns)
            except ApiError as error:
                refusal = refusal or error
        if refusal is not None:
            raise refusal

    def _consult(self, hook: Hook, attributes: Attributes, cluster: Cluster, started_ns: int) -> None:
        verdict = _verdict(hook, attributes, cluster, started_ns)
        if verdict is None:
            return
        _take_warnings(verdict.response, cluster)
        if not verdict.response.get("allowed"):
            raise denied(hook, verdict.response)


def _verdict(hook: Hook, attributes: Attributes, cluster: Cluster, started_ns: int) -> Verdict | None:
    """The answer; None if there is none and the webhook's failure is ignored. Raises ApiError."""
    try:
        return ask(hook, attributes, cluster, started_ns=started_ns)
    except CallFailure as failure:
        if cluster.spent_ns >= DEADLINE_NS:
            raise timed_out() from None
        if hook.ignores_failure:
            return None
        raise failed(hook, failure) from None


def _take_warnings(response: Mapping[str, Any], cluster: Cluster) -> None:
    cluster.warnings.extend(str(warning) for warning in response.get("warnings") or ())
