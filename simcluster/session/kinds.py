"""The kinds of requests: how each is checked, charged and done. A new tool or face is one more row of `KINDS`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.api.authentication.identity import service_account
from simcluster.api.encoding.wire import Encoder
from simcluster.api.request import ADMIN, User
from simcluster.engine import SECOND, parse_duration
from simcluster.session import http
from simcluster.session.clock import Charge
from simcluster.session.deadline import DeadlineClock
from simcluster.session.looks import desk_charge, kubectl_charge, only_looks
from simcluster.surface.desk import Call, Desk, Doors
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.nodeshell import NodeShell
from simcluster.surface.protocols import Clock, Outcome, Workstation
from simcluster.world import World
from simcluster.world.deskforward import Proxy, exchanged, forwarded, proxied
from simcluster.world.deskuplink import DeskUplink
from simcluster.world.graphs import UNNAMED, add_users, deploy_graph, graph_in, habits_of

#: The longest single wait that is accepted; longer ones are typing errors more often than wishes.
WAIT_LIMIT_NS = 24 * 3600 * SECOND
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_SERVICE_ACCOUNT = "system:serviceaccount:"


class Request(NamedTuple):
    """What somebody outside wants of a world.

    Attributes:
        tool: the kind, a key of `KINDS`.
        text: the command line; of a wait the duration; of a deployed graph the name of its file; of load and of a
            diagnosis their JSON.
        target: the node; `NAMESPACE/POD` or `NAMESPACE/POD/CONTAINER`; of load `NAMESPACE/SERVICE`; of a graph
            the namespace.
        stdin: what it reads; the text of a graph.
        identity: in whose name (a user of the API server); empty for the cluster's administrator.
        at_ns: simulated instant at which it arrives, under a `realtime` clock, and under no other.
    """

    tool: str
    text: str
    target: str = ""
    stdin: str = ""
    identity: str = ""
    at_ns: int | None = None


class Executor:
    """Does what requests say, by the clock of the command that is under way.

    Attributes:
        uplink: the API server as the desk reaches it.
        operator: who asks where nobody else is named; only the cluster's administrator has a shell on its nodes.
        submission: the last diagnosis: a text or a dictionary whose meaning nobody here knows.
    """

    def __init__(self, world: World, operator: User = ADMIN) -> None:
        self.world = world
        self.operator = operator
        self.clock = DeadlineClock(world)
        self.submission: str | dict[str, Any] | None = None
        self.uplink = DeskUplink(world, self.clock)
        self._encoder = Encoder()
        self._kubectls: dict[str, Kubectl] = {}
        doors = Doors(self._own_kubectl, self.login, self.exchange, self.forwarded, self.proxied)
        self.desk = Desk(self.clock, doors)
        for machine in world.machines.values():
            machine.login_shell = NodeShell(machine, self.clock, None, world.host_programs)

    def kubectl(self, request: Request) -> Outcome:
        """`kubectl TEXT`, without a shell."""
        return self._kubectl_of(request.identity).run(request.text, request.stdin)

    def equip(self, workstation: Workstation) -> None:
        """Put programs of whoever sits there on the desk, such as an editor."""
        self._own_kubectl().workstation = workstation

    def _own_kubectl(self) -> Kubectl:
        return self._kubectl_of("")

    def sh(self, request: Request) -> Outcome:
        """A command line at the desk."""
        return self.desk.sh(request.text, request.stdin)

    def exchange(self, call: Call) -> Outcome:
        """A client of the network (curl, openssl) from the desk, which stands in the network of the machines."""
        server = self.uplink.beside()
        if server is None:
            return Outcome("", f"{call.name}: (7) Failed to connect: No route to host\n", 7)
        answer = exchanged(server, call)
        return Outcome(answer.stdout, answer.stderr, answer.code)

    def forwarded(self, namespace: str, pod: str, argv: Sequence[str], call: Call) -> Outcome:
        """A client over a forwarded port: the connection is made in the pod's network."""
        return forwarded(self.world, namespace, pod, argv, call)

    def proxied(self, argv: Sequence[str], call: Call) -> Outcome:
        """A client of `kubectl proxy` at the desk: the API server is asked as the operator."""
        server = self.uplink.beside() or next(iter(self.world.machines.values()))
        return proxied(server, Proxy(self.uplink, self.operator), argv, call)

    def http(self, request: Request) -> Outcome:
        """One exchange with the API server, as `session.http` writes it."""
        return http.execute(self, request.text, self._encoder)

    def node(self, request: Request) -> Outcome:
        """`ssh TARGET TEXT`, as root."""
        return self.login(request.target, request.text, request.stdin, self.clock)

    def login(self, name: str, command: str, stdin: str, clock: Clock) -> Outcome:
        """Run a command line on a node, as whoever has its key."""
        machine = self.world.machines.get(name) or self.world.machines.get(self.world.network.nodes.get(name, ""))
        if machine is None and _ADDRESS.fullmatch(name):
            return Outcome("", f"ssh: connect to host {name} port 22: No route to host\n", 255)
        if machine is None:
            return Outcome("", f"ssh: Could not resolve hostname {name}: Name or service not known\n", 255)
        if not machine.power.running:
            return Outcome("", f"ssh: connect to host {name} port 22: No route to host\n", 255)
        if self.operator != ADMIN:
            return Outcome("", f"root@{name}: Permission denied (publickey).\n", 255)
        return NodeShell(machine, clock, self._own_kubectl, self.world.host_programs).sh(command, stdin)

    def container(self, request: Request) -> Outcome:
        """A command line for the shell of a container, by `kubectl exec`."""
        namespace, pod, *container = request.target.split("/")
        words = [
            "exec",
            "-n",
            namespace,
            pod,
            *(["-i"] if request.stdin else ()),
            *(["-c", *container] * len(container)),
        ]
        return self._kubectl_of(request.identity).run([*words, "--", "sh", "-c", request.text], request.stdin)

    def wait(self, request: Request) -> Outcome:
        """Let time pass."""
        self.clock.advance(parse_duration(request.text))
        return Outcome("")

    def deploy(self, request: Request) -> Outcome:
        """Apply the manifests of a call graph; prints the names of its Deployments."""
        spec = graph_in(request.stdin, Path(request.text) if request.text else UNNAMED)
        names = deploy_graph(self.world, spec, request.target)
        return Outcome("".join(f"{name}\n" for name in names))

    def load(self, request: Request) -> Outcome:
        """Send users to a Service."""
        namespace, _, service = request.target.partition("/")
        add_users(self.world, namespace, service, _habits(request.text))
        return Outcome("")

    def diagnose(self, request: Request) -> Outcome:
        """Keep what was submitted; the last one counts."""
        self.submission = json.loads(request.text)
        return Outcome("")

    def _kubectl_of(self, identity: str) -> Kubectl:
        if identity not in self._kubectls:
            config = self.world.kubeconfig
            self._kubectls[identity] = Kubectl(self.uplink, self.clock, user=self.who(identity), config=config)
        return self._kubectls[identity]

    def who(self, identity: str) -> User:
        """Whom a name means to the API server; the administrator's means the operator."""
        return self.operator if identity in ("", ADMIN.name) else _user(identity)


