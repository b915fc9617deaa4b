"""The client `kr8s`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import kr8s.asyncio
from kr8s.asyncio.objects import Pod, object_from_spec
from kr8s.asyncio.portforward import PortForward

from tests.surface.http.matrix.client import PATCHES, Client, Json, NotOfferedError, RefusedError


class Krates(Client):
    name, version = "Python kr8s", version("kr8s")

    def __init__(self, kubeconfig: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._api = self._run(kr8s.asyncio.api(kubeconfig=str(kubeconfig)))

    def close(self) -> None:
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._loop.run_until_complete(work)
        except kr8s.NotFoundError as problem:
            raise RefusedError(404, str(problem)) from None
        except kr8s.ServerError as problem:
            raise RefusedError(problem.response.status_code if problem.response else 0, str(problem)) from None
        except httpx.HTTPStatusError as problem:
            raise RefusedError(problem.response.status_code, str(problem)) from None

    async def _object(self, kind: str, name: str, namespace: str) -> Any:
        api_version, _, word = kind.rpartition("/")
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        found = object_from_spec({"apiVersion": api_version, "kind": word, "metadata": metadata}, self._api, True)
        return found

    def server(self) -> Json:
        return dict(self._run(self._api.version()))

    def raw(self, path: str) -> str:
        base, _, rest = path.lstrip("/").partition("/")

        async def ask() -> str:
            async with self._api.call_api("GET", version="", base=f"/{base}", url=rest) as answer:
                return str(answer.text)

        return str(self._run(ask()))

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        async def ask() -> Any:
            found = await self._object(kind, name, namespace)
            await found.refresh()
            return found.raw.to_dict()

        return dict(self._run(ask()))

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        async def ask() -> list[Json]:
            given = {"label_selector": labels or None, "field_selector": fields or None}
            word = kind.rpartition("/")[2].lower() + "s"
            found = self._api.get(word, namespace=namespace or kr8s.ALL, **given)
            return [one.raw.to_dict() async for one in found]

        return list(self._run(ask()))

    def create(self, body: Json, namespace: str = "default") -> Json:
        async def ask() -> Any:
            if body["kind"].endswith("Review"):
                given: Json = {"version": body["apiVersion"], "url": body["kind"].lower() + "s", "json": body}
                async with self._api.call_api("POST", **given) as answer:
                    return answer.json()
            metadata = {**({"namespace": namespace} if namespace else {}), **(body.get("metadata") or {})}
            made = object_from_spec({**body, "metadata": metadata}, self._api, True)
            await made.create()
            return made.raw.to_dict()

        return dict(self._run(ask()))

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        how, _, manager = how.partition(":")

        async def ask() -> Any:
            found = await self._object(kind, name, namespace)
            if how == "json":
                await found.patch(body, type="json")
                return found.raw.to_dict()
            params = {"fieldManager": manager} if manager else {}
            async with self._api.call_api(
                "PATCH", version=found.version, url=f"{found.endpoint}/{name}", namespace=namespace or None,
                json=body, headers={"Content-Type": PATCHES[how]}, params=params,
            ) as answer:  # fmt: skip
                return answer.json()

        return dict(self._run(ask()))

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        async def ask() -> Any:
            found = await self._object(kind, name, namespace)
            method = "POST" if part in ("eviction", "token") else "PATCH"
            headers = {"Content-Type": PATCHES["strategic"]} if method == "PATCH" else {}
            async with self._api.call_api(
                method, version=found.version, url=f"{found.endpoint}/{name}/{part}", namespace=namespace, json=body,
                headers=headers,
            ) as answer:  # fmt: skip
                return answer.json()

        return dict(self._run(ask()))

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        async def ask() -> None:
            await (await self._object(kind, name, namespace)).delete()

        self._run(ask())

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        async def first() -> str:
            found = self._api.watch("pods", namespace=namespace, field_selector=f"metadata.name={name}")
            async for event, _ in found:
                return str(event)
            return ""

        return str(self._run(first()))

    async def _pod(self, name: str) -> Any:
        return await Pod.get(name, namespace="default", api=self._api)

    def logs(self, pod: str, **options: Any) -> str:
        async def ask() -> str:
            given = {key: options[key] for key in ("previous", "timestamps", "follow") if key in options}
            if "tail" in options:
                given["tail_lines"] = options["tail"]
            return "".join([line + "\n" async for line in (await self._pod(pod)).logs(**given)])

        return str(self._run(ask()))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        if stdin:
            raise NotOfferedError  # it speaks a protocol that cannot end it

        async def ask() -> Any:
            return await (await self._pod(pod)).exec(command, stdin=stdin or None, check=False)

        found = self._run(ask())
        return found.stdout.decode(), found.stderr.decode(), int(found.returncode)

    def forwarded(self, pod: str, port: int) -> str:
        async def ask() -> str:
            async with PortForward(await self._pod(pod), port) as local, httpx.AsyncClient() as plain:
                answer = await plain.get(f"http://127.0.0.1:{local}/")
                return f"HTTP/1.1 {answer.status_code}"

        return str(self._run(ask()))
