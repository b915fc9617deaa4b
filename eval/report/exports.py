"""Results for other programs: JUnit XML for continuous integration, and ATIF trajectories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.engine import format_rfc3339
from simcluster.eval.isolation.ending import DONE, HARNESS_ERROR
from simcluster.eval.process.transcript import Turn
from simcluster.eval.report.markup import Markup, tag
from simcluster.eval.statistics import Condition
from simcluster.session.log import versions

Record = Mapping[str, Any]
#: The version of Harbor's Agent Trajectory Interchange Format.
ATIF = "ATIF-v1.7"
GRADES = ("diagnosis", "mitigation", "residue", "trajectory")


def junit(records: Sequence[Record]) -> str:
    """A JUnit document: a suite for each agent, a case for each run; what fails says which grades did, and why."""
    suites = []
    for agent in dict.fromkeys(one["agent"] for one in records):
        runs = [one for one in records if one["agent"] == agent]
        errors = sum(one["outcome"] == HARNESS_ERROR for one in runs)  # integers
        failures = sum(not one["passed"] for one in runs) - errors  # integers
        seconds = f"{sum(round(1000 * one['seconds']) for one in runs) / 1000:.3f}"  # integers
        counts = {"tests": len(runs), "failures": failures, "errors": errors, "time": seconds}
        cases = (Markup(f"\n{_case(one)}") for one in runs)
        suites.append(Markup("\n") + tag("testsuite", *cases, name=agent, **counts))
    document = tag("testsuites", *map(Markup, suites), name="simcluster")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def conditions(found: Sequence[Condition], agent: str) -> str:
    """A JUnit document of a gate: a case for each condition."""
    failures = sum(not one.passed for one in found)  # integers
    cases = [
        tag(
            "testcase",
            *([] if one.passed else [tag("failure", one.says, message=one.says)]),
            classname=f"simcluster.gate.{agent}",
            name=one.name,
        )
        for one in found
    ]
    suite = tag(
        "testsuite",
        *(Markup(f"\n{case}") for case in cases),
        name=f"gate {agent}",
        tests=len(found),
        failures=failures,
        errors=0,
    )
    document = tag("testsuites", Markup(f"\n{suite}"), name="simcluster")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _case(record: Record) -> Markup:
    noise = f" noise {record['noise']}" if record.get("noise") else ""
    inside = Markup()
    if record["outcome"] == HARNESS_ERROR:
        inside = tag("error", record["error"], message="the run could not be made")
    elif not record["passed"]:
        failed = [name for name in GRADES if name in record and not record[name]["passed"]]
        message = f"failed: {', '.join(failed) or 'passed'}; ended: {record['outcome']}"
        inside = tag("failure", _reasons(record, failed), message=message)
    names = {"classname": f"simcluster.{record['agent']}", "name": f"{record['task']} seed {record['seed']}{noise}"}
    return tag("testcase", inside, **names, time=f"{record['seconds']:.3f}")


def _reasons(record: Record, failed: Sequence[str]) -> str:
    """Each failed grade as JSON, without what passed."""
    lines = [f"{name}: {json.dumps(_failing(record[name]), ensure_ascii=False)}" for name in failed]
    return "\n".join([*lines, *([record["error"]] if record["outcome"] != DONE else [])])


def _failing(grade: Record) -> Any:
    kept = {key: value for key, value in grade.items() if key not in ("fields", "dimensions", "placement")}
    for key in ("checks", "answers"):
        if key in kept:
            kept[key] = [one for one in kept[key] if not (one.get("passed") or one.get("yes"))]
    return kept


def atif(record: Record, header: Record, turns: Sequence[Turn]) -> dict[str, Any]:
    """One run as a trajectory of Harbor's Agent Trajectory Interchange Format.

    A command is a step of the agent with one tool call and its observation; what the agent thought is not known here.
    Instants are simulated. What the grades say stands in `extra`.
    """
    name = f"{record['task']}.{record['agent']}.{record['seed']}"
    steps: list[dict[str, Any]] = [
        {
            "step_id": 1,
            "timestamp": format_rfc3339(int(header["marks"].get("paged", header["marks"]["start"]))),
            "source": "user",
            "message": header["alert"],
        }
    ]
    steps += [_step(number, turn) for number, turn in enumerate(turns, 2)]
    grades = {name: record[name]["passed"] for name in GRADES if name in record}
    return {
        "schema_version": ATIF,
        "session_id": name,
        "trajectory_id": name,
        "agent": {"name": record["agent"], "version": str(record.get("agent_version") or "unknown")},
        "steps": steps,
        "final_metrics": {"total_steps": len(steps), "extra": {"simulated_s": record["simulated_s"]}},
        "extra": {
            "simcluster": {
                "version": versions()["simcluster"],
                "task": record["task"],
                "seed": record["seed"],
                "noise": record["noise"],
                "outcome": record["outcome"],
                "passed": record["passed"],
                **grades,
                "process": record.get("process"),
            }
        },
    }


def _step(number: int, turn: Turn) -> dict[str, Any]:
    call = f"call_{number}"
    given = {"command": turn.text, "target": turn.target, "stdin": turn.stdin}
    arguments = {key: value for key, value in given.items() if value}
    if turn.tool == "diagnose":
        arguments = {"answer": _parsed(turn.text)}
    return {
        "step_id": number,
        "timestamp": format_rfc3339(turn.at_ns),
        "source": "agent",
        "message": "",
        "tool_calls": [{"tool_call_id": call, "function_name": turn.tool, "arguments": arguments}],
        "observation": {"results": [{"source_call_id": call, "content": turn.answer}]},
        "extra": {"exit_code": turn.exit_code, "writes": turn.writes, "ended": format_rfc3339(turn.ended_ns)},
    }


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
