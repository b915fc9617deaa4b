"""SRE-Zero's actions on a cluster: each is one or two commands of `kubectl`, charged and answered like any other."""

from __future__ import annotations

import json
from typing import Any

from simcluster.eval.episode import Episode
from simcluster.eval.frameworks.srezero.truth import SERVICES
from simcluster.eval.generator.srezero import NAMESPACE, text, workload

#: Lines of a log that are shown.
LINES = 12
#: Metrics that add up over the pods of a service; of others the worst is shown, of these the mean.
_SUMS = ("request_rate", "queued_requests")
_MEANS = ("error_rate", "upstream_timeout_rate", "cache_bypass_rate", "rate_limited_rate")


class Operations:
    """What can be done to the five services of an episode."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def knows(self, service: str) -> bool:
        """Whether there is such a service."""
        return service in SERVICES

    def logs(self, service: str) -> dict[str, Any]:
        """The last lines of its pods."""
        found = self._run(f"logs -l app={workload(service)} --tail={LINES} --max-log-requests=10")
        return {"logs": found.splitlines()[-2 * LINES :]}

    def metrics(self, service: str) -> dict[str, Any]:
        """What its pods show of themselves."""
        found: dict[str, list[float]] = {}
        for pod in self._pods(service):
            name, port = pod["metadata"]["name"], pod["spec"]["containers"][0]["ports"][0]["containerPort"]
            path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}:{port}/proxy/metrics"
            for line in self._run(f"get --raw {path}").splitlines():
                metric, space, value = line.partition(" ")
                if space and not line.startswith("#") and "{" not in metric:
                    found.setdefault(metric, []).append(float(value))
        return {"metrics": {name: _together(name, values) for name, values in found.items()}}

    def status(self, service: str) -> dict[str, Any]:
        """How many of its pods are ready."""
        wanted = int(self._deployment(service)["spec"].get("replicas", 1))
        pods = self._pods(service)
        ready = sum(_is_ready(pod) for pod in pods)  # integers
        restarts = sum(int(one.get("restartCount", 0)) for pod in pods for one in pod["status"].get("containerStatuses", ()))  # fmt: skip  # noqa: E501
        name = "healthy" if ready >= wanted else "degraded" if ready else "crashed"
        return {"status": name, "ready": ready, "wanted": wanted, "restarts": restarts}

    def config(self, service: str, key: str = "") -> dict[str, Any]:
        """Its settings, or one of them; None of one that it does not have."""
        container = self._deployment(service)["spec"]["template"]["spec"]["containers"][0]
        found = {one["name"]: one.get("value", "") for one in container.get("env", ()) if one["name"].isupper()}
        return {"config": {key: found.get(key.upper())} if key else found}

    def restart(self, service: str) -> dict[str, Any]:
        """Make its pods anew."""
        self._run(f"rollout restart deployment/{workload(service)}")
        return {"rollout": self._rolled(service)}

    def update(self, service: str, key: str, value: bool | int | float | str | None) -> dict[str, Any]:
        """Roll out another value of a setting."""
        said = value if isinstance(value, float) else text(value)
        self._run(f"set env deployment/{workload(service)} {key.upper()}={said}")
        return {"rollout": self._rolled(service)}

    def _rolled(self, service: str) -> str:
        said = self._run(f"rollout status deployment/{workload(service)} --timeout=180s").strip()
        return said.splitlines()[-1] if said else ""

    def _deployment(self, service: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._run(f"get deployment {workload(service)} -o json"))
        return found

    def _pods(self, service: str) -> list[dict[str, Any]]:
        found = json.loads(self._run(f"get pods -l app={workload(service)} -o json"))["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def _run(self, command: str) -> str:
        done = self._episode.kubectl(f"{command} -n {NAMESPACE}" if "--raw" not in command else command)
        return done.stdout if not done.exit_code else done.stdout or done.stderr


def _is_ready(pod: dict[str, Any]) -> bool:
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))


def _together(name: str, values: list[float]) -> float:
    if name in _SUMS:
        return round(sum(sorted(values)), 4)
    return round(sum(sorted(values)) / len(values), 4) if name in _MEANS else max(values)
