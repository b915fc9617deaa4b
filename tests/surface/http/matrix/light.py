"""The lightweight client (`lightkube`)."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightkube
from lightkube.core import exceptions, resource
from lightkube.core import resource_registry as registry
from lightkube.types import CascadeType, PatchType

from tests.surface.http.matrix.client import Client, Json, NotOfferedError, RefusedError

PATCHES = {
    "strategic": PatchType.STRATEGIC,
    "merge": PatchType.MERGE,
    "json": PatchType.JSON,
    "apply": PatchType.APPLY,
}
_PARTS = {"eviction": "Eviction", "token": "Token", "scale": "Scale", "ephemeralcontainers": "Ephemeralcontainers"}


class Light(Client):
    name, version = "Python lightkube", version("lightkube")

    def __init__(self, kubeconfig: Path) -> None:
        config = lightkube.KubeConfig.from_file(kubeconfig)
        self._client = lightkube.Client(config=config, namespace="default", field_manager="a")

    def close(self) -> None:
        self._client.close()

    def _of(self, kind: str) -> Any:
        api_version, _, name = kind.rpartition("/")
        return registry.resource_registry.load(api_version, name)

    def _done(self, call: Any, *given: Any, **more: Any) -> Any:
        try:
            found = call(*given, **more)
        except exceptions.ApiError as problem:
            raise RefusedError(problem.status.code or 0, str(problem)) from None
        return found.to_dict() if hasattr(found, "to_dict") else found

    def _given(self, kind: Any, namespace: str) -> Json:
        namespaced = issubclass(kind, resource.NamespacedResource)
        return {"namespace": namespace} if namespaced and namespace else {}

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        found = self._of(kind)
        return dict(self._done(self._client.get, found, name=name, **self._given(found, namespace)))

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        found = self._of(kind)
        given: Json = {"namespace": namespace or "*"} if self._given(found, "x") else {}
        if labels:
            given["labels"] = dict(part.split("=") for part in labels.split(","))
        if fields:
            given["fields"] = dict(part.split("=") for part in fields.split(","))
        return [one.to_dict() for one in self._done(self._client.list, found, **given)]

    def create(self, body: Json, namespace: str = "default") -> Json:
        kind = self._of(f"{body['apiVersion']}/{body['kind']}")
        made = kind.from_dict({**body, "metadata": {**self._given(kind, namespace), **(body.get("metadata") or {})}})
        return dict(self._done(self._client.create, made))

    def replace(self, body: Json, namespace: str = "default") -> Json:
        return dict(self._done(self._client.replace, self._of(f"{body['apiVersion']}/{body['kind']}").from_dict(body)))

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        how, _, manager = how.partition(":")
        found = self._of(kind)
        more: Json = {"field_manager": manager} if manager else {}
        given = {**self._given(found, namespace), "patch_type": PATCHES[how], **more}
        return dict(self._done(self._client.patch, found, name, body, **given))

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        found = getattr(self._of(kind), _PARTS[part], None)
        if found is None:
            raise NotOfferedError
        if part in ("eviction", "token"):
            made = found.from_dict({**body, "metadata": {"name": name, "namespace": namespace}})
            return dict(self._done(self._client.create, made, name, namespace=namespace))
        kind_of = PATCHES["merge"] if part == "scale" else PATCHES["strategic"]
        return dict(self._done(self._client.patch, found, name, body, namespace=namespace, patch_type=kind_of))

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        found = self._of(kind)
        given = self._given(found, namespace)
        self._done(self._client.delete, found, name, cascade=CascadeType.BACKGROUND, **given)

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        for event, _ in self._client.watch(self._of(kind), namespace=namespace, fields={"metadata.name": name}):
            return str(event)
        return ""

    def logs(self, pod: str, **options: Any) -> str:
        given = {key: options[key] for key in ("timestamps", "follow") if key in options}
        if options.get("previous"):
            raise NotOfferedError
        if "tail" in options:
            given["tail_lines"] = options["tail"]
        return "".join(self._done(self._client.log, pod, **given))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        found = self._done(
            self._client.exec, pod, command=command, stdin=stdin or None, stdout=True, stderr=True,
            raise_on_error=False,
        )  # fmt: skip
        return _text(found.stdout), _text(found.stderr), int(found.exit_code)


def _text(given: Any) -> str:
    return given.decode() if isinstance(given, bytes) else str(given or "")