def _user(identity: str) -> User:
    """Whom a name means to the API server."""
    if identity.startswith(_SERVICE_ACCOUNT):
        namespace, _, name = identity.removeprefix(_SERVICE_ACCOUNT).partition(":")
        return service_account(namespace, name)
    return User(identity, ("system:authenticated",))


class Effect(NamedTuple):
    """What a request is to the clock and to the record.

    Attributes:
        writes: it may change the world.
        counts: the budget of commands counts it; what belongs to the command before does not.
    """

    charge: Charge
    writes: bool = False
    counts: bool = True


def _of_kubectl(world: World, request: Request) -> Effect:
    charge = kubectl_charge(request.text)
    return Effect(charge, charge == "write")


def _of_http(world: World, request: Request) -> Effect:
    call = http.read(request.text)
    return Effect(call["charge"], http.changes(call), bool(call["counts"]))


def _of_node(world: World, request: Request) -> Effect:
    machine = world.machines.get(request.target)
    return Effect("look", machine is not None and machine.power.running and not only_looks(request.text))


def _of_desk(world: World, request: Request) -> Effect:
    charge = desk_charge(request.text)
    return Effect(charge, charge == "write")


def _of_container(world: World, request: Request) -> Effect:
    return Effect("look")


def _free(world: World, request: Request) -> Effect:
    return Effect("free")


