"""A script of operations, carried out at their instants and written down with what came of them.

```yaml
- {at: 20s, apply: web.yaml}
- {at: 40s, scale: deployment/web, replicas: 6, namespace: shop}
- {at: 60s, delete: pod/web-0, namespace: shop}
- {at: 60s, delete: pod, selector: app=web, namespace: shop}   # the first that matches
- {at: 80s, drain: worker-1}
- {at: 90s, run: ssh worker-2 systemctl stop kubelet, means: stop kubelet worker-2}
```

`run` is any command of this machine; `means` is how a replay reads it.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import yaml

from simcluster.calibration.record.layout import OPERATIONS
from simcluster.calibration.record.redaction import Redaction
from simcluster.calibration.record.store import Store
from simcluster.calibration.record.watching import Resource

VERBS = ("apply", "scale", "delete", "drain", "run")
#: How often an eviction is tried before a drain gives up.
EVICTIONS = 24
_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_SCALED = {"deployment": "deployments", "statefulset": "statefulsets", "replicaset": "replicasets"}


class Step(NamedTuple):
    """One operation.

    Attributes:
        at_s: after the recording's begin.
        words: its entry in the script.
    """

    at_s: float
    verb: str
    words: dict[str, Any]


def read_script(path: Path) -> list[Step]:
    """The operations of a file in order of time.

    Raises:
        ValueError: it is no such script; says which entry and why.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as problem:
        raise ValueError(f"{path}: {problem}") from None
    if not isinstance(entries, list):
        raise ValueError(f"{path}: a script is a list of operations")
    steps = [_step(entry, f"{path}: operation {number}") for number, entry in enumerate(entries, 1)]
    return sorted(steps, key=lambda step: step.at_s)


def _step(entry: Any, place: str) -> Step:
    if not isinstance(entry, dict):
        raise ValueError(f"{place} is no mapping")
    verbs = [verb for verb in VERBS if verb in entry]
    found = _TIME.fullmatch(str(entry.get("at", "")))
    if len(verbs) != 1:
        raise ValueError(f"{place} needs one of {', '.join(VERBS)}")
    if found is None or not any(found.groups()):
        raise ValueError(f"{place}: `at` is a time such as 20s or 1m30s, not {entry.get('at')!r}")
    if verbs[0] == "scale" and not isinstance(entry.get("replicas"), int):
        raise ValueError(f"{place}: `scale` needs `replicas`")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return Step(hours * 3600 + minutes * 60 + seconds, verbs[0], entry)


class Refused(Exception):
    """The cluster did not do what was asked for."""


class Operator:
    """Carries a script out through the API server."""

    def __init__(
        self, client: httpx.AsyncClient, store: Store, redaction: Redaction, resources: Sequence[Resource], folder: Path
    ) -> None:
        self.client = client
        self.store = store
        self.redaction = redaction
        self.kinds = {resource.kind: resource for resource in resources}
        self.plurals = {resource.plural: resource for resource in resources}
        self.folder = folder

    async def run(self, steps: Sequence[Step]) -> None:
        """All steps, the first as many seconds from now as it says."""
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        for step in steps:
            await asyncio.sleep(max(0.0, begin_s + step.at_s - loop.time()))
            began_ns, outcome = self.store.clock.now_ns(), "done"
            try:
                more = await self._carry_out(step)
            except (Refused, httpx.HTTPError, OSError, ValueError, KeyError) as problem:
                outcome, more = f"{type(problem).__name__}: {problem}", {}
            line = {"began_ns": began_ns, "at_s": step.at_s, "operation": step.words, "outcome": outcome, **more}
            self.store.write(OPERATIONS, self.redaction.object(line))

    async def _carry_out(self, step: Step) -> dict[str, Any]:
        words = step.words
        namespace = str(words.get("namespace", "default"))
        if step.verb == "apply":
            return await self._apply(str(words["apply"]), namespace)
        if step.verb == "scale":
            kind, _, name = str(words["scale"]).partition("/")
            plural = self.plurals[_SCALED[kind.lower()]]
            body = {"spec": {"replicas": words["replicas"]}}
            await self._ask("PATCH", f"{plural.path(namespace)}/{name}/scale", body, "application/merge-patch+json")
            return {}
        if step.verb == "delete":
            return await self._delete(str(words["delete"]), str(words.get("selector", "")), namespace)
        if step.verb == "drain":
            return await self._drain(str(words["drain"]))
        return await _run(str(words["run"]))

    async def _apply(self, name: str, namespace: str) -> dict[str, Any]:
        documents = [one for one in yaml.safe_load_all((self.folder / name).read_text(encoding="utf-8")) if one]
        for document in documents:
            resource = self.kinds.get(document["kind"])
            if resource is None:
                raise Refused(f"{document['kind']} is not among the recorded kinds")
            metadata = document["metadata"]
            place = metadata.get("namespace") or namespace if resource.namespaced else ""
            path = f"{resource.path(place)}/{metadata['name']}?fieldManager=simcluster-record&force=true"
            await self._ask("PATCH", path, document, "application/apply-patch+yaml")
        return {"documents": documents}

    async def _delete(self, what: str, selector: str, namespace: str) -> dict[str, Any]:
        kind, _, name = what.partition("/")
        resource = self.plurals[kind if kind.endswith("s") else f"{kind}s"]
        place = namespace if resource.namespaced else ""
        if not name:
            found = await self._ask("GET", f"{resource.path(place)}?labelSelector={selector}")
            if not found["items"]:
                raise Refused(f"no {kind} matches {selector!r}")
            name = str(found["items"][0]["metadata"]["name"])
        await self._ask("DELETE", f"{resource.path(place)}/{name}")
        return {"name": name}

    async def _drain(self, node: str) -> dict[str, Any]:
        """Cordon, then evict all pods but those of DaemonSets and static ones."""
        path = f"/api/v1/nodes/{node}"
        await self._ask("PATCH", path, {"spec": {"unschedulable": True}}, "application/merge-patch+json")
        pods = (await self._ask("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={node}"))["items"]
        evicted = []
        for pod in pods:
            metadata = pod["metadata"]
            owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
            if owners & {"DaemonSet", "Node"}:
                continue
            whose = {"name": metadata["name"], "namespace": metadata["namespace"]}
            await self._evict(f"/api/v1/namespaces/{whose['namespace']}/pods/{whose['name']}/eviction", whose)
            evicted.append(metadata["name"])
        return {"evicted": evicted}

    async def _evict(self, path: str, whose: dict[str, str]) -> None:
        """Ask until the disruption budget allows it, every 5 s as kubectl drain does."""
        for attempt in range(EVICTIONS):
            try:
                await self._ask("POST", path, {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": whose})
            except Refused as refused:
                if " 404 " in str(refused):
                    return
                if " 429 " not in str(refused) or attempt == EVICTIONS - 1:
                    raise
                await asyncio.sleep(5)
            else:
                return

    async def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, kind: str = "application/json"
    ) -> Any:
        headers = {"Content-Type": kind} if body is not None else {}
        answer = await self.client.request(method, path, json=body, headers=headers)
        if answer.status_code >= 400:
            raise Refused(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return answer.json()


async def _run(command: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    if process.returncode:
        raise Refused(f"exit status {process.returncode}: {printed.decode(errors='replace')[:200]}")
    return {"printed": printed.decode(errors="replace")[:2000]}
