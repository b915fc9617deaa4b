"""The Python client of Kubernetes itself (`kubernetes`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError
from kubernetes.stream import portforward, stream

from tests.surface.http.matrix.client import PATCHES, Client, Json, RefusedError


class Official(Client):
    name, version = "Python kubernetes", kubernetes.__version__

    def __init__(self, kubeconfig: Path) -> None:
        self._api = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._core = kubernetes.client.CoreV1Api(self._api)
        self._dynamic = DynamicClient(self._api)

    def close(self) -> None:
        self._api.close()

    def _of(self, kind: str) -> Any:
        version, _, name = kind.rpartition("/")
        return self._dynamic.resources.get(api_version=version, kind=name)

    def _done(self, call: Any, *given: Any, **more: Any) -> Any:
        try:
            found = call(*given, **more)
        except (DynamicApiError, ApiException) as problem:
            raise RefusedError(problem.status, str(problem.body)) from None
        return found.to_dict() if hasattr(found, "to_dict") else found

    def server(self) -> Json:
        return dict(kubernetes.client.VersionApi(self._api).get_code().to_dict())

    def raw(self, path: str) -> str:
        configuration = self._api.configuration
        headers = {"authorization": configuration.auth_settings()["BearerToken"]["value"]}
        answer = self._done(self._api.rest_client.request, "GET", configuration.host + path, headers=headers)
        return str(answer.read().decode())

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        return self._done(self._of(kind).get, name=name, namespace=namespace or None)

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        given = {"label_selector": labels or None, "field_selector": fields or None}
        found = self._done(self._of(kind).get, namespace=namespace or None, **given)
        return list(found["items"])

    def create(self, body: Json, namespace: str = "default") -> Json:
        resource = self._of(f"{body['apiVersion']}/{body['kind']}")
        return self._done(resource.create, body=body, namespace=namespace or None)

    def replace(self, body: Json, namespace: str = "default") -> Json:
        return self._done(self._of(f"{body['apiVersion']}/{body['kind']}").replace, body=body, namespace=namespace)

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        how, _, manager = how.partition(":")
        more = {"field_manager": manager} if manager else {}
        return self._done(
            self._of(kind).patch, body=body, name=name, namespace=namespace or None, content_type=PATCHES[how], **more
        )

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        resource = self._of(kind).subresources[part]
        if part in ("eviction", "token"):
            return self._done(resource.create, body=body, name=name, namespace=namespace)
        return self._done(resource.patch, body=body, name=name, namespace=namespace, content_type=PATCHES["strategic"])

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._done(self._of(kind).delete, name=name, namespace=namespace or None)

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        watching = kubernetes.watch.Watch()
        for event in watching.stream(
            self._core.list_namespaced_pod, namespace, field_selector=f"metadata.name={name}", timeout_seconds=5
        ):
            watching.stop()
            return str(event["type"])
        return ""

    def logs(self, pod: str, **options: Any) -> str:
        given = {key: options[key] for key in ("previous", "timestamps") if key in options}
        if "tail" in options:
            given["tail_lines"] = options["tail"]
        if options.get("follow"):
            watching = kubernetes.watch.Watch()
            return "\n".join(watching.stream(self._core.read_namespaced_pod_log, pod, "default"))
        return str(self._done(self._core.read_namespaced_pod_log, pod, "default", **given))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        opened = stream(
            self._core.connect_get_namespaced_pod_exec, pod, "default", command=command, stdout=True, stderr=True,
            stdin=bool(stdin), tty=False, _preload_content=False,
        )  # fmt: skip
        out = err = ""
        if stdin:
            opened.write_stdin(stdin)
        while opened.is_open():
            opened.update(timeout=1)
            out += opened.read_stdout() if opened.peek_stdout() else ""
            err += opened.read_stderr() if opened.peek_stderr() else ""
        code = opened.returncode
        opened.close()
        return out, err, int(code)

    def attach(self, pod: str) -> str:
        opened = stream(
            self._core.connect_get_namespaced_pod_attach, pod, "default", stdout=True, stderr=True, stdin=False,
            tty=False, _preload_content=False,
        )  # fmt: skip
        self._core.list_namespaced_pod("default")  # time passes by what is asked
        self._core.list_namespaced_pod("default")
        self._core.list_namespaced_pod("default")
        opened.update(timeout=60)
        found = opened.read_stdout(timeout=60)
        opened.close()
        return str(found)

    def forwarded(self, pod: str, port: int) -> str:
        opened = portforward(self._core.connect_get_namespaced_pod_portforward, pod, "default", ports=str(port))
        place = opened.socket(port)
        place.setblocking(True)
        place.sendall(b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
        try:
            return str(place.recv(4096).decode())
        finally:
            place.close()