def _following(world: World, request: Request) -> Effect:
    return Effect("free", counts=False)


def _changing(world: World, request: Request) -> Effect:
    return Effect("free", writes=True)


def _anything(world: World, request: Request) -> None:
    """Whatever is wrong with it, the tool itself says."""


def _check_http(world: World, request: Request) -> None:
    http.read(request.text)


def _check_container(world: World, request: Request) -> None:
    parts = request.target.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"a container is NAMESPACE/POD or NAMESPACE/POD/CONTAINER, not {request.target!r}")


def _check_wait(world: World, request: Request) -> None:
    if not 0 <= parse_duration(request.text) <= WAIT_LIMIT_NS:
        raise ValueError(f"wait takes a duration from 0s to 24h, not {request.text}")


def _check_deploy(world: World, request: Request) -> None:
    graph_in(request.stdin, Path(request.text) if request.text else UNNAMED)
    if world.api.store.get("namespaces", "", request.target) is None:
        raise ValueError(f'namespaces "{request.target}" not found')


def _check_load(world: World, request: Request) -> None:
    namespace, _, service = request.target.partition("/")
    habits_of(world, namespace, service, _habits(request.text))


def _habits(text: str) -> dict[str, Any]:
    """What a load says: JSON of a map, or the requests a second alone."""
    try:
        return {"rps": float(text)}
    except ValueError:
        given: dict[str, Any] = json.loads(text)
        return given


def _check_diagnosis(world: World, request: Request) -> None:
    if not isinstance(json.loads(request.text), (str, dict)):
        raise ValueError(f"a diagnosis is a text or a dictionary, not {request.text}")


class Kind(NamedTuple):
    """One kind of request.

    Attributes:
        execute: does it; raises Interrupted where its clock ends it.
        effect: what it is to the clock and to the record.
        check: refuses what makes no sense. Raises ValueError; nothing has happened then.
        budgeted: whether it needs commands and time that are left, and ends where they end.
        patient: whether somebody presses Ctrl-C after the clock's patience.
        answerable: whether it can be done in the name of somebody else than the administrator.
    """

    execute: Callable[[Executor, Request], Outcome]
    effect: Callable[[World, Request], Effect]
    check: Callable[[World, Request], None] = _anything
    budgeted: bool = True
    patient: bool = False
    answerable: bool = False


KINDS: dict[str, Kind] = {
    "kubectl": Kind(Executor.kubectl, _of_kubectl, patient=True, answerable=True),
    "http": Kind(Executor.http, _of_http, _check_http, patient=True),
    "sh": Kind(Executor.sh, _of_desk, patient=True),
    "node": Kind(Executor.node, _of_node, patient=True),
    "container": Kind(Executor.container, _of_container, _check_container, patient=True, answerable=True),
    "wait": Kind(Executor.wait, _free, _check_wait),
    "follow": Kind(Executor.wait, _following, _check_wait),
    "deploy": Kind(Executor.deploy, _changing, _check_deploy),
    "load": Kind(Executor.load, _changing, _check_load),
    "diagnose": Kind(Executor.diagnose, _free, _check_diagnosis, budgeted=False),
}
