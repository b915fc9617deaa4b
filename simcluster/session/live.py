"""A live cluster under one operator: commands in, answers out, time charged, everything logged.

`Live` is what an episode and a sandbox share. It implements `surface.protocols.Session`.
"""

from __future__ import annotations

import shlex

from simcluster.engine import SECOND, AppendLog, Snapshot, parse_duration
from simcluster.session.clock import Budget, Clock
from simcluster.session.log import Command, answer_digest
from simcluster.session.looks import only_looks
from simcluster.surface.kubectl import Kubectl, verb_cost
from simcluster.surface.nodeshell import NodeShell
from simcluster.surface.protocols import BudgetExceeded, CommandResult
from simcluster.world import World

#: A sandbox has no end.
UNLIMITED = Budget(commands=1_000_000_000, time="1000000h")

#: The longest single wait that is accepted; longer ones are typing errors more often than wishes.
WAIT_LIMIT_NS = 24 * 3600 * SECOND


class NodeSession:
    """A root shell on one node, over ssh. Implements `surface.protocols.Shell`."""

    def __init__(self, live: Live, name: str) -> None:
        self._live = live
        self.name = name

    def sh(self, command: str) -> CommandResult:
        """Run one command line on the node."""
        return self._live.run_on_node(self.name, command)


class Live:
    """A cluster, a clock policy, a budget and the record of what was done.

    Attributes:
        world: the cluster.
        policy: what commands cost in simulated time.
        budget: how many commands and how much time may be used.
        commands: every outside command so far.
        opened_ns: the instant from which the budget counts.
    """

    def __init__(self, world: World, policy: Clock, budget: Budget = UNLIMITED) -> None:
        self.world = world
        self.policy = policy
        self.budget = budget
        self.commands: AppendLog[Command] = AppendLog(block=64)
        self.opened_ns = world.sim.now
        self._kubectl: Kubectl = world.kubectl()
        for machine in world.machines.values():
            machine.login_shell = NodeShell(machine, world)

    @property
    def now_s(self) -> float:
        """Simulated seconds since the cluster was started."""
        return self.world.sim.now / 1e9

    @property
    def digest(self) -> str:
        """The digest of everything committed and answered so far."""
        return self.world.sim.digest.hex()

    def kubectl(self, command: str, stdin: str = "") -> CommandResult:
        """Run `kubectl COMMAND` as the cluster's administrator.

        Raises:
            BudgetExceeded: the commands or the time of the episode are used up.
        """
        try:
            kind = verb_cost(shlex.split(command))
        except ValueError:  # unbalanced quotes: kubectl will say so
            kind = "read"
        self._charge(kind)
        if kind == "write":
            self._before_write()
        at_ns = self.world.sim.now
        result = self._kubectl.run(command, stdin)
        return self._answered(at_ns, "kubectl", "", command, stdin, result, write=kind == "write")

    def node(self, name: str) -> NodeSession:
        """A root shell on a node."""
        return NodeSession(self, name)

    def run_on_node(self, name: str, command: str) -> CommandResult:
        """`ssh NAME COMMAND`. Raises BudgetExceeded."""
        self._charge("look")
        at_ns = self.world.sim.now
        machine = self.world.machines.get(name)
        if machine is None:
            error = f"ssh: Could not resolve hostname {name}: Name or service not known\n"
            return self._answered(at_ns, "node", name, command, "", CommandResult("", error, 255))
        if not machine.power.running:
            error = f"ssh: connect to host {name} port 22: No route to host\n"
            return self._answered(at_ns, "node", name, command, "", CommandResult("", error, 255))
        write = not only_looks(command)
        if write:
            self._before_write()
        result = NodeShell(machine, self.world).sh(command)
        return self._answered(at_ns, "node", name, command, "", result, write=write)

    def wait(self, duration: str) -> None:
        """Let simulated time pass.

        Raises:
            ValueError: no Go duration, negative, or over a day.
            BudgetExceeded: the time of the episode is used up.
        """
        length_ns = parse_duration(duration)
        if not 0 <= length_ns <= WAIT_LIMIT_NS:
            raise ValueError(f"wait takes a duration from 0s to 24h, not {duration}")
        self._check_budget()
        at_ns = self.world.sim.now
        left_ns = self.opened_ns + self.budget.time_ns - at_ns
        self.world.advance(min(length_ns, left_ns))
        self._answered(at_ns, "wait", "", duration, "", CommandResult(""))
        if length_ns > left_ns:
            raise BudgetExceeded(f"the {self.budget.time} of simulated time of this episode are used up")

    def snapshot(self) -> Snapshot[Live]:
        """A copy at rest, from which any number of live ones can be restored."""
        return Snapshot(self)

    def _before_write(self) -> None:
        """Called before a command that may change the world."""

    def _charge(self, kind: str) -> None:
        self._check_budget()
        self.world.advance(self.policy.cost_ns(kind))

    def _check_budget(self) -> None:
        if len(self.commands) >= self.budget.commands:
            raise BudgetExceeded(f"the {self.budget.commands} commands of this episode are used up")
        if self.world.sim.now >= self.opened_ns + self.budget.time_ns:
            raise BudgetExceeded(f"the {self.budget.time} of simulated time of this episode are used up")

    def _answered(
        self, at_ns: int, tool: str, target: str, text: str, stdin: str, result: CommandResult, *, write: bool = False
    ) -> CommandResult:
        """Log a command and chain it with its answer into the digest. `write`: it may have changed the world."""
        command = Command(at_ns, tool, target, text, stdin, result.exit_code, answer_digest(result))
        self.commands.append(command)
        self.world.sim.record("command", repr(command))
        return result
