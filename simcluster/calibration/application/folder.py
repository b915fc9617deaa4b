"""Writes what was inferred as an application's folder, with what is a guess in its first lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simcluster.calibration.application.inference import Inferred, infer
from simcluster.calibration.application.manifests import Manifests, read
from simcluster.calibration.record.traces import jaeger_lines, otlp_lines
from simcluster.calibration.services import Span

_NAME = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")
#: Users are let in so long after the application is up.
AFTER = "20s"


class Made(NamedTuple):
    """An application that was made: its name, its folder, and what is to be said of it."""

    name: str
    folder: Path
    remarks: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]


def make(source: Path, out: Path, name: str, traces: Path | None = None) -> Made:
    """An application's folder `out/apps/NAME` from manifests, which `--content OUT` finds.

    Raises:
        ValueError: the manifests or traces cannot be read, say too little, or the name is none.
        FileExistsError: there is such an application in the folder.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an application: small letters, digits and '-', 2 to 40 of them")
    found = read(source)
    made = infer(found, spans_of(traces) if traces is not None else None)
    folder = out / "apps" / name.replace("-", "_")
    if folder.exists():
        raise FileExistsError(f"{folder} is there already; choose another --out or --name")
    namespace = found.namespaces[0] if len(found.namespaces) == 1 else name
    if len(found.namespaces) > 1:
        where = ", ".join(found.namespaces)
        made.remarks.append(f"left out: objects of {where} are all applied in the namespace {namespace}")
    folder.mkdir(parents=True)
    (folder / "behaviour.yaml").write_text(_behaviour(name, namespace, made), encoding="utf-8")
    (folder / "manifests.yaml").write_text(_documents(found.objects, stripped=True), encoding="utf-8")
    if found.cluster:
        rest = [one for one in found.cluster if one["kind"] != "Namespace"]
        (folder / "prerequisites.yaml").write_text(_documents(rest), encoding="utf-8")
    (folder / "cases.yaml").write_text(_cases(found, made), encoding="utf-8")
    return Made(name, folder, tuple(dict.fromkeys(made.remarks)), tuple(dict.fromkeys(made.edges)))


def spans_of(path: Path) -> list[list[Span]]:
    """The traces of a file: an answer of Jaeger's `/api/traces`, or OTLP in JSON, one export or a line each.

    Raises:
        ValueError: it is neither, or holds no trace.
    """
    text = path.read_text(encoding="utf-8").strip()
    try:
        try:
            exports = [json.loads(text)]
        except json.JSONDecodeError:
            exports = [json.loads(line) for line in text.splitlines() if line.strip()]
        if exports and isinstance(exports[0], Mapping) and "data" in exports[0]:
            lines = list(jaeger_lines(exports[0]["data"]))
        else:
            lines = otlp_lines(exports[0] if isinstance(exports[0], list) else exports)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: neither an answer of Jaeger's /api/traces nor OTLP in JSON ({error})") from None
    if not lines:
        raise ValueError(f"{path}: it holds no trace")
    return [line["spans"] for line in lines]


def _behaviour(name: str, namespace: str, made: Inferred) -> str:
    body = {
        "application": name,
        "description": f"{name}, from its manifests",
        "namespace": namespace,
        "users": {"entry": made.program, "rps": made.rps, "mix": made.mix},
        "services": made.services,
    }
    said = "".join(f"# {remark}\n" for remark in dict.fromkeys(made.remarks))
    head = "# Made of manifests; what is guessed is a magnitude to be set right by who knows the programs.\n"
    return f"{head}{said}{yaml.safe_dump(body, sort_keys=False, width=120)}"


def _documents(objects: Iterable[Mapping[str, Any]], *, stripped: bool = False) -> str:
    found = []
    for one in objects:
        meta = {key: value for key, value in one["metadata"].items() if not (stripped and key == "namespace")}
        found.append({**{key: value for key, value in one.items() if key != "status"}, "metadata": meta})
    return yaml.safe_dump_all(found, sort_keys=False, width=120)


def _cases(found: Manifests, made: Inferred) -> str:
    requests = []
    for service, spec in found.services.items():
        behind = found.behind(service)
        if behind is None or made.services.get(behind.name, {}).get("protocol") != "http":
            continue
        path = next(iter(made.services[behind.name]["operations"].values()))["path"]
        ports = spec.get("ports") or ()
        if ports:
            requests.append({"service": service, "port": ports[0]["port"], "path": "/" if path == "*" else path})
    users = {"entry": made.entry, "rps": made.rps, "after": AFTER}
    return yaml.safe_dump({"users": users, "requests": requests}, sort_keys=False, width=120)
