"""The one way in: every request from outside takes effect here, at a defined instant, and leaves a line in the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Protocol

from simcluster.api.request import ADMIN, User
from simcluster.engine import AppendLog, Digest
from simcluster.session import plainjson
from simcluster.session.clock import Budget, Clock
from simcluster.session.kinds import KINDS, Effect, Executor, Kind, Request
from simcluster.session.log import Command, answer_digest
from simcluster.surface.protocols import BudgetExceeded, Interrupted, Outcome
from simcluster.world import World

#: Exit status of a command that somebody interrupted (128 + SIGINT), and how a terminal shows it.
INTERRUPTED, CTRL_C = 130, "^C\n"
#: Exit status in the log of a command that raised an error of ours.
CRASHED = -1


class Owner(Protocol):
    """Whose inbox it is: told of what passes, and asked whether it may."""

    def admit(self, request: Request) -> None:
        """Raise if nothing is taken any more."""

    def before_write(self) -> None:
        """A command that may change the world is about to take effect."""

    def answered(self, command: Command, effect: Effect, result: Outcome) -> None:
        """A command has been answered and logged."""


class Inbox:
    """Takes requests one after the other: checks, charges, lets them take effect, interrupts, logs and chains them.

    A request that a budget or somebody's patience cuts off is answered as a terminal would: what was printed so far,
    `^C`, exit status 130. What comes after the budget's end is refused and leaves no trace.

    Args:
        tools: the kinds that are taken here, keys of `KINDS`.
        operator: who asks where a request names nobody.

    Attributes:
        policy: what commands cost in simulated time.
        budget: how many commands and how much time may be used.
        opened_ns: the instant from which the budget counts.
        commands: every outside command so far.
        used: how many of them the budget counts.
        chain: commands and their answers; the world's own digest knows nothing of them.
    """

    def __init__(
        self, world: World, policy: Clock, budget: Budget, owner: Owner, tools: tuple[str, ...], operator: User = ADMIN
    ) -> None:
        self.world = world
        self.policy = policy
        self.budget = budget
        self.opened_ns = world.sim.now
        self.commands: AppendLog[Command] = AppendLog(block=64)
        self.used = 0
        self.chain = Digest()
        self.executor = Executor(world, operator)
        self._owner = owner
        self._tools = tools

    @property
    def ends_ns(self) -> int:
        """The instant at which the budget of time is used up."""
        return self.opened_ns + self.budget.time_ns

    @property
    def digest(self) -> str:
        """The digest of the run: what was committed in the world, what was asked and what was answered."""
        run = Digest()
        run.add(self.world.sim.now, "run", self.world.sim.digest.state + self.chain.state)
        return run.hex()

    def submit(self, request: Request) -> Outcome:
        """Let one request take effect and give its answer.

        Raises:
            ValueError: the request makes no sense, or cannot be logged; nothing has happened.
            BudgetExceeded: the commands or the time of the session are used up; nothing has happened.
        """
        kind = self._kind_of(request)
        self._owner.admit(request)
        if kind.budgeted:
            self._check_budget(self.world.sim.now if request.at_ns is None else request.at_ns)
        return self._served(kind, request)

    def follow(self, seen: Callable[[], bool], step_ns: int, limit_ns: int) -> bool:
        """Let time pass until somebody has news of what he follows; logged as one request of kind `follow`.

        Args:
            step_ns: how far the clock moves between two looks.
            limit_ns: how long at most, simulated.

        Returns:
            Whether there is news; not if the limit or the budget ends it.
        """
        clock, begun_ns = self.executor.clock, self.world.sim.now
        ends_ns = min(begun_ns + limit_ns, self.ends_ns)
        while not (found := seen()) and clock.now < ends_ns:
            clock.advance(min(step_ns, ends_ns - clock.now))
        if clock.now > begun_ns:
            request = Request("follow", f"{clock.now - begun_ns}ns")
            self._log(begun_ns, request, KINDS["follow"].effect(self.world, request), Outcome(""))
        return found

    def _check_budget(self, arrives_ns: int) -> None:
        if self.used >= self.budget.commands:
            raise BudgetExceeded(f"the {self.budget.commands} commands of this episode are used up")
        if arrives_ns >= self.ends_ns:
            raise self.out_of_time()

    def out_of_time(self) -> BudgetExceeded:
        """What to raise when the time is used up."""
        return BudgetExceeded(f"the {self.budget.time} of simulated time of this episode are used up")

    def _kind_of(self, request: Request) -> Kind:
        kind = KINDS.get(request.tool) if request.tool in self._tools else None
        if kind is None:
            raise ValueError(f"unknown tool {request.tool!r}; there are {', '.join(self._tools)}")
        for name in ("text", "target", "stdin", "identity"):
            plainjson.check_text(getattr(request, name), f"{name} of {request.tool}")
        if request.identity and not kind.answerable:
            raise ValueError(f"{request.tool} is not done in anybody's name")
        if (request.at_ns is not None) != self.policy.realtime:
            raise ValueError("a request says when it arrives under a realtime clock, and under no other")
        if request.at_ns is not None and request.at_ns < self.world.sim.now:
            raise ValueError(f"a request cannot arrive at {request.at_ns} ns: it is {self.world.sim.now} ns already")
        kind.check(self.world, request)
        return kind

    def _served(self, kind: Kind, request: Request) -> Outcome:
        clock = self.executor.clock
        effect = kind.effect(self.world, request)
        clock.until(self.ends_ns if kind.budgeted else None)
        at_ns: int | None = None
        try:
            clock.advance(max(0, (request.at_ns or 0) - clock.now) + self.policy.cost_ns(effect.charge))
            at_ns = clock.now
            if effect.writes:
                self._owner.before_write()
            if kind.patient:
                clock.until(min(at_ns + self.policy.patience_ns, self.ends_ns))
            result = kind.execute(self.executor, request)
        except Interrupted:
            result = Outcome("")
        except Exception:  # a mistake of ours: what it has done so far belongs to the run
            self._log(clock.now if at_ns is None else at_ns, request, effect, Outcome("", "", CRASHED))
            raise
        finally:
            cut = clock.cut
            clock.until(None)
        if cut:
            result = Outcome(result.stdout, result.stderr + CTRL_C, INTERRUPTED)
        self._log(clock.now if at_ns is None else at_ns, request, effect, result)
        return result

    def _log(self, at_ns: int, request: Request, effect: Effect, result: Outcome) -> None:
        """Keep a command and chain it with its answer into the digest."""
        tool, text, target, stdin, identity, _ = request
        command = Command(at_ns, tool, target, text, stdin, identity, result.exit_code, answer_digest(result))
        self.chain.add(
            self.world.sim.now, "command", json.dumps(command, ensure_ascii=False).encode("utf-8", "surrogatepass")
        )
        command = command._replace(digest=self.digest)
        self.commands.append(command)
        self.used += effect.counts
        self._owner.answered(command, effect, result)
