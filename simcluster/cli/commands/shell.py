"""`simcluster shell`: be the operator."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

import click
from pydantic import BaseModel
from rich.console import Console
from rich.markup import escape

from simcluster.cli import completing
from simcluster.cli.age import age_option
from simcluster.cli.exits import CheckFailed
from simcluster.cli.incident import open_episode
from simcluster.cli.output import console
from simcluster.cli.processtitle import hide_arguments
from simcluster.cli.profile import profile_option
from simcluster.cli.terminal import Terminal, candidates
from simcluster.engine import Snapshot, format_rfc3339
from simcluster.engine.content import nearest
from simcluster.eval.episode import Episode
from simcluster.models.userland.grammar import is_unfinished
from simcluster.models.userland.table import TOOLS
from simcluster.session.looks import desk_charge
from simcluster.surface.protocols import BudgetExceeded, Outcome
from simcluster.world.profile import Profile

VERBS = {
    "wait": "wait 30s              let simulated time pass",
    "alert": "alert                 what paged you",
    "fork": "fork [NAME]           remember this instant",
    "back": "back [NAME]           return to the last (or the named) remembered instant",
    "diagnose": "diagnose TEXT         submit what is wrong",
    "finish": "finish                end the work and be graded",
    "help": "help                  this list",
    "exit": "exit                  leave without a grade",
}
_DESK = """Everything else is a command line of the desk's shell: kubectl (also k), ssh NODE, jq, curl, pipes, loops,
files. `ssh NODE` and `kubectl exec -it POD -- sh` alone open a shell there; `exit` leaves it. `kubectl edit` opens your
editor. Ctrl-C cancels a line."""
_WAIT = re.compile(r"wait(\s+\d[\w.]*|\s+[a-z]+)?$")
_EXEC = re.compile(r"(?:kubectl|k)\s+(?:.*\s)?exec\s")


@click.command("shell", short_help="Be the operator: a desk with kubectl, ssh, jq, pipes; wait, fork, back.")
@click.argument("task", shell_complete=completing.tasks)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--noise", default=None, help="A noise profile.")
@age_option
@profile_option
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--blind", is_flag=True, help="Name the task nowhere before the end.")
def command(
    task: str,
    seed: int,
    noise: str | None,
    age: str | None,
    profile: Profile | None,
    folders: tuple[str, ...],
    blind: bool,
) -> None:
    """Sit down at the operator's desk in the incident of TASK (an id, or the path of a task file)."""
    remarks = console(stderr=True)
    if blind:
        hide_arguments("simcluster shell")
    try:
        episode = open_episode(task, seed, noise, folders, remarks, age, profile, blind=blind)
    except CheckFailed:
        if blind:
            raise CheckFailed("the task cannot be started") from None
        raise
    remarks.print(f"[bold red]{escape(episode.alert)}[/]\n[dim]help lists what you can do[/]")
    prompt = Prompt(episode, remarks)
    while not prompt.closed:
        line = prompt.ask()
        if line is None:
            return
        prompt.do(line)
    if prompt.passed is False:
        raise CheckFailed("the incident is not solved")


