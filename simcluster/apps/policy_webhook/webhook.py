"""A described admission webhook: what it does to objects stands in its environment.

Variables (all may be absent): `TARGET` (`app=web,tier=front`: only objects, or Pod
templates, with these labels), `ADD_LABELS` (`team=core`), `SET_MEMORY_LIMIT`,
`SET_MEMORY_REQUEST`, `SET_CPU_LIMIT`, `SET_CPU_REQUEST` (of every container), `REQUIRE_LABELS`
(`owner,team`: refuse objects without them), `DENY` (refuse with this message), `WARN` (a
warning) and `DELAY` (`3s`: how long it thinks before every answer). It also converts custom
resources: `CONVERT` (`v1:spec.size=v2:spec.replicas,…`) says which field of one version is
which field of another.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from simcluster.engine import parse_duration
from simcluster.models.apps.conversion import Json, Renaming, converted
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.process import Answer, Call

_LIMITS = (
    ("SET_MEMORY_LIMIT", "limits", "memory"),
    ("SET_MEMORY_REQUEST", "requests", "memory"),
    ("SET_CPU_LIMIT", "limits", "cpu"),
    ("SET_CPU_REQUEST", "requests", "cpu"),
)


class PolicyWebhookProgram(ServerProgram):
    """The server."""

    def admission_review(self, call: Call, review: dict[str, Any]) -> Answer | None:
        """Judge a review and answer it."""
        answer = self.answer(call)
        if answer.outcome != "ok" or answer.status >= 400:
            return answer
        if review["kind"] == "ConversionReview":
            return converted(review, _renamed(self.environment.get("CONVERT", "")), answer.delay_ns + self._delay_ns())
        response = self._response(review["request"])
        self.container.write(_line(review["request"], response))
        body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
        return Answer("ok", 200, json.dumps(body), answer.delay_ns + self._delay_ns())

    def _delay_ns(self) -> int:
        return _duration_ns(self.environment.get("DELAY", ""))

    def _response(self, request: Mapping[str, Any]) -> Json:
        obj = request.get("object") or {}
        response: Json = {"uid": request["uid"], "allowed": True}
        labels = (obj.get("metadata") or {}).get("labels") or {}
        wanted = _pairs(self.environment.get("TARGET", ""))
        if not obj or any(labels.get(key) != value for key, value in wanted.items()):
            return response
        if self.environment.get("WARN"):
            response["warnings"] = [self.environment["WARN"]]
        refusal = self._refusal(labels)
        if refusal:
            response["allowed"] = False
            response["status"] = {"code": 403, "message": refusal}
            return response
        patch = self._patch(obj)
        if patch:
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(json.dumps(patch).encode()).decode()
        return response

    def _refusal(self, labels: Mapping[str, str]) -> str:
        if self.environment.get("DENY"):
            return self.environment["DENY"]
        required = [name.strip() for name in self.environment.get("REQUIRE_LABELS", "").split(",") if name.strip()]
        missing = [name for name in required if name not in labels]
        return f"missing required labels: {', '.join(missing)}" if missing else ""

    def _patch(self, obj: Mapping[str, Any]) -> list[Json]:
        patch: list[Json] = []
        labels = (obj.get("metadata") or {}).get("labels")
        added = _pairs(self.environment.get("ADD_LABELS", ""))
        if added and labels is None:
            patch.append({"op": "add", "path": "/metadata/labels", "value": added})
        elif labels is not None:
            for key, value in added.items():
                if labels.get(key) != value:
                    patch.append({"op": "add", "path": f"/metadata/labels/{_escaped(key)}", "value": value})
        path, containers = _containers(obj)
        for index, container in enumerate(containers):
            resources = self._resources(container)
            if resources != (container.get("resources") or {}):
                patch.append({"op": "add", "path": f"{path}/{index}/resources", "value": resources})
        return patch

    def _resources(self, container: Mapping[str, Any]) -> Json:
        resources: Json = dict(container.get("resources") or {})
        for variable, group, name in _LIMITS:
            value = self.environment.get(variable)
            if value:
                resources[group] = {**(resources.get(group) or {}), name: value}
        return resources


def _renamed(text: str) -> list[Renaming]:
    found = []
    for left, right in _pairs(text).items():
        version, _, path = left.partition(":")
        other, _, other_path = right.partition(":")
        found.append(Renaming(version, path, other, other_path))
    return found


def _containers(obj: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The containers of a Pod or of a Pod template, and where they are."""
    spec = obj.get("spec") or {}
    template = (spec.get("template") or {}).get("spec")
    if template:
        return "/spec/template/spec/containers", template.get("containers") or []
    return "/spec/containers", spec.get("containers") or []


def _pairs(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _duration_ns(text: str) -> int:
    try:
        return max(0, parse_duration(text)) if text else 0
    except ValueError:
        return 0


def _line(request: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    name = request.get("name") or (request.get("object") or {}).get("metadata", {}).get("generateName", "")
    verdict = "allowed" if response["allowed"] else "denied"
    changed = " patched" if response.get("patch") else ""
    where = f"{request.get('namespace', '')}/{name}".lstrip("/")
    return f"INFO {request['operation']} {request['resource']['resource']} {where}: {verdict}{changed}"
