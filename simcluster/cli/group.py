"""The group of commands, loaded lazily, and what becomes of their exceptions."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import simcluster
from simcluster.cli.exits import INTERNAL, INTERRUPTED, USAGE

#: Command -> one line. The function is `command` in `commands/NAME.py`.
COMMANDS = {
    "bench": "Measure how fast the simulation runs here.",
    "calibrate": "Fit models to recordings and say how far off they are.",
    "check": "Prove tasks, faults and files as CI does.",
    "compare": "Compare two agents on the same tasks and seeds.",
    "doctor": "Say what is missing for which feature.",
    "eval": "Run agents on tasks and show a scoreboard.",
    "explain": "Explain a recorded run: its grade, and what each write cost users.",
    "gate": "Fail unless an evaluation is good enough.",
    "export": "Write an incident as a case of a data set, or runs as training data.",
    "import": "Make an application of plain manifests, and of traces.",
    "generate": "Make a synthetic application of any size.",
    "kubectl": "Run kubectl commands in an incident or a sandbox.",
    "learn": "Learn failure modes: predict, run, see, understand.",
    "list": "List apps, faults, noises, tasks, suites, agents or lessons.",
    "mcp": "Be an MCP server for an incident, over standard input and output.",
    "record": "Record what a cluster does, or verify a recording.",
    "report": "Write pages, JUnit, JSONL and ATIF of an evaluation.",
    "run": "Run one agent on one task and explain the grade.",
    "score": "Score a recorded run directory again.",
    "serve": "Serve a cluster on loopback to kubectl and any other client.",
    "ssh": "Run a command on a node of a served cluster.",
    "shell": "Be the operator: a prompt with kubectl, ssh, wait, fork, back.",
    "traffic": "Run a call graph: queues, retries, collapse.",
    "validate": "Check the traffic models against theory and published experiments.",
}


def _content() -> Any:
    """The module of content's errors; imported when something is wrong, so that `--help` need not wait for it."""
    return import_module("simcluster.engine.content")


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        with import_module("simcluster.engine.loading").loading():
            module = import_module(f"simcluster.cli.commands.{cmd_name}")
        found: click.Command = module.command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown command names the nearest ones."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _content().UnknownName("command", args[0], sorted(COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of `--help`, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(simcluster.__version__, prog_name="simcluster")
def group() -> None:
    """A Kubernetes production cluster that fails on purpose, inside one Python process."""


def run_group(argv: Sequence[str] | None) -> int:
    """Run one command line and translate what it raises into an exit status."""
    try:
        result = group.main(args=None if argv is None else list(argv), prog_name="simcluster", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except Exception as problem:
        return _report(problem)
    return result if isinstance(result, int) else 0


def _report(problem: Exception) -> int:
    """One line for what the user can mend, a traceback for what only we can."""
    content = _content()
    code = getattr(problem, "exit_code", None)
    if isinstance(problem, (content.UnknownName, content.ContentError)) or _of_a_file(problem):
        code = USAGE
    if isinstance(code, int):
        click.echo(f"simcluster: {problem}", err=True)
        return code
    traceback.print_exception(problem, file=sys.stderr)
    click.echo("simcluster: internal error; the traceback above says where", err=True)
    return INTERNAL


def _of_a_file(problem: Exception) -> bool:
    """Whether a file that somebody named cannot be read or written."""
    return isinstance(problem, OSError) and problem.filename is not None
