"""`simcluster shell`: be the operator."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.markup import escape

from simcluster.cli.age import age_option
from simcluster.cli.exits import CheckFailed
from simcluster.cli.incident import open_episode
from simcluster.cli.output import console
from simcluster.engine import Snapshot, format_rfc3339
from simcluster.engine.content import nearest
from simcluster.eval.episode import Episode
from simcluster.surface.protocols import BudgetExceeded

VERBS = {
    "kubectl": "kubectl ARGS          as always (also: k); end with `<<END` to give standard input up to a line END",
    "ssh": "ssh NODE COMMAND      a root shell on a node",
    "wait": "wait 30s              let simulated time pass",
    "alert": "alert                 what paged you",
    "fork": "fork [NAME]           remember this instant",
    "back": "back [NAME]           return to the last (or the named) remembered instant",
    "diagnose": "diagnose TEXT         submit what is wrong",
    "finish": "finish                end the work and be graded",
    "help": "help                  this list",
    "exit": "exit                  leave without a grade",
}


@click.command("shell", short_help="Be the operator: a prompt with kubectl, ssh, wait, fork, back.")
@click.argument("task")
@click.option("--seed", default=0, show_default=True)
@click.option("--noise", default=None, help="A noise profile.")
@age_option
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
def command(task: str, seed: int, noise: str | None, age: str | None, folders: tuple[str, ...]) -> None:
    """Open a prompt in the incident of TASK (an id, or the path of a task file)."""
    remarks = console(stderr=True)
    episode = open_episode(task, seed, noise, folders, remarks, age)
    remarks.print(f"[bold red]{escape(episode.alert)}[/]\n[dim]help lists what you can do[/]")
    prompt = Prompt(episode, remarks)
    while not prompt.closed:
        line = prompt.ask()
        if line is None:
            return
        prompt.do(line)
    if prompt.passed is False:
        raise CheckFailed("the incident is not solved")


class Prompt:
    """Reads lines, does them, remembers instants.

    Attributes:
        closed: whether the work has ended.
        passed: the grade, once there is one.
    """

    def __init__(self, episode: Episode, remarks: Console) -> None:
        self.episode = episode
        self.remembered: dict[str, Snapshot[Episode]] = {}
        self.closed = False
        self.passed: bool | None = None
        self._remarks = remarks

    def ask(self) -> str | None:
        """One line, None at the end of input."""
        if sys.stdin.isatty():
            instant = format_rfc3339(self.episode.world.sim.now)[11:19]
            self._remarks.print(f"[bold cyan]{instant}[/] $ ", end="")
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None

    def do(self, line: str) -> None:
        """Do one line."""
        verb, _, rest = line.strip().partition(" ")
        verb = "kubectl" if verb == "k" else verb
        if not verb:
            return
        if verb not in VERBS:
            offer = nearest(verb, VERBS)
            click.echo(f"unknown command {verb!r}" + (f"; did you mean {', '.join(offer)}?" if offer else "; try help"))
            return
        try:
            getattr(self, f"_{verb}")(rest.strip())
        except (BudgetExceeded, ValueError) as problem:
            click.echo(str(problem))

    def _kubectl(self, rest: str) -> None:
        rest, here, end = rest.partition(" <<")
        stdin = ""
        while here:
            line = sys.stdin.readline()
            if not line or line.rstrip("\n") == end.strip():
                break
            stdin += line
        click.echo(str(self.episode.kubectl(rest, stdin)), nl=False)

    def _ssh(self, rest: str) -> None:
        node, _, text = rest.partition(" ")
        click.echo(str(self.episode.node(node).sh(text)), nl=False)

    def _wait(self, rest: str) -> None:
        self.episode.wait(rest or "30s")

    def _alert(self, rest: str) -> None:
        click.echo(self.episode.alert)

    def _fork(self, rest: str) -> None:
        name = rest or str(len(self.remembered) + 1)
        self.remembered.pop(name, None)
        self.remembered[name] = self.episode.snapshot()
        click.echo(f"remembered {name}")

    def _back(self, rest: str) -> None:
        if not self.remembered:
            click.echo("nothing is remembered: fork first")
            return
        name = rest or list(self.remembered)[-1]
        if name not in self.remembered:
            click.echo(f"nothing is remembered as {name!r}; there are: {', '.join(self.remembered)}")
            return
        self.episode = self.remembered[name].restore()
        click.echo(f"back at {name}, {format_rfc3339(self.episode.world.sim.now)}")

    def _diagnose(self, rest: str) -> None:
        self.episode.diagnose(rest)
        click.echo("submitted")

    def _finish(self, rest: str) -> None:
        report = self.episode.finish()
        click.echo(report.explain())
        self.closed, self.passed = True, report.passed

    def _help(self, rest: str) -> None:
        click.echo("\n".join(VERBS.values()))

    def _exit(self, rest: str) -> None:
        self.closed = True