class Editor:
    """The editor of whoever sits there (`surface.protocols.Workstation`)."""

    def edit(self, text: str, suffix: str) -> str:
        """What $EDITOR makes of a temporary file; the same text if it was not saved."""
        changed = click.edit(text, extension=suffix)
        return text if changed is None else changed


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
        self._terminal = Terminal(self._complete)
        if self._terminal.interactive:
            episode.inbox.executor.equip(Editor())

    def ask(self) -> str | None:
        """One command, which may have several lines; None at the end of input."""
        instant = format_rfc3339(self.episode.world.sim.now)[11:19]
        line = self._terminal.read(f"{instant} $ ")
        while line and is_unfinished(line):
            more = self._terminal.read("> ")
            if more is None or (more == "" and self._terminal.interactive):
                return line if more is None else ""
            line += "\n" + more
        return line

    def do(self, line: str) -> None:
        """Do one command."""
        verb, _, rest = line.strip().partition(" ")
        try:
            if verb in VERBS and (verb != "wait" or _WAIT.match(line.strip())):
                getattr(self, f"_{verb}")(rest.strip())
            elif verb:
                self._typed(line)
        except (BudgetExceeded, ValueError) as problem:
            click.echo(str(problem))

    def _typed(self, line: str) -> None:
        words = _words(line)
        if (
            words[:1] == ["ssh"]
            and self._terminal.interactive
            and len([w for w in words if not w.startswith("-")]) == 2
        ):
            self._inside(words[-1].rpartition("@")[2], "node", f"root@{words[-1].rpartition('@')[2]}:~# ")
            return
        place = _shell_in(words) if self._terminal.interactive and _EXEC.match(line.strip()) else ""
        if place:
            self._inside(place, "container", "/ # ")
            return
        result = self.episode.sh(line)
        self._show(result)
        if result.exit_code == 127 and words:
            offer = nearest(words[0], ("kubectl", *VERBS, *TOOLS))
            if offer:
                click.echo(f"did you mean {', '.join(offer[:3])}?")

    def _show(self, result: Outcome) -> None:
        text = re.sub(r"^bash: line \d+: ", "bash: ", str(result), flags=re.MULTILINE)
        click.echo(text, nl=False)
        if text and not text.endswith("\n") and self._terminal.interactive:
            click.echo()

    def _inside(self, place: str, tool: str, prompt: str) -> None:
        """A shell on a node or in a container, until `exit`."""
        folder = ""
        while (line := self._terminal.read(prompt)) is not None and line.strip() not in ("exit", "logout"):
            if not line.strip():
                continue
            begun = f"cd {shlex.quote(folder)} && " if folder else ""
            if re.match(r"cd(\s|$)", line.strip()):
                moved = self.episode.submit(tool, f"{begun}{line.strip()} && pwd", place)
                folder = moved.stdout.strip() if not moved.exit_code else folder
                click.echo(moved.stderr, nl=False)
                continue
            self._show(self.episode.submit(tool, begun + line, place))

    def _complete(self, line: str) -> list[str]:
        return candidates(line, VERBS, TOOLS, self._names)

    def _names(self, kind: str, namespace: str) -> Iterable[str]:
        """Names of objects, looked up beside the record: what somebody could have typed is no command."""
        store = self.episode.world.api.store
        try:
            found = store.objects(kind)
        except (KeyError, ValueError):
            return []
        names = [each["metadata"] for each in found]
        return sorted(
            {
                str(name["name"])
                for name in names
                if name.get("namespace", namespace) in ("", namespace) or not namespace
            }
        )

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
        if not self._terminal.asks("end the work and be graded?"):
            return
        task, done = self.episode.task, changes(self.episode)
        report = self.episode.finish()
        click.echo(report.explain())
        click.echo(lesson(task.truth.mechanism, task.reference_fixes, done))
        self.closed, self.passed = True, report.passed

    def _help(self, rest: str) -> None:
        click.echo("\n".join(VERBS.values()) + f"\n\n{_DESK}")

    def _exit(self, rest: str) -> None:
        self.closed = True


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _shell_in(words: list[str]) -> str:
    """NAMESPACE/POD[/CONTAINER] of `kubectl exec -it POD -- sh`; empty if it runs anything else."""
    if "--" not in words or words[words.index("--") + 1 :] not in (
        ["sh"],
        ["bash"],
        ["ash"],
        ["/bin/sh"],
        ["/bin/bash"],
    ):
        return ""
    head = words[1 : words.index("--")]
    if not any(word in ("-it", "-ti") for word in head) and not ({"-i", "-t"} <= set(head)):
        return ""
    namespace, container, plain = "default", "", []
    rest = [word for word in head if word not in ("-it", "-ti", "-i", "-t")]
    while rest:
        word = rest.pop(0)
        if word in ("-n", "--namespace") and rest:
            namespace = rest.pop(0)
        elif word in ("-c", "--container") and rest:
            container = rest.pop(0)
        elif word.startswith("--namespace="):
            namespace = word.partition("=")[2]
        elif not word.startswith("-"):
            plain.append(word)
    if len(plain) != 2 or "/" in plain[1]:
        return ""
    return f"{namespace}/{plain[1]}" + (f"/{container}" if container else "")


def changes(episode: Episode) -> list[str]:
    """The commands of the operator that may have changed something, with their instants."""
    found = []
    for each in episode.commands:
        if (each.tool == "sh" and desk_charge(each.text) == "write") or each.tool in ("kubectl", "node"):
            found.append(f"{format_rfc3339(each.at_ns)[11:19]}  {each.text.splitlines()[0][:100]}  -> {each.exit_code}")
    return found


def lesson(mechanism: str, fixes: object, done: list[str]) -> str:
    """What it was, how it could have been mended, and what the operator did."""
    lines = ["", f"cause: {mechanism}"]
    steps = fixes[0] if isinstance(fixes, (list, tuple)) and fixes else ()
    for step in steps if isinstance(steps, (list, tuple)) else ():
        said = step.model_dump(exclude_defaults=True) if isinstance(step, BaseModel) else {}
        shown = ", ".join(f"{name} {value}" for name, value in said.items() if value)
        lines.append(f"a fix:  {shown.replace(chr(10), ' ')[:160]}")
    lines.append("your changes:" if done else "you changed nothing")
    return "\n".join([*lines, *(f"  {each}" for each in done)])
