"""`simcluster kubectl`: one kubectl command, or a script of them, in an incident or in a sandbox."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from simcluster.cli.exits import CheckFailed
from simcluster.cli.incident import open_episode
from simcluster.cli.output import console
from simcluster.eval.episode import Episode
from simcluster.session import log as replay_log
from simcluster.session.replay import repeat
from simcluster.session.sandbox import Sandbox, begun_by
from simcluster.surface.protocols import BudgetExceeded, Outcome
from simcluster.world.profile import Profile

_MANIFESTS = (".json", ".yaml", ".yml")


@click.command(
    "kubectl",
    short_help="Run a kubectl command, or a script of them, in an incident or a sandbox.",
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)
@click.option("--task", default=None, help="Start the incident of this task (an id, or the path of a task file).")
@click.option("--sandbox", "empty", is_flag=True, help="Start a healthy empty cluster.")
@click.option("--nodes", default=3, show_default=True, help="Workers of a sandbox.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--noise", default=None, help="A noise profile.")
@click.option(
    "--session", default=None, type=click.Path(dir_okay=False, path_type=Path), help="Go on where FILE ended."
)
@click.option("--script", default=None, help="A file of command lines; - reads standard input.")
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(**given: Any) -> int:
    """Run `kubectl WORDS` in a simulated cluster; the exit status is kubectl's own.

    \b
      simcluster kubectl --task TASK -- get pods -A
      simcluster kubectl --sandbox --script commands.txt
      simcluster kubectl --session s.jsonl --task TASK -- get pods
      simcluster kubectl --session s.jsonl -- delete pod x

    Every run starts the incident anew and is forgotten afterwards. With --session FILE, the
    commands are kept in FILE (a replay log): the next run with it repeats them, which gives the
    same cluster, and goes on from there (--task or --sandbox is needed the first time only).

    `-f FILE` reads files of this machine, `-f -` standard input. A script has one command a
    line, with or without the word kubectl; `<<END` gives it the lines up to END as standard
    input; `wait 30s` lets simulated time pass; lines that begin with # are skipped.
    """
    options = Options(**given)
    if options.script is not None and options.words:
        raise click.UsageError("give either --script or a command, not both")
    lines = list(_script(options.script)) if options.script is not None else [_typed(options.words)]
    header, past, session = options.header(), None, options.session
    if session is not None and session.exists() and session.stat().st_size:
        if options.task or options.empty:
            raise click.UsageError(f"{session} has begun already: leave out --task and --sandbox")
        past = replay_log.read(session)
        header = past.header
    elif bool(options.task) == options.empty:
        raise click.UsageError("give one of --task TASK and --sandbox")
    live = _open(header)
    differences = repeat(live, past) if past is not None else []
    if differences:
        raise CheckFailed(f"{session}: this is not the session that was recorded: {differences[0]}")
    code = _run(live, lines, echo=options.script is not None)
    if session is not None:
        live.write_log(session, task=header["task"], content=header.get("content", []))
    return code


class Options(NamedTuple):
    """What was asked for on the command line."""

    task: str | None
    empty: bool
    nodes: int
    seed: int
    noise: str | None
    session: Path | None
    script: str | None
    folders: tuple[str, ...]
    words: tuple[str, ...]

    def header(self) -> dict[str, Any]:
        """What a new session says it began with."""
        begun = {"task": self.task, "nodes": self.nodes, "seed": self.seed, "noise": self.noise}
        return {**begun, "content": list(self.folders)}


class Line(NamedTuple):
    """One command line and its standard input."""

    text: str
    stdin: str = ""


def _open(header: dict[str, Any]) -> Episode | Sandbox:
    if header["task"] is None:
        return begun_by(header)
    remarks = console(stderr=True)
    profile = Profile(parameters=header["parameters"]) if "parameters" in header else None
    where = header["noise"], tuple(header.get("content", ())), remarks, header.get("age"), profile
    return open_episode(header["task"], header["seed"], *where)


def _typed(words: Sequence[str]) -> Line:
    """The command on our own command line, with the files it names as standard input."""
    given, stdin = _with_files(list(words))
    if "-" in given and not stdin:
        stdin = sys.stdin.read()
    return Line(shlex.join(given), stdin)


def _script(name: str) -> Iterator[Line]:
    text = sys.stdin.read() if name == "-" else Path(name).read_text()
    rows = iter(text.splitlines())
    for row in rows:
        row = row.strip()
        if not row or row.startswith("#"):
            continue
        row, here, end = row.partition("<<")
        stdin = ""
        for more in rows if here else ():
            if more.strip() == end.strip().strip("'\""):
                break
            stdin += more + "\n"
        words, found = _with_files(shlex.split(row))
        yield Line(shlex.join(words), stdin or found)


def _with_files(words: list[str]) -> tuple[list[str], str]:
    """The words with `-f -` for `-f FILE`, and what stands in the files.

    Files that do not exist stay as they are: kubectl will say so.
    """
    texts: list[str] = []
    result: list[str] = []
    place = -1
    for i, word in enumerate(words):
        named = i > 0 and words[i - 1] in ("-f", "--filename")
        joined = word.startswith("--filename=")
        path = word.partition("=")[2] if joined else word
        found = _manifests(path) if (named or joined) and path != "-" else []
        if not found:
            result.append(word)
            continue
        texts += found
        if place >= 0:  # several files become one
            del result[place]
        place = len(result)
        result.append("--filename=-" if joined else "-")
        if named and sum(w in ("-f", "--filename") for w in result) > 1:
            result[-2:] = []
    return result, "\n---\n".join(texts)


def _manifests(name: str) -> list[str]:
    path = Path(name)
    if path.is_dir():
        return [file.read_text() for file in sorted(path.iterdir()) if file.suffix in _MANIFESTS]
    return [path.read_text()] if path.is_file() else []


def _do(live: Episode | Sandbox, line: Line) -> Outcome:
    first, _, rest = line.text.partition(" ")
    if first == "wait" and rest[:1].isdigit():
        live.wait(rest)
        return Outcome("")
    return live.kubectl(rest if first == "kubectl" else line.text, line.stdin)


def _run(live: Episode | Sandbox, lines: Sequence[Line], *, echo: bool) -> int:
    """Run and print; the exit status of the last command that failed, or 0."""
    code = 0
    for line in lines:
        if echo:
            click.echo(f"$ {line.text}" if line.text.startswith(("kubectl", "wait ")) else f"$ kubectl {line.text}")
        try:
            result = _do(live, line)
        except BudgetExceeded as problem:
            click.echo(str(problem), err=True)
            return 1
        click.echo(result.stdout, nl=False)
        click.echo(result.stderr, nl=False, err=not echo)
        code = result.exit_code or code
    return code
