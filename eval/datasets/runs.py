"""The runs of a run directory, with their files, and their turns as calls of tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.eval.chat.instructions import prompt
from simcluster.eval.process.transcript import Turn, read_jsonl
from simcluster.eval.runner.plan import Record, Run
from simcluster.eval.runner.records import read_results
from simcluster.session import log

FORMATS = ("chat", "steps", "preferences")
#: Arguments of each tool, by the field of a turn that holds them.
TOOLS: dict[str, dict[str, str]] = {
    "kubectl": {"command": "text", "stdin": "stdin"},
    "node": {"node": "target", "command": "text"},
    "container": {"container": "target", "command": "text"},
    "sh": {"command": "text", "stdin": "stdin"},
    "http": {"request": "text"},
    "wait": {"duration": "text"},
    "diagnose": {"diagnosis": "text"},
}
_SAYS = {
    "kubectl": "Run a kubectl command as cluster administrator.",
    "node": "Run a command line as root on a node.",
    "container": "Run a command line in a container.",
    "sh": "Run a command line at the operator's desk: kubectl, ssh, curl, jq, files.",
    "http": "Send a request to the API server, or through its proxy.",
    "wait": "Let time pass.",
    "diagnose": "Submit what the cause is. The last one counts.",
    "finish": "End the work.",
}


class Recorded(NamedTuple):
    """One run on disk.

    Attributes:
        head: of the transcript; turns: what was done and read.
        digests: of the run after each turn.
        path: its files, without their endings.
    """

    run: Run
    record: Record
    head: dict[str, Any]
    turns: list[Turn]
    digests: list[str]
    path: Path

    def name(self) -> dict[str, Any]:
        """What every line begins with."""
        found = {name: self.record[name] for name in ("task", "agent", "seed", "noise", "passed", "digest")}
        return {**found, "task": Path(self.run.task).stem}


def recorded(folder: Path) -> Iterator[Recorded]:
    """The graded runs of a run directory, in the order of their results; the last of each counts.

    Raises:
        RunDirectoryError: it is none.
        ValueError: a file of a run is damaged.
    """
    records = {Run(one["task"], one["agent"], one["seed"]): one for one in read_results(folder)}
    for run, record in records.items():
        path = folder / "runs" / run.name
        files = [path.with_name(f"{run.name}.{ending}.jsonl") for ending in ("transcript", "log")]
        if not record["digest"] or not all(file.exists() for file in files):
            continue
        head, turns = read_jsonl(files[0])
        commands = log.read(files[1]).commands
        if [one.text for one in commands] != [one.text for one in turns]:
            raise ValueError(f"{files[0]}: the transcript and the replay log are not of one run")
        yield Recorded(run, record, head, turns, [one.digest for one in commands], path)


def arguments_of(turn: Turn) -> dict[str, str]:
    """The arguments of a turn's tool; those that are empty are left out."""
    fields = TOOLS.get(turn.tool, {"text": "text"})
    return {name: value for name, field in fields.items() if (value := getattr(turn, field))}


def call_of(turn: Turn, number: int) -> dict[str, Any]:
    """A turn as a call of a tool."""
    function = {"name": turn.tool, "arguments": json.dumps(arguments_of(turn))}
    return {"id": f"call-{number}", "type": "function", "function": function}


def definitions() -> list[dict[str, Any]]:
    """The tools as chat completions take them."""
    found = []
    for name, fields in (*TOOLS.items(), ("finish", {})):
        shape = {"type": "object", "properties": {each: {"type": "string"} for each in fields}}
        shape["required"] = [each for each in fields if each != "stdin"]
        function = {"name": name, "description": _SAYS[name], "parameters": shape}
        found.append({"type": "function", "function": function})
    return found


def messages_of(head: dict[str, Any], turns: list[Turn]) -> list[dict[str, Any]]:
    """A talk: instructions, the page, then each call and its answer."""
    found: list[dict[str, Any]] = [
        {"role": "system", "content": prompt("system")},
        {"role": "user", "content": head["alert"]},
    ]
    for number, turn in enumerate(turns):
        found.append({"role": "assistant", "content": "", "tool_calls": [call_of(turn, number)]})
        failed = f"\n(exit status {turn.exit_code})" if turn.exit_code else ""
        answer = f"{turn.answer}{failed}" or "(no output)"
        found.append({"role": "tool", "tool_call_id": f"call-{number}", "content": answer})
    return found
