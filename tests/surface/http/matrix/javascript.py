"""The JavaScript client, as a process of Node's that is asked a line at a time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.surface.http.matrix.client import Client, Json, NotOfferedError, RefusedError


class JavaScript(Client):
    """The package lies in `FOLDER/node_modules`."""

    name = "JavaScript client-node"

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        script = Path(__file__).with_name("client.mjs")
        command = ["node", str(script), str(folder), str(kubeconfig)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self._ask("version")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, call: str, **given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"call": call, **given}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "problem" not in answer:
            return answer["found"]
        if answer["none"]:
            raise NotOfferedError
        raise RefusedError(int(answer["code"]) if str(answer["code"]).isdecimal() else 0, answer["problem"])

    def server(self) -> Json:
        return dict(self._ask("server"))

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        return dict(self._ask("get", kind=kind, name=name, namespace=namespace))

    def list(self, kind: str, namespace: str = "default", labels: str = "", fields: str = "") -> list[Json]:
        return list(self._ask("list", kind=kind, namespace=namespace, labels=labels, fields=fields))

    def create(self, body: Json, namespace: str = "default") -> Json:
        return dict(self._ask("create", body=body, namespace=namespace))

    def replace(self, body: Json, namespace: str = "default") -> Json:
        return dict(self._ask("replace", body=body))

    def patch(self, kind: str, name: str, body: Any, how: str = "strategic", namespace: str = "default") -> Json:
        return dict(self._ask("patch", kind=kind, name=name, body=body, how=how, namespace=namespace))

    def part(self, kind: str, name: str, part: str, body: Json, namespace: str = "default") -> Json:
        return dict(self._ask("part", kind=kind, name=name, part=part, body=body, namespace=namespace))

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._ask("delete", kind=kind, name=name, namespace=namespace)

    def watch(self, kind: str, name: str, namespace: str = "default") -> str:
        return str(self._ask("watch", kind=kind, name=name, namespace=namespace))

    def logs(self, pod: str, **options: Any) -> str:
        return str(self._ask("logs", pod=pod, **options))

    def exec(self, pod: str, command: list[str], stdin: str = "") -> tuple[str, str, int]:
        out, err, code = self._ask("exec", pod=pod, command=command, stdin=stdin)
        return out, err, code

    def attach(self, pod: str) -> str:
        return str(self._ask("attach", pod=pod))

    def forwarded(self, pod: str, port: int) -> str:
        return str(self._ask("forwarded", pod=pod, port=port))
