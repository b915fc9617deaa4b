"""The asyncio client (`kubernetes_asyncio`)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import kubernetes_asyncio as library
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.dynamic import DynamicClient
from kubernetes_asyncio.dynamic.exceptions import DynamicApiError
from kubernetes_asyncio.stream import WsApiClient

from tests.surface.http.matrix.client import PATCHES, Client, Json, RefusedError


class Asynchronous(Client):
    name, version = "Python kubernetes_asyncio", library.__version__

    def __init__(self, kubeconfig: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._run(self._open(str(kubeconfig)))

    async def _open(self, kubeconfig: str) -> None:
        self._configuration = library.client.Configuration()
        await library.config.load_kube_config(kubeconfig, client_configuration=self._configuration)
        self._api = library.client.ApiClient(self._configuration)
        self._core = library.client.CoreV1Api(self._api)
        self._dynamic = await DynamicClient(self._api)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            found = self._loop.run_until_complete(work)
        except (DynamicApiError, ApiException) as problem:
            raise RefusedError(problem.status, str(problem.body)) from None
        found = found.to_dict() if hasattr(found, "to_dict") else found
        if isinstance(found, dict) and found.get("kind") == "Status" and found.get("code", 200) >= 400:
            raise RefusedError(found["code"], found["message"])  # the dynamic client raises nothing
        return found

    def close(self) -> None:
        self._run(self._api.close())
        self._loop.close()

    def _of(self, kind: str) -> Any:
        version, _, name = kind.rpartition("/")
        return self._loop.run_until_complete(self._dynamic.resources.get(api_version=version, kind=name))

    def server(self) -> Json:
        return dict(self._run(library.client.VersionApi(self._api).get_code()))

    def raw(self, path: str) -> str:
        async def ask() -> str:
            headers = {"authorization": await self._configuration.get_api_key_with_prefix("BearerToken")}
            answer = await self._api.rest_client.request("GET", self._configuration.host + path, headers=headers)
            return str(await answer.text() if hasattr(answer, "text") else answer.data.decode())

        return str(self._run(ask()))

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        return dict(self._run(self._dynamic.get(self._of(kind), name=name, namespace=namespace or None)))

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        found = self._run(
            self._dynamic.get(
                self._of(kind), namespace=namespace or None, label_selector=labels or None, field_selector=fields or None
            )
        )
        return list(found["items"])

    def create(self, body: Json, namespace: str = "default") -> Json:
        kind = self._of(f"{body['apiVersion']}/{body['kind']}")
        return dict(self._run(self._dynamic.create(kind, body=body, namespace=namespace or None)))

    def replace(self, body: Json, namespace: str = "default") -> Json:
        kind = self._of(f"{body['apiVersion']}/{body['kind']}")
        return dict(self._run(self._dynamic.replace(kind, body=body, namespace=namespace)))

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        how, _, manager = how.partition(":")
        more = {"field_manager": manager} if manager else {}
        given = {"name": name, "namespace": namespace or None, "content_type": PATCHES[how], **more}
        return dict(self._run(self._dynamic.patch(self._of(kind), body=body, **given)))

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        if part == "eviction":
            return dict(self._run(self._core.create_namespaced_pod_eviction(name, namespace, body)))
        if part == "token":
            return dict(self._run(self._core.create_namespaced_service_account_token(name, namespace, body)))
        resource = self._of(kind).subresources[part]
        given = {"name": name, "namespace": namespace, "content_type": PATCHES["strategic"]}
        return dict(self._run(self._dynamic.patch(resource, body=body, **given)))

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._run(self._dynamic.delete(self._of(kind), name=name, namespace=namespace or None))

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        async def first() -> str:
            async with library.watch.Watch() as watching:
                async for event in watching.stream(
                    self._core.list_namespaced_pod, namespace, field_selector=f"metadata.name={name}"
                ):
                    return str(event["type"])
            return ""

        return str(self._run(first()))

    def logs(self, pod: str, **options: Any) -> str:
        given = {key: options[key] for key in ("previous", "timestamps", "follow") if key in options}
        if "tail" in options:
            given["tail_lines"] = options["tail"]
        return str(self._run(self._core.read_namespaced_pod_log(pod, "default", **given)))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        async def work() -> tuple[str, str, int]:
            async with WsApiClient(self._configuration) as api:
                opened = await library.client.CoreV1Api(api).connect_get_namespaced_pod_exec(
                    pod, "default", command=command, stdout=True, stderr=True, stdin=bool(stdin), tty=False,
                    _preload_content=False,
                )  # fmt: skip
                said = {1: "", 2: "", 3: ""}
                async with opened as place:
                    if stdin:
                        await place.send_bytes(b"\0" + stdin.encode())
                    async for message in place:
                        data = message.data if isinstance(message.data, bytes) else message.data.encode()
                        said[data[0]] = said.get(data[0], "") + data[1:].decode()
                return said[1], said[2], int(api.parse_error_data(said[3]))

        found: tuple[str, str, int] = self._run(work())
        return found
