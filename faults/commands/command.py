"""Any command in a pod of a workload, or on a node."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, name_of
from simcluster.engine import fork
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import changes, standing, survey
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ready_pods_of

_NODE, _POD = "Node", "Pod"


class CommandParams(Content):
    """A line of shell, or the words of a command; in a pod in `container` or its first one, with `stdin`."""

    run: str | tuple[str, ...]
    container: str = ""
    stdin: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What is executed in a container."""
        return ("sh", "-c", self.run) if isinstance(self.run, str) else self.run


class Command(Mechanism):
    """Somebody runs a command in a container by `kubectl exec`, or as root on a node.

    Symptoms: what the store, the program or the kernel makes of it.
    Shows in: users, roles and settings of the store, records of the broker, files, units, parameters and disciplines
        of the node.
    Undone by: the command that takes it back.
    """

    sheet = DataSheet(
        layer="application",
        family="",
        changes=(
            "store *",
            "broker *",
            "file *",
            "unit/*",
            "sysctl *",
            "clock *",
            "qdisc *",
            "nic/*",
            "cpu *",
            "filter* *",
            "route *",
            "process/*",
            "shm/*",
        ),
        follows="A store refuses what it allowed, or a node's kernel, units and files are otherwise from now on.",
        undone_by=("the opposite command",),
        source="MongoDB, PostgreSQL, MySQL, Redis and Kafka shells; systemd, iproute2, sysctl",
    )
    Params = CommandParams
    params: CommandParams
    kinds = ("Deployment", "StatefulSet", "DaemonSet", _POD, _NODE)

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"what {' '.join(self.params.words)} leaves"

    def check(self, target: FaultTarget) -> None:
        """There must be a node that runs, or a ready pod with the container; in a copy it must do something."""
        self._place(target)
        copy = fork(target)
        before = survey(copy)
        self.inject(copy)
        copy.sim.run_for(1)  # what it set going begins within the instant
        if not self.sheet.root(changes(before, survey(copy))):
            raise ImpossibleTarget(f"{' '.join(self.params.words)} changes nothing on {self.ref}")

    def _place(self, target: FaultTarget) -> None:
        super().check(target)
        if self.ref.kind == _NODE:
            machine = target.machines.get(self.ref.name)
            if machine is None or not machine.power.running:
                raise ImpossibleTarget(f"{self.ref} is no machine that runs")
            return
        names = [one["name"] for one in self._pod(target)["spec"]["containers"]]
        if self.params.container and self.params.container not in names:
            raise ImpossibleTarget(f"{self.ref} has no container {self.params.container!r}; it has {', '.join(names)}")

    def inject(self, target: FaultTarget) -> None:
        """Run it now. Raises ImpossibleTarget: it fails."""
        if self.ref.kind == _NODE:
            run = self.params.run if isinstance(self.params.run, str) else " ".join(self.params.run)
            code, said = target.on_node(self.ref.name, run)
        else:
            code, said = self._exec(target)
        if code:
            why = said.strip()[-300:] or f"exit status {code}, and it says nothing"
            raise ImpossibleTarget(f"{' '.join(self.params.words)} fails on {self.ref}: {why}")

    def still_present(self, target: FaultTarget) -> str:
        """Everything that it changed and that can be looked at is as it left it."""
        return standing(target, self.changed)

    def _exec(self, target: FaultTarget) -> tuple[int, str]:
        client, pod = target.client(self.deployer.user, self.deployer.manager), self._pod(target)
        container = self.params.container or pod["spec"]["containers"][0]["name"]
        try:
            answer = client.execute(self.namespace, name_of(pod), container, self.params.words, self.params.stdin)
        except ApiError as error:
            return 1, error.message
        return int(answer.get("code", 0)), f"{answer.get('stdout', '')}{answer.get('stderr', '')}"

    def _pod(self, target: FaultTarget) -> ApiObject:
        found = self.object(target)
        if self.ref.kind == _POD:
            return found
        pods = ready_pods_of(target.api.store, found)
        if not pods:
            raise ImpossibleTarget(f"{self.ref} has no ready pod")
        return pods[0]
