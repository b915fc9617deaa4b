"""A served cluster in a process of its own, and a client that knows nothing but HTTP."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml


class Answer(NamedTuple):
    """What came back."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ServedCluster:
    """`simcluster serve ARGUMENTS`, from its start to its end."""

    def __init__(self, out: Path, *arguments: str, stderr: int = subprocess.PIPE) -> None:
        self.out = out
        command = [sys.executable, "-m", "simcluster", "serve", *arguments, "--out", str(out)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(4)]
        self.environment = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
        config = yaml.safe_load((out / "kubeconfig").read_text())
        cluster = config["clusters"][0]["cluster"]
        self.token = config["users"][0]["user"]["token"]
        self.url = cluster["server"]
        self.context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())

    def wait(self) -> str:
        """Until it is ready; what it has said so far."""
        assert self.process.stderr is not None
        said = ""
        for line in self.process.stderr:
            said += line
            if "ready" in line:
                return said
        raise AssertionError("it ended before it was ready")

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request; a header `x_y` is sent as `x-y`. `authorization=""` sends no token."""
        request = urllib.request.Request(self.url + target, body, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in headers.items():
            request.remove_header("Authorization") if (name, value) == ("authorization", "") else request.add_header(
                name.replace("_", "-"), value
            )
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def watch(self, target: str) -> Iterator[Any]:
        """Events of a watch, as an informer hears them."""
        request = urllib.request.Request(self.url + target, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, context=self.context, timeout=300) as answer:
            for line in answer:
                yield json.loads(line)

    def desk(self, path: str, text: str | None = None) -> bytes:
        """What the desk says; a text is posted."""
        place = urlsplit(self.environment["SIMCLUSTER_DESK"].strip("'"))
        request = urllib.request.Request(f"http://{place.hostname}:{place.port}{path}", text and text.encode())
        request.add_header("Authorization", "Basic " + b64encode(f"a:{place.password}".encode()).decode())
        with urllib.request.urlopen(request, timeout=300) as answer:
            return bytes(answer.read())

    def kubectl(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The real kubectl."""
        environment = {**os.environ, **{k: v.strip("'") for k, v in self.environment.items()}}
        command = ["kubectl", "--cache-dir", str(self.out / "cache"), *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, timeout=300)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.communicate()

    def end(self, number: int = signal.SIGINT) -> list[dict[str, Any]]:
        """Ctrl-C, or another signal; the lines of the replay log."""
        self.process.send_signal(number)
        self.process.communicate(timeout=300)
        assert self.process.returncode == 0
        return [json.loads(line) for line in (self.out / "replay.jsonl").read_text().splitlines()]
