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

from simcluster.api import conversion
from simcluster.api.admission.plugin import Cluster, Plugin
from simcluster.api.admission.webhooks.call import (
    DEADLINE_NS,
    Verdict,
    ask,
    denied,
    failed,
    internal,
    seen_by,
    timed_out,
)
from simcluster.api.admission.webhooks.source import Hook
from simcluster.api.admission.webhooks.transport import CallFailure
from simcluster.api.errors import ApiError
from simcluster.api.handlers import vetting
from simcluster.api.objects import thaw
from simcluster.api.patch import jsonpatch
from simcluster.api.registry.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes
from simcluster.api.resources import Resource
from simcluster.api.schema import decode

_ALL = (CREATE, UPDATE, DELETE, CONNECT)


class MutatingAdmissionWebhook(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = _ALL
    sees_parts: ClassVar[bool] = True

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Let every webhook concerned change the new object. Raises ApiError."""
        hooks = cluster.hooks.mutating
        if not hooks:
            return
        asked: list[tuple[Hook, Resource, int]] = []  # with the number of changes made when it had answered
        changes = 0
        for hook in hooks:
            seen = seen_by(hook, attributes, cluster)
            if seen is not None:
                changes += self._consult(hook, attributes, seen, cluster)
                asked.append((hook, seen, changes))
        attributes.is_changed_by_webhooks = changes > 0 and attributes.part is None
        for hook, seen, known in asked:
            if changes > known and hook.webhook.get("reinvocationPolicy") == "IfNeeded":
                self._consult(hook, attributes, seen, cluster)

    def _consult(self, hook: Hook, attributes: Attributes, seen: Resource, cluster: Cluster) -> bool:
        """Ask one webhook and apply its patch; whether it changed the object. Raises ApiError."""
        verdict = _verdict(hook, attributes, seen, cluster, cluster.spent_ns)
        if verdict is None:
            return False
        response = verdict.response
        _take_warnings(response, cluster)
        if not response.get("allowed"):
            raise denied(hook, response)
        return bool(response.get("patch")) and _patch(response, attributes, seen, cluster)


def _patch(response: Mapping[str, Any], attributes: Attributes, seen: Resource, cluster: Cluster) -> bool:
    part = attributes.part
    if part is not None and part.kind == "Scale":
        return False
    if part is None and attributes.obj is None:
        raise internal(f'admission webhook "{attributes.resource.plural}" attempted to modify the object of a delete')
    before = conversion.from_storage(seen, attributes.new, cluster) if part is None else part.new
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
    if part is not None:
        attributes.part = part._replace(new=changed)
        return True
    changed = conversion.to_storage(seen, changed)
    if attributes.resource.custom is not None:
        changed = conversion.from_storage(attributes.resource, changed, cluster)
    decoded = decode(attributes.resource, changed)
    if decoded.error is not None:
        raise internal(f"failed to decode patched object: {decoded.error}")
    obj = decoded.object
    obj["apiVersion"], obj["kind"] = attributes.new["apiVersion"], attributes.new["kind"]
    vetting.default(attributes.resource, obj)
    attributes.obj = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **obj}
    return True


class ValidatingAdmissionWebhook(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = _ALL
    sees_parts: ClassVar[bool] = True

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Ask every webhook concerned, all at the same time. Raises ApiError of the first refusal."""
        hooks = cluster.hooks.validating
        if not hooks:
            return
        concerned = [(hook, seen_by(hook, attributes, cluster)) for hook in hooks]
        started_ns = cluster.spent_ns
        refusal: ApiError | None = None
        for hook, seen in concerned:
            if seen is None:
                continue
            try:
                self._consult(hook, attributes, seen, cluster, started_ns)
            except ApiError as error:
                refusal = refusal or error
        if refusal is not None:
            raise refusal

    def _consult(self, hook: Hook, attributes: Attributes, seen: Resource, cluster: Cluster, started_ns: int) -> None:
        verdict = _verdict(hook, attributes, seen, cluster, started_ns)
        if verdict is None:
            return
        _take_warnings(verdict.response, cluster)
        if not verdict.response.get("allowed"):
            raise denied(hook, verdict.response)


def _verdict(hook: Hook, attributes: Attributes, seen: Resource, cluster: Cluster, started_ns: int) -> Verdict | None:
    """The answer; None if there is none and the webhook's failure is ignored. Raises ApiError."""
    try:
        return ask(hook, attributes, seen, cluster, started_ns=started_ns)
    except CallFailure as failure:
        if cluster.spent_ns >= DEADLINE_NS:
            raise timed_out() from None
        name = json.dumps(hook.name)
        if hook.ignores_failure:
            text = f"Failed calling webhook, failing open {hook.name}: failed calling webhook {name}: {failure}"
            cluster.log.text("W", "dispatcher.go:217", text)
            return None
        text = f"Failed calling webhook, failing closed {hook.name}: failed calling webhook {name}: {failure}"
        cluster.log.text("W", "dispatcher.go:225", text)
        raise failed(hook, failure) from None


def _take_warnings(response: Mapping[str, Any], cluster: Cluster) -> None:
    cluster.warnings.extend(str(warning) for warning in response.get("warnings") or ())
