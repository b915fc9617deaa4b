"""Lets a simulated cluster live through a recorded case, up to the instant of its snapshot.

The nodes are the recorded ones; quotas and volumes come first, then each application at its recorded age, and at theirs
whatever was stopped, tainted or cordoned. What follows is the simulation's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import yaml

from simcluster.api.objects import Json
from simcluster.apps.train_ticket.database import REBOOT
from simcluster.apps.train_ticket.gateway import UPSTREAM
from simcluster.apps.train_ticket.rendering import door, infrastructure
from simcluster.calibration.busy import BusyMachine
from simcluster.calibration.cloudopsbench.alerts import (
    RULES,
    RULES_OF_TICKETS,
    Window,
    alerts,
    calls_per_request,
    refused,
    retransmitted,
)
from simcluster.calibration.cloudopsbench.case import DASHBOARD, Case, CaseError, Node
from simcluster.calibration.cloudopsbench.snapshot import Expected, Snapshot
from simcluster.engine import SECOND
from simcluster.models.apps.stores.program import POOL
from simcluster.models.machine.links.shaping import Shaping
from simcluster.world import World, bootstrap
from simcluster.world.profile import Profile
from simcluster.world.world import NodeSpec

#: Longest age that is lived through; older clusters are as old as this.
OLDEST_S = 3900.0
#: Before the first application: the recorded clusters were not new.
HEAD_START_S = 90.0
#: What each user waits between an answer and the next request: Locust's 1 to 10 s, as the shop's own load does.
THINK_S = 5.5
#: Between a change of nodes and the application that it is meant for.
BEFORE_S = 1.0
#: Faults of a network, whose size no case tells: a delay is what the target's own median latency rose by, where that is
#: known; the loss sends some seven segments a second again on a node with 600 packets a second.
_SHAPED = {
    "pod_network_delay": Shaping(delay_ns=500_000_000),
    "node_network_delay": Shaping(delay_ns=2 * SECOND),
    "node_network_packet_loss": Shaping(loss=0.02),
}
#: The recorded script injects so long before its window begins, and has watched so long before that.
AHEAD_S, BEFORE_FAULT_S, _LOOKS = 20.0, 60.0, 3
#: The recorded database's settings under its faults: the number of connections let 11 to 14 of 25 pools in.
_SETTINGS = {"db_read_only": "read_only=ON", "db_connection_exhaustion": f"max_connections={12 * POOL}"}
#: So long after the first application they are made: before a program in Java opens its pool.
SET_AFTER_S = 10.0
#: Its users come when its programs are ready.
USED_AFTER_S = 100.0
#: What Train Ticket stands on came one after the other, and, but for a database that the case knows to be younger, so
#: long ago that no Event tells of it; its volumes are of this class.
FOUNDED_S, EVENTS_GONE_NS = 90.0, 3_700 * SECOND
DATABASES, ELECTOR = ("nacosdb-mysql", "tsdb-mysql"), "xenon"
OPENEBS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "openebs-hostpath"},
    "provisioner": "openebs.io/local",
    "volumeBindingMode": "WaitForFirstConsumer",
}
#: The fault of which the data of a volume cannot be read by whom they are for.
UNREADABLE = "volume_mount_permission_denied"
#: kubectl needs that long to start and ask, and between documents. Eleven took two seconds; a ServiceAccount, two
#: documents after its Deployment, came after the second try to make a pod of the first ones, mostly.
INVOCATION_S, DOCUMENT_S = 0.15, 0.009
#: What kube-controller-manager allows each of its clients by default.
CONTROL_PLANE: dict[str, str | int] = {"controller.qps": 20, "controller.burst": 30}
_MANIFEST = "/etc/kubernetes/manifests/kube-scheduler.yaml"


@dataclass(frozen=True)
class Act:
    """Something that was done so many seconds before the snapshot."""

    ago_s: float
    order: int
    do: Callable[[], None]


class Scene:
    """A world on the recorded nodes, and what is done in it.

    Attributes:
        world: after `play` at the instant of the snapshot.
        refused: what the API server said of manifests that it refused, as it may have in the recording.
    """

    def __init__(self, case: Case, seed: int = 0, profile: Profile | None = None) -> None:
        self.case = case
        if not any(node.control_plane for node in case.nodes):
            raise CaseError(f"{case.folder}: no node is of the control plane")
        own = CONTROL_PLANE | (profile.parameters if profile is not None else {})
        self.world = World(seed, nodes=[_spec(node) for node in case.nodes], profile=Profile(parameters=own))
        self.machine = BusyMachine(self.world, max(node.cpu for node in case.nodes if node.control_plane))
        self.refused: list[str] = []
        self._looks: list[tuple[int, dict[str, int]]] = []
        self.images = sorted(_images(case))

    def play(self) -> World:
        """Do everything in its time."""
        self._furnish()
        acts = sorted(self._acts(), key=lambda act: (-act.ago_s, act.order))
        begin_s = max(act.ago_s for act in acts)
        for act in acts:
            self._run_to(begin_s - act.ago_s)  # later, if what was before took its time
            act.do()
        self._run_to(begin_s)
        return self.world

    def _furnish(self) -> None:
        """The nodes as they were, a namespace, images on the disks, and users."""
        kubectl = self.world.kubectl()
        for node in self.case.nodes:
            own = {key: value for key, value in node.labels.items() if "kubernetes.io/" not in key or "/role" in key}
            for key, value in own.items():
                kubectl.run(f"label node {node.name} {key}={value} --overwrite")
            if node.control_plane and node.cordoned:
                kubectl.run(f"cordon {node.name}")
        namespace = bootstrap.namespace(self.case.namespace)
        self.world.client("kubernetes-admin", "kubectl-create").create("namespaces", "", namespace)
        for machine in self.world.machines.values():
            for image in self.images:
                machine.images.preload(image)
            for directory in self.case.directories():
                self.world.on_node(machine.name, f"mkdir -p {directory}")
                if self.case.fault.get("root_cause") == UNREADABLE:
                    dump = f"{directory}/dump.rdb"
                    self.world.on_node(machine.name, f"touch {dump} && chmod 000 {dump} && chmod 755 {directory}")
        if self.case.entry == DASHBOARD:
            self._found()
        else:
            self._use()
        self.world.run_for(round(HEAD_START_S * SECOND))
        self._begin_ns = self.world.sim.now

    def _use(self) -> None:
        """Users come."""
        entry, rps = self.case.entry, self.case.users_rps
        if entry and rps:
            users = max(1, round(rps * THINK_S))
            self.world.traffic.add_users(entry, self.case.namespace, entry, rps=rps, concurrency=users)

    def _found(self) -> None:
        """What Train Ticket stands on, which no case has manifests of: it was days old."""
        kubectl = self.world.kubectl()
        kubectl.run("apply -f -", stdin=yaml.safe_dump(OPENEBS))
        documents = [*infrastructure(), door()]
        own = {one["metadata"]["name"] for one in self.case.manifests[DASHBOARD] if one["kind"] == "Service"}
        for document in documents:
            if document["metadata"]["name"] not in own and _database_of(document) not in self._young:
                self._apply([document])
            if document["kind"] == "StatefulSet":
                self.world.run_for(round(FOUNDED_S * SECOND))
        for database in DATABASES:
            if database not in self._young:
                for pod, _ in self.case.restarted_s(database, ELECTOR):
                    self._reboot(pod)
        self.world.run_for(EVENTS_GONE_NS)

    @cached_property
    def _young(self) -> dict[str, float]:
        """Databases that are younger than what is lived through, with their ages in seconds."""
        ages = {name: self.case.founded_s(name) for name in DATABASES}
        return {name: age for name, age in ages.items() if age is not None and age < OLDEST_S}

    def _reboot(self, pod: str) -> None:
        """What whoever deploys Train Ticket does to each member, once all are there."""
        self._execute(pod, ELECTOR, (REBOOT,))

    def _execute(self, pod: str, container: str, words: tuple[str, ...]) -> None:
        self.world.client("kubernetes-admin", "kubectl").execute(self.case.namespace, pod, container, words, "")

    def _founding_acts(self) -> list[Act]:
        """A young database at its age, and when its electors were restarted."""
        acts = []
        for database, age_s in self._young.items():
            documents = [one for one in infrastructure() if _database_of(one) == database]
            acts.append(Act(age_s, 0, partial(self._apply, documents)))
            restarted = self.case.restarted_s(database, ELECTOR)
            acts += [Act(ago_s, 1, partial(self._reboot, pod)) for pod, ago_s in restarted]
        return acts

    def _run_to(self, at_s: float) -> None:
        self.world.run_for(max(0, self._begin_ns + round(at_s * SECOND) - self.world.sim.now))

    def _acts(self) -> list[Act]:
        """Everything that was done, with its instant."""
        ages = {name: min(age, OLDEST_S) for name, age in self.case.ages_s.items()}
        oldest = max(ages.values())
        extra = self.case.extra
        first = [one for one in extra if one["kind"] != "PersistentVolumeClaim"]
        acts = [
            Act(oldest + 2 * BEFORE_S, 0, lambda: self._apply(first)),
            Act(oldest + BEFORE_S, 0, lambda: self._apply([one for one in extra if one not in first])),
        ]
        target = self.case.fault.get("fault_object", "").partition("/")[2]
        changed = ages.get(target, oldest)
        if any(node.cordoned or node.taints for node in self.case.nodes if not node.control_plane):
            others = [age for name, age in ages.items() if name != target]
            changed = min([changed + BEFORE_S, *(age - BEFORE_S for age in others)])  # when all others had a node
            ages[target] = min(ages.get(target, oldest), changed - BEFORE_S / 2)
        acts += [Act(changed, 1, self._spoil(node)) for node in self.case.nodes if not node.control_plane]
        names = sorted(ages, key=lambda name: (name == target, list(self.case.manifests).index(name)))
        for order, (name, ago_s) in enumerate(in_a_row(names, ages, self.case.manifests), 10):
            acts.append(Act(ago_s, order, self._applying(name)))
        if self.case.entry == DASHBOARD:
            usual = sorted(ages.values())[len(ages) // 2]
            acts.append(Act(max(0.0, usual - USED_AFTER_S), 98, self._use))
        acts += [*self._network_acts(), *self._store_acts(), *self._scaling_acts(target), *self._founding_acts()]
        for node, service, ago_s in self.case.stopped:
            acts.append(Act(min(ago_s, OLDEST_S), 2, self._stopping(node, service)))
        return acts

    def _store_acts(self) -> list[Act]:
        """What was set in the database, of which no manifest tells."""
        setting = _SETTINGS.get(self.case.fault.get("root_cause", ""))
        if setting is None:
            return []
        words = ("mysql", "-h", "tsdb-mysql-leader", "-uroot", "-e", f"SET GLOBAL {setting}")
        usual = sorted(self.case.ages_s.values())[len(self.case.ages_s) // 2]
        return [Act(usual - SET_AFTER_S, 2, partial(self._execute, "tsdb-mysql-0", "mysql", words))]

    def _scaling_acts(self, target: str) -> list[Act]:
        """A Deployment that was scaled to nothing after it had been applied."""
        ago_s, namespace = self.case.rescaled_s, self.case.namespace
        if ago_s is None:
            return []
        return [Act(ago_s, 99, lambda: self._run(f"scale deployment {target} -n {namespace} --replicas=0"))]

    def _run(self, command: str) -> None:
        self.world.kubectl().run(command)

    def _network_acts(self) -> list[Act]:
        """Delay or loss at the target's interfaces, as long as the recorded script had it, and the looks of metrics."""
        shaping = _SHAPED.get(self.case.fault.get("root_cause", ""))
        if shaping is None or self.case.alerted is None:
            return []
        delay_s = self.case.delay_s
        begin_s, end_s = self.case.alerted
        kind, _, name = self.case.fault["fault_object"].partition("/")
        links, ends = self.world.network.links, list[str]()

        def begin() -> None:
            pods = self.world.api.store.objects("pods", self.case.namespace)
            own = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get("app") == name]
            ends.extend([name] if kind == "node" else [pod["status"]["podIP"] for pod in own])
            size = shaping
            if delay_s is not None and shaping.delay_ns:
                rounds = 1 + calls_per_request(self.world, name, round(BEFORE_FAULT_S * SECOND))
                size = replace(shaping, delay_ns=round(delay_s * SECOND / rounds))
            for end in ends:
                links.shape(end, size)

        def look() -> None:
            self._looks.append((self.world.sim.now, retransmitted(self.world)))

        def finish() -> None:
            for end in ends:
                links.unshape(end)
            look()

        injected_s = begin_s + AHEAD_S
        return [Act(injected_s + BEFORE_FAULT_S, 3, look), Act(injected_s, 4, begin), Act(begin_s, 5, look),
                Act(end_s, 6, finish)]  # fmt: skip

    def alerts(self) -> dict[str, Any]:
        """What the data set's script makes of the metrics; empty where it did not watch them."""
        if len(self._looks) < _LOOKS:
            known = sorted(self.case.manifests)
            return refused(self.world, DASHBOARD, UPSTREAM, known) if self.case.entry == DASHBOARD else {}
        (before, _), (during, _), (end, _) = self._looks
        window = Window((before, before + round(BEFORE_FAULT_S * SECOND)), (during, end))
        rules = RULES_OF_TICKETS if self.case.entry == DASHBOARD else RULES
        segments = [each for _, each in self._looks]
        return alerts(self.world, sorted(self.case.manifests), window, segments, rules)

    def _applying(self, name: str) -> Callable[[], None]:
        return lambda: self._apply(self.case.manifests[name])

    def _apply(self, documents: list[Json]) -> None:
        """One after the other, as kubectl does; the next one comes although one is refused."""
        self.world.run_for(round(INVOCATION_S * SECOND))
        for document in documents:
            self.world.run_for(round(DOCUMENT_S * SECOND))
            try:
                self.world.apply(yaml.safe_dump(document), namespace=self.case.namespace)
            except ValueError as refused:
                self.refused.append(str(refused).strip())

    def _spoil(self, node: Node) -> Callable[[], None]:
        def spoil() -> None:
            kubectl = self.world.kubectl()
            if node.cordoned:
                kubectl.run(f"cordon {node.name}")
            for taint in node.taints:
                kubectl.run(f"taint node {node.name} {taint}")

        return spoil

    def _stopping(self, node: str, service: str) -> Callable[[], None]:
        """Stop a service of a node, by what it is there: a unit, a static pod, a pod of a DaemonSet."""

        def stop() -> None:
            if service == "kube-scheduler":
                self.world.on_node(node, f"mv {_MANIFEST} /root/kube-scheduler.yaml")
            elif service == "kube-proxy":
                keep_off = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [node]}
                terms = {"nodeSelectorTerms": [{"matchExpressions": [keep_off]}]}
                affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
                patch = {"spec": {"template": {"spec": {"affinity": affinity}}}}
                client = self.world.client("kubernetes-admin", "kubectl-edit")
                client.patch("daemonsets.apps", "kube-system", "kube-proxy", patch, kind="merge")
            else:
                self.world.machines[node].control("stop", service)

        return stop


