"""flagd: it reads a file of feature flags, watches it, and answers what a flag is; and its page, which writes the file.

Sources: open-feature/flagd v0.12 (`cmd/start`, the file sync over fsnotify, OFREP and management ports) and the Elixir
page of the OpenTelemetry demo. Left out: targeting rules (flags have the value of their default variant for everybody),
gRPC sync streams, other sources than files.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import yaml

from simcluster.engine import SECOND, Timer, format_rfc3339
from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree

#: Where the page finds the same file.
PAGE_FILE = "/app/data/demo.flagd.json"
#: The file is looked at so often; fsnotify tells of a change at once.
WATCH_NS = SECOND
OFREP, MANAGEMENT = 8016, 8014
_JSON = "application/json"
_EVALUATE = "/ofrep/v1/evaluate/flags"
_KINDS = {"ResolveBoolean": bool, "ResolveString": str, "ResolveInt": int, "ResolveFloat": float}


class FlagdProgram(ServerProgram):
    """The main process of flagd's container.

    Attributes:
        flags: value of every enabled flag by its name.
        variants: name of the variant that each has.
        revision: how often they have changed since its start.
    """

    flags: dict[str, Any]
    variants: dict[str, str]
    revision = 0
    path = ""
    _text = ""
    _watch: Timer | None = None

    def start(self) -> None:
        """Read the flags; without a file that can be read it does not start."""
        self.flags, self.variants = {}, {}
        words = (*self.container.spec.command, *self.container.spec.args)
        source = next((after for word, after in pairwise(words) if word in ("--uri", "-f")), "")
        if not source:
            self._log("error", "start/start.go:205", "no sync implementation set")
            self.container.exit(1)
            return
        self.path = "/" + source.partition("file:")[2].removeprefix("./").lstrip("/")
        text = self._read()
        if text is None:
            why = f"open {source.partition('file:')[2]}: no such file or directory"
            self._log("fatal", "cmd/start.go:148", f"error from sync provider: {why}")
            self.container.exit(1)
            return
        self._take(text)
        super().start()

    def stop(self) -> None:
        """The process is gone."""
        super().stop()
        if self._watch is not None:
            self._watch.cancel()

    def answer(self, call: Call) -> Answer:
        """Evaluate a flag over HTTP: OFREP, or the Connect form of its gRPC service."""
        base = super().answer(call)
        if base.outcome != "ok" or call.kind != "http":
            return base
        path = call.path.partition("?")[0]
        if call.port == MANAGEMENT:
            known = path in ("/healthz", "/readyz")
            return base._replace(status=200 if known else 404, body="" if known else "404 page not found\n")
        if call.port == OFREP:
            if not path.startswith(_EVALUATE):
                return base._replace(status=404, body="404 page not found\n")
            return self._evaluated(base, path[len(_EVALUATE) :].strip("/"))
        return self._connected(base, path.rpartition("/")[2], call.body)

    def _evaluated(self, base: Answer, name: str) -> Answer:
        if not name:
            found = [self._shown(each) for each in self.flags]
            return base._replace(status=200, body=json.dumps({"flags": found, "metadata": {}}), content_type=_JSON)
        if name not in self.flags:
            text = {"key": name, "errorCode": "FLAG_NOT_FOUND", "errorDetails": f"flag `{name}` does not exist"}
            return base._replace(status=404, body=json.dumps(text), content_type=_JSON)
        return base._replace(status=200, body=json.dumps(self._shown(name)), content_type=_JSON)

    def _connected(self, base: Answer, method: str, body: str) -> Answer:
        """`flagd.evaluation.v1.Service`."""
        if method not in _KINDS:
            return base._replace(status=404, body="404 page not found\n")
        try:
            name = json.loads(body or "{}").get("flagKey", "")
        except (ValueError, AttributeError):
            return base._replace(status=400, body='{"code":"invalid_argument"}', content_type=_JSON)
        if name not in self.flags:
            text = {"code": "not_found", "message": "FLAG_NOT_FOUND"}
            return base._replace(status=404, body=json.dumps(text), content_type=_JSON)
        found = {"value": self.flags[name], "reason": "STATIC", "variant": self.variants[name], "metadata": {}}
        return base._replace(status=200, body=json.dumps(found), content_type=_JSON)

    def _shown(self, name: str) -> dict[str, Any]:
        value, variant = self.flags[name], self.variants[name]
        return {"value": value, "key": name, "reason": "STATIC", "variant": variant, "metadata": {}}

    def _ready(self) -> None:
        super()._ready()
        if not self.container.running:
            return
        for what, port in (("Flag IResolver", 8013), ("Flag Sync Server", 8015), ("ofrep", OFREP)):
            self._log("info", "flag-evaluation/connect_service.go:248", f"{what} listening at [::]:{port}")
        self._log("info", "file/filepath_sync.go:56", "Starting filepath sync notifier")
        self._watch = self.container.sim.every(WATCH_NS, self._look)

    def _look(self) -> None:
        """Whether somebody has written the file."""
        text = self._read()
        if text is not None and text != self._text:
            self._log("info", "file/filepath_sync.go:88", f"filepath event: .{self.path} WRITE")
            self._take(text)

    def _read(self) -> str | None:
        try:
            return FileTree(self.container).read(self.path)
        except FileError:
            return None

    def _take(self, text: str) -> None:
        """Take a file's flags; of one that is wrong nothing."""
        self._text = text
        try:
            given = (yaml.safe_load(text) if self.path.endswith((".yaml", ".yml")) else json.loads(text))["flags"]
            enabled = {name: one for name, one in given.items() if one["state"] == "ENABLED"}
            variants = {name: _word(one["defaultVariant"]) for name, one in enabled.items()}
            values = {
                name: {_word(key): value for key, value in one["variants"].items()} for name, one in enabled.items()
            }
            flags = {name: values[name][variant] for name, variant in variants.items()}
        except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as problem:
            self._log("error", "runtime/runtime.go:132", f"set state: invalid flag configuration: {problem}")
            return
        if (flags, variants) != (self.flags, self.variants):
            self.flags, self.variants, self.revision = flags, variants, self.revision + 1

    def _log(self, level: str, caller: str, message: str) -> None:
        stamp = format_rfc3339(self.container.sim.now, digits=3)
        line = {"level": level, "ts": stamp, "caller": caller, "msg": message, "component": "start"}
        self.container.write(json.dumps(line, separators=(",", ":")), "stderr")


