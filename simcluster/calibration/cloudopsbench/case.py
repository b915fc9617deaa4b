"""Reads a recorded case: what was applied when, on which nodes, and what was wrong with them besides.

Nothing of what the cluster answered is taken over but causes: manifests as they were applied (the fault included),
nodes, quotas, volumes, services of nodes that were stopped, how much users asked for, and when all of that was.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.objects import Json

CACHE, METADATA = "tool_cache.json", "metadata.json"
#: Taints that a control plane sets by itself, from conditions.
_BY_ITSELF = re.compile(r"node\.kubernetes\.io/(not-ready|unreachable|network-unavailable|.*-pressure)")
_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany"}
_CORDONED = "node.kubernetes.io/unschedulable"
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(years?|months?|weeks?|days?|min|ms|us|y|d|h|m|s)")
_SECONDS = {"y": 31536000, "d": 86400, "h": 3600, "m": 60, "min": 60, "s": 1, "ms": 0.001, "us": 1e-6,
            "year": 31557600, "month": 2629800, "week": 604800, "day": 86400}  # fmt: skip


#: Through which users of Train Ticket come, and how much they ask for (metrics of its recordings, 6.6 to 6.9).
DASHBOARD, DASHBOARD_RPS = "ts-ui-dashboard", 6.6
#: Whom each of their journeys needs: where one of these was not ready and their log tells of no error, there were none.
ASKED = ("ts-auth-service", "ts-travel-service", "ts-contacts-service", "ts-preserve-service", "ts-order-service")
#: Through which users of Online Boutique come, and how its log tells how many: lines at its start, lines of a request
#: (begin, page, end, now and then an error), and how long it takes until the first.
ENTRY, ENTRY_START_LINES, LINES_PER_REQUEST, SILENT_S = "frontend", 6, 3.3, 4.0
#: Where that log says nothing: what users sent on most days; those recordings that are younger than this had none.
USUAL_RPS, QUIET_S = 5.0, 45.0


class CaseError(Exception):
    """A folder that holds no case, or one without what a simulation needs."""

    exit_code = 2


@dataclass(frozen=True)
class Node:
    """A node of the recorded cluster. Memory in bytes; taints as `key=value:Effect`."""

    name: str
    address: str
    cpu: int
    memory: int
    pod_cidr: str
    labels: dict[str, str]
    taints: tuple[str, ...]
    cordoned: bool
    control_plane: bool


@dataclass(frozen=True)
class Case:
    """A recorded case.

    Attributes:
        cache: what each tool printed, by its key.
        fault: `root_cause` and `fault_object`, as its metadata name them.
    """

    folder: Path
    namespace: str
    cache: dict[str, Any]
    fault: dict[str, str] = field(default_factory=dict)

    def answers(self, tool: str) -> Iterator[tuple[dict[str, Any], Any]]:
        """Arguments and answer of every call of a tool."""
        for key, answer in self.cache.items():
            name, _, arguments = key.partition(":")
            if name == tool and arguments.startswith("{"):
                yield json.loads(arguments), answer

    def table(self, resource: str, *, wide: bool = False) -> list[dict[str, str]]:
        """A list of `kubectl get`, as cells by column."""
        for wanted, answer in self.answers("GetResources"):
            flags = bool(wanted.get("output_wide")), bool(wanted.get("show_labels")), bool(wanted.get("label_selector"))
            if wanted["resource_type"] == resource and not wanted.get("name") and flags == (wide, False, False):
                return rows(str(answer))
        return []

    def described(self, resource: str) -> dict[str, str]:
        """What `kubectl describe` printed of each object of a kind."""
        return {
            str(wanted["name"]): str(answer)
            for wanted, answer in self.answers("DescribeResource")
            if wanted["resource_type"] == resource and re.search(r"^Name:\s", str(answer), re.M)
        }

    @cached_property
    def manifests(self) -> dict[str, list[Json]]:
        """The documents of each application, as they were applied."""
        return {
            str(wanted["app_name"]): [one for one in yaml.safe_load_all(str(answer)) if isinstance(one, dict)]
            for wanted, answer in self.answers("GetAppYAML")
        }

    @cached_property
    def read_at(self) -> float:
        """When pods were read (they were read first), as a wall clock of the cluster without zone, in seconds."""
        ages = {row["NAME"]: seconds(row["AGE"]) for row in self.table("pods")}
        found = []
        for name, text in self.described("pods").items():
            started = re.search(r"^Start Time:\s+\w+, (.*?) [+-]\d{4}$", text, re.M)
            if started and name in ages:
                found.append(_clock(started[1], "%d %b %Y %H:%M:%S") + ages[name])
        found.sort()
        return found[len(found) // 2] if found else _clock(str(self.cache["collection_timestamp"])[:19])

    @cached_property
    def ages_s(self) -> dict[str, float]:
        """For how long each application had been there when pods were read."""
        found = {}
        for name, text in self.described("deployments").items():
            made = re.search(r"^CreationTimestamp:\s+\w+, (.*?) [+-]\d{4}$", text, re.M)
            if made:
                found[name] = self.read_at - _clock(made[1], "%d %b %Y %H:%M:%S")
        known = sorted(found.values())
        usual = known[len(known) // 2] if known else 60.0
        return {name: max(0.0, found.get(name, usual)) for name in self.manifests}

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version of the kubelets; (1, 32) if they do not say."""
        found = re.search(r"^\s*Kubelet Version:\s+v(\d+)\.(\d+)", "\n".join(self.described("nodes").values()), re.M)
        if found:
            return int(found[1]), int(found[2])
        versions = [re.match(r"v(\d+)\.(\d+)", row.get("VERSION", "")) for row in self.table("nodes")]
        return next(((int(one[1]), int(one[2])) for one in versions if one), (1, 32))

    @property
    def entry(self) -> str:
        """The Service by which its users come; empty if it has none that is known."""
        return next((name for name in (ENTRY, DASHBOARD) if name in self.manifests), "")

    @cached_property
    def rescaled_s(self) -> float | None:
        """How many seconds ago the target was scaled to nothing; None if it was not."""
        text = self.described("deployments").get(self.fault.get("fault_object", "").partition("/")[2], "")
        found = re.search(r"ScalingReplicaSet\s+(\S+)\s.*Scaled down replica set \S+ (?:to 0 from|from \d+ to 0)", text)
        return seconds(found[1]) if found else None

    @cached_property
    def users_rps(self) -> float:
        """Requests a second of the users: an input that no manifest holds; the number of lines of the entry says."""
        if self.entry == DASHBOARD:
            return 0.0 if self._nobody_complained and self._unready.intersection(ASKED) else DASHBOARD_RPS
        written = {}
        for wanted, answer in self.answers("GetErrorLogs"):
            found = json.loads(answer) if isinstance(answer, str) and answer.startswith("{") else answer
            if isinstance(found, dict) and "total_log_count" in found:
                written[wanted["service_name"]] = int(found["total_log_count"])
        age_s = self.ages_s.get(ENTRY, 0.0)
        if ENTRY not in written or age_s < SILENT_S:
            return USUAL_RPS if age_s > QUIET_S else 0.0
        return max(0.0, (written[ENTRY] - ENTRY_START_LINES) / LINES_PER_REQUEST) / (age_s - SILENT_S)

    @property
    def _nobody_complained(self) -> bool:
        """Whether the users' own log was looked at and held no error."""
        return any(answer.get("status") == "clean" for _, answer in self.answers("GetAlerts"))

    @property
    def _unready(self) -> set[str]:
        """Deployments of which no pod was ready."""
        return {row["NAME"] for row in self.table("deployments") if row["READY"].startswith("0/")}

    def founded_s(self, name: str) -> float | None:
        """For how long a StatefulSet that no manifest holds had been there; None if the case has none of that name."""
        made = re.search(r"^CreationTimestamp:\s+\w+, (.*?) [+-]\d{4}$",
                         self.described("statefulsets").get(name, ""), re.M)  # fmt: skip
        return self.read_at - _clock(made[1], "%d %b %Y %H:%M:%S") if made else None

    def restarted_s(self, name: str, container: str) -> list[tuple[str, float]]:
        """Each pod of a StatefulSet in which a container has ended once with 0, and how many seconds ago."""
        found = []
        for pod, text in sorted(self.described("pods").items()):
            part = re.search(rf"^  {container}:\n((?:    .*\n)+)", text, re.M)
            ended = re.search(r"Exit Code:\s+0\n\s+Started:.*\n\s+Finished:\s+\w+, (.*?) [+-]\d{4}$",
                              part[1] if part else "", re.M)  # fmt: skip
            if pod.rpartition("-")[0] == name and ended:
                found.append((pod, self.read_at - _clock(ended[1], "%d %b %Y %H:%M:%S")))
        return found

    def directories(self) -> list[str]:
        """Directories of nodes that volumes demand to be there already."""
        found = []
        for documents in self.manifests.values():
            for document in documents:
                pod = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
                places = [volume.get("hostPath") for volume in pod.get("volumes") or ()]
                places += (
                    [(document.get("spec") or {}).get("hostPath")] if document["kind"] == "PersistentVolume" else []
                )
                found += [place["path"] for place in places if place and place.get("type") == "Directory"]
        return found

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes, by name."""
        return [_node(name, text) for name, text in sorted(self.described("nodes").items())]

    @cached_property
    def stopped(self) -> list[tuple[str, str, float]]:
        """Node, service and how many seconds ago it was stopped, of every service of a node that was dead."""
        found = []
        for wanted, answer in self.answers("CheckNodeServiceStatus"):
            dead = re.search(r"Active: (?:inactive|failed) \([^)]*\)(?: since \w+ (\S+ \S+))?", str(answer))
            if dead:
                ago_s = (
                    self.read_at - _clock(dead[1], "%Y-%m-%d %H:%M:%S") if dead[1] else max(self.ages_s.values()) + 30
                )
                found.append((wanted["node_name"], wanted["service_name"], ago_s))
        return found

    @cached_property
    def alerted(self) -> tuple[float, float] | None:
        """How many seconds before pods were read the window of metrics began and ended; None without one."""
        for _, answer in self.answers("GetAlerts"):
            for alert in answer.get("alerts") or () if isinstance(answer, dict) else ():
                begin, _, end = str(alert.get("time_range", "")).partition(" ~ ")
                if end:
                    form = "%Y-%m-%d %H:%M:%S"
                    return self.read_at - _clock(begin, form), self.read_at - _clock(end, form)
        return None

    @property
    def delay_s(self) -> float | None:
        """By how much the target's own median latency rose in that window; None if it does not say."""
        name = self.fault.get("fault_object", "").partition("/")[2]
        for _, answer in self.answers("GetAlerts"):
            for alert in answer.get("alerts") or ():
                words = r"p50latency: Normal=([\d.]+)ms -> Current=([\d.]+)ms"
                found = re.search(words, json.dumps(alert))
                if found and alert.get("name") == name:
                    return (float(found[2]) - float(found[1])) / 1000
        return None

    @property
    def ports(self) -> dict[str, int]:
        """The port at which each Service was tried."""
        return {w["service_name"]: int(w["port"]) for w, _ in self.answers("CheckServiceConnectivity")}

    @cached_property
    def extra(self) -> list[Json]:
        """Objects that no manifest holds: quotas, and volumes of others; Train Ticket's stores make their own."""
        return [*self._quotas(), *([] if self.entry == DASHBOARD else (*self._volumes(), *self._claims()))]

    def _quotas(self) -> Iterator[Json]:
        for name, text in self.described("resourcequota").items():
            hard = re.findall(r"^(\S+)\s+\S+\s+(\S+)\s*$", text.partition("--------")[2], re.M)
            limits = {key: value for key, value in hard if not key.startswith("-")}
            metadata = {"name": name, "namespace": self.namespace}
            yield {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": limits}}

    def _claims(self) -> Iterator[Json]:
        """Claims of others; they asked for what their volume has, or for less where a quota says how much is used."""
        documents = [one for each in self.manifests.values() for one in each]
        own = {one["metadata"]["name"] for one in documents if one["kind"] == "PersistentVolumeClaim"}
        used = re.search(r"^requests\.storage\s+([1-9]\S*)", "\n".join(self.described("resourcequota").values()), re.M)
        for row in self.table("persistentvolumeclaims"):
            if row["NAME"] not in own and row["VOLUME"]:
                storage = used[1] if used else row["CAPACITY"]
                metadata = {"name": row["NAME"], "namespace": self.namespace}
                spec = {
                    "accessModes": [_MODES.get(mode, mode) for mode in row["ACCESS MODES"].split(",")],
                    "resources": {"requests": {"storage": storage}},
                    "storageClassName": row.get("STORAGECLASS", ""),
                    "volumeName": row["VOLUME"],
                }
                yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}

    def _volumes(self) -> Iterator[Json]:
        documents = [one for each in self.manifests.values() for one in each]
        known = {one["metadata"]["name"] for one in documents if one["kind"] == "PersistentVolume"}
        claims = {f"{self.namespace}/{one['metadata']['name']}" for one in documents
                  if one["kind"] == "PersistentVolumeClaim"}  # fmt: skip
        for row in self.table("persistentvolumes"):
            if row["NAME"] in known or row["STATUS"] == "Released":
                continue
            spec: Json = {
                "capacity": {"storage": row["CAPACITY"]},
                "accessModes": [_MODES.get(mode, mode) for mode in row["ACCESS MODES"].split(",")],
                "persistentVolumeReclaimPolicy": row["RECLAIM POLICY"],
                "storageClassName": row.get("STORAGECLASS", ""),
                "hostPath": {"path": f"/mnt/{row['NAME']}"},
            }
            if row.get("CLAIM") and row["CLAIM"] not in claims:
                namespace, _, name = row["CLAIM"].partition("/")
                spec["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
            yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": row["NAME"]}, "spec": spec}


def read_case(folder: Path) -> Case:
    """The case in a folder.

    Raises:
        CaseError: there is none, it is damaged, or lacks what a simulation needs.
    """
    try:
        cache = json.loads((folder / CACHE).read_text(encoding="utf-8"))
        metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise CaseError(f"{folder} holds no case: there is no {Path(str(missing.filename)).name}") from None
    except NotADirectoryError:
        raise CaseError(f"{folder} is no folder: a case is one, with {CACHE} and {METADATA}") from None
    except ValueError as problem:
        raise CaseError(f"{folder}: {problem}") from None
    if not isinstance(cache, dict) or not isinstance(metadata, dict) or "namespace" not in metadata:
        raise CaseError(f"{folder}: its files are not those of a case")
    case = Case(folder, str(metadata["namespace"]), cache, dict(metadata.get("result") or {}))
    try:
        lacking = [what for what, found in (("manifests", case.manifests), ("nodes", case.nodes)) if not found]
    except (yaml.YAMLError, KeyError, ValueError) as problem:
        raise CaseError(f"{folder}: {problem}") from None
    if lacking:
        raise CaseError(f"{folder}: the case says nothing of {' and '.join(lacking)}")
    return case


def rows(text: str) -> list[dict[str, str]]:
    """A table of kubectl as cells by column; cells may be empty.

    >>> rows("NAME   AGE\\nweb    3s\\n")
    [{'NAME': 'web', 'AGE': '3s'}]
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    columns = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    ends = [start for _, start in columns[1:]]
    return [
        {
            name: line[start:end].strip()
            for (name, start), end in zip(columns, [*ends, max(map(len, lines))], strict=True)
        }
        for line in lines[1:]
    ]


def _clock(text: str, form: str = "%Y-%m-%dT%H:%M:%S") -> float:
    """A wall clock without zone, in seconds."""
    return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.UTC).timestamp()


def seconds(age: str) -> float:
    """Of an age as kubectl or systemctl print it.

    >>> seconds("5m45s"), seconds("1h 8min"), seconds("1 day 13h")
    (345.0, 4080.0, 133200.0)
    """
    return float(
        sum(float(number) * _SECONDS.get(unit, _SECONDS.get(unit.rstrip("s"), 1)) for number, unit in _AGE.findall(age))
    )


def _node(name: str, text: str) -> Node:
    def line(key: str) -> str:
        found = re.search(rf"^\s*{key}:\s+(.*)$", text, re.M)
        return found[1].strip() if found else ""

    def block(key: str) -> list[str]:
        found = re.search(rf"^{key}:\s+(.*(?:\n {{10,}}.*)*)", text, re.M)
        return [one.strip() for one in found[1].splitlines()] if found and found[1] != "<none>" else []

    labels = dict(one.partition("=")[::2] for one in block("Labels"))
    own = tuple(one for one in block("Taints") if not _BY_ITSELF.match(one) and not one.startswith(_CORDONED))
    memory = re.search(r"^Capacity:(?:\n .*)*?\n\s+memory:\s+(\d+)Ki", text, re.M)
    cpu = re.search(r"^Capacity:(?:\n .*)*?\n\s+cpu:\s+(\d+)", text, re.M)
    return Node(
        name,
        line("InternalIP"),
        int(cpu[1]) if cpu else 4,
        int(memory[1]) << 10 if memory else 8 << 30,
        line("PodCIDR"),
        labels,
        own,
        line("Unschedulable") == "true",
        labels.get("kubernetes.io/role") == "master" or "node-role.kubernetes.io/control-plane" in labels,
    )