def live_through(case: Case, out: Path, seed: int = 0, profile: Profile | None = None) -> Scene:
    """Play a case and write what its tools would print, at the pace and in the words of the recorded cluster."""
    scene = Scene(case, seed, profile)
    world = scene.play()
    manifests = {str(wanted["app_name"]): str(answer) for wanted, answer in case.answers("GetAppYAML")}
    beside = sorted({str(wanted["service_name"]) for wanted, _ in case.answers("GetErrorLogs")} - manifests.keys())
    expected = Expected(manifests, case.ports, scene.alerts(), beside, release=case.release)
    metadata = {"query": "", "result": dict(case.fault)}
    Snapshot(world, case.namespace, expected, pace=1.0).write(out, metadata)
    return scene


def in_a_row(
    names: list[str], ages: Mapping[str, float], manifests: Mapping[str, list[Json]]
) -> list[tuple[str, float]]:
    """How many seconds ago each application was applied.

    They are told in whole seconds, and come one after the other: as late as that leaves room for those that follow.
    """
    found: list[tuple[str, float]] = []
    for name in reversed(names):
        lasts_s = INVOCATION_S + DOCUMENT_S * len(manifests[name])
        ago_s = ages[name]
        if found and ago_s >= found[-1][1] - 1.0:
            ago_s = min(ago_s + 1.0, max(ago_s, found[-1][1] + lasts_s))
        found.append((name, ago_s))
    return found[::-1]


def _spec(node: Node) -> NodeSpec:
    return NodeSpec(
        node.name,
        control_plane=node.control_plane,
        tainted=False,
        cpu=node.cpu,
        memory=node.memory,
        address=node.address,
        pod_cidr=node.pod_cidr,
    )


def _database_of(document: Json) -> str:
    """Of which database a document of Train Ticket's foundation is a part; empty if of none."""
    name = document["metadata"]["name"]
    return next((one for one in DATABASES if name == one or name.startswith(f"{one}-")), "")


def _images(case: Case) -> set[str]:
    """Images of which no kubelet said that it had to pull them: they were on the disks."""
    found = set()
    for documents in case.manifests.values():
        for document in documents:
            pod = ((document.get("spec") or {}).get("template") or {}).get("spec") or {}
            found |= {container["image"] for container in pod.get("containers") or ()}
    said = "\n".join(case.described("pods").values())
    return {image for image in found if f'Pulling image "{image}"' not in said and f'image "{image}":' not in said}