def _word(name: object) -> str:
    """The name of a variant: `on` and `off` without quotes are words to flagd (YAML 1.2)."""
    return {True: "on", False: "off"}[name] if isinstance(name, bool) else str(name)


class FlagPageProgram(ServerProgram):
    """The page on which people switch flags: what it is given it writes into the file that flagd watches."""

    def answer(self, call: Call) -> Answer:
        """`GET /api/read` and `POST /api/write`, also below `/feature`."""
        path = call.path.partition("?")[0].removeprefix("/feature").rstrip("/")
        base = super().answer(call._replace(path="/feature"))
        if base.outcome != "ok" or call.kind != "http":
            return base
        if path == "/api/read":
            return self._read(base)
        if path == "/api/write" and call.method == "POST":
            return self._write(base, call.body)
        if path not in ("", "/advanced"):
            return base._replace(status=404, body="Not Found")
        return base._replace(body='<!DOCTYPE html>\n<html lang="en"><head><title>FlagdUi</title></head></html>\n')

    def _read(self, base: Answer) -> Answer:
        try:
            return base._replace(body=FileTree(self.container).read(PAGE_FILE), content_type=_JSON)
        except FileError:
            return base._replace(status=500, body="Internal Server Error")

    def _write(self, base: Answer, body: str) -> Answer:
        try:
            data = json.loads(body)["data"]
            FileTree(self.container).write(PAGE_FILE, json.dumps(data, indent=2) + "\n")
        except (ValueError, KeyError, TypeError):
            return base._replace(status=400, body="Bad Request")
        except FileError:
            return base._replace(status=500, body="Internal Server Error")
        return base._replace(body="", content_type=_JSON)
