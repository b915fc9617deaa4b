"""A third-party server of the Model Context Protocol before the cluster (`kubernetes-mcp-server`), over its pipes."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.surface.http.matrix.client import Client, Json, NotOfferedError, RefusedError


class McpServer(Client):
    """Its tools in place of a library; what they print is all there is."""

    name = "MCP kubernetes-mcp-server"

    def __init__(self, kubeconfig: Path, program: Path) -> None:
        command = [str(program), "--kubeconfig", str(kubeconfig)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._number = 0
        info = {"name": "simcluster", "version": "1"}
        begun = self._ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=info)
        self.version = begun["serverInfo"]["version"]
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _write(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, **given: Any) -> Json:
        assert self._process.stdout is not None
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": given})
        while True:
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._number:
                return dict(answer["result"])

    def _tool(self, tool: str, /, **given: Any) -> str:
        result = self._ask("tools/call", name=tool, arguments={key: value for key, value in given.items() if value})
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise RefusedError(404 if "not found" in text else 0, text)
        return text

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        text = self._tool("resources_get", **_kind(kind), name=name, namespace=namespace)
        return dict(yaml.safe_load(text))

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        """Names and namespaces; of events all that it shows."""
        if kind == "v1/Event":
            text = self._tool("events_list", namespace=namespace, fieldSelector=fields)
            shown = yaml.safe_load(text.partition("\n")[2]) or []
            return [{key.lower(): value for key, value in event.items()} for event in shown]
        given = {"namespace": namespace, "labelSelector": labels, "fieldSelector": fields}
        lines = self._tool("resources_list", **_kind(kind), **given).splitlines()
        heads = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
        places = dict(heads)
        found = []
        for line in lines[1:]:
            words = {key: line[places[key] :].split(" ")[0] for key in ("NAME", "NAMESPACE") if key in places}
            found.append({"metadata": {key.lower(): word for key, word in words.items()}})
        return found

    def create(self, body: Json, namespace: str = "default") -> Json:
        if body["kind"].endswith("Review"):
            raise NotOfferedError  # it applies, and reviews cannot be applied
        metadata = {**({"namespace": namespace} if namespace else {}), **body["metadata"]}
        text = self._tool("resources_create_or_update", resource=json.dumps({**body, "metadata": metadata}))
        return dict(yaml.safe_load(text.partition("\n")[2])[0])

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        if part != "scale":
            raise NotOfferedError
        self._tool("resources_scale", **_kind(kind), name=name, namespace=namespace, scale=body["spec"]["replicas"])
        return self.get(kind, name, namespace)

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._tool("resources_delete", **_kind(kind), name=name, namespace=namespace)

    def logs(self, pod: str, **options: Any) -> str:
        if options.get("follow") or options.get("timestamps"):
            raise NotOfferedError
        return self._tool("pods_log", name=pod, namespace="default", previous=options.get("previous"))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        if stdin or "exit 3" in command[-1]:
            raise NotOfferedError  # it says neither
        return self._tool("pods_exec", name=pod, namespace="default", command=command), "", 0

    def raw(self, path: str) -> str:
        if not path.endswith("/nodes"):
            raise NotOfferedError
        return json.dumps({"items": self._tool("nodes_top").splitlines()[1:]})


def _kind(kind: str) -> Json:
    version, _, name = kind.rpartition("/")
    return {"apiVersion": version, "kind": name}
