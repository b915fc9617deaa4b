"""The page of one run: what the world and the agent did on one time line, what was seen, the verdicts, what if."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simcluster.eval.process.steps import steps_of
from simcluster.eval.process.transcript import Turn
from simcluster.eval.report.markup import Markup, Piece, folded, joined, page, section, shown, table, tag, verdict
from simcluster.eval.report.picture import incident_svg
from simcluster.eval.trajectory.verifiers import OUTCOME_AVAILABILITY

Record = Mapping[str, Any]
GRADES = ("diagnosis", "mitigation", "residue", "trajectory")
_MARKS = {"incident": "the incident begins", "paged": "the operator is paged", "finished": "the agent has finished"}


class RunFiles(NamedTuple):
    """Everything that is known of a run.

    Attributes:
        record: of the results.
        way: header and records of the trajectory; empty if it left none.
        work: header and turns of the transcript; empty if it left none.
        counterfactuals: what other writes would have come to, as plain JSON; None if nobody asked.
    """

    record: Record
    way: tuple[Record, Sequence[Record]] = ({}, ())
    work: tuple[Record, Sequence[Turn]] = ({}, ())
    counterfactuals: Any = None


def run_page(files: RunFiles) -> str:
    """The document."""
    record, (head, records), (guide, turns) = files.record, files.way, files.work
    title = f"{record['agent']} on {record['task']}, seed {record['seed']}"
    parts: list[Piece] = [_summary(record)]
    if guide.get("alert"):
        parts.append(section("The page", tag("pre", guide["alert"])))
    if records:
        parts.append(section("Signals", Markup(incident_svg(head, records, "", every_depth=True))))
    parts.append(_time_line(head, records, turns))
    if turns:
        parts.append(_seen(guide, turns))
    parts.append(_verdicts(record))
    if files.counterfactuals:
        parts.append(section("What if", shown(files.counterfactuals)))
    if record.get("process"):
        parts.append(section("How the agent worked", shown(record["process"])))
    return page(title, *parts)


def _summary(record: Record) -> Markup:
    rows: list[tuple[Piece, Piece]] = [("verdict", verdict(bool(record["passed"])))]
    rows += [(name, verdict(bool(record[name]["passed"]))) for name in GRADES if name in record]
    lost = record["trajectory"].get("user_minutes_lost")
    if lost is not None:
        total = record["trajectory"]["user_minutes_lost_total"]
        rows.append(("user-minutes lost", f"{lost} since the page, {total} since the incident"))
    rows.append(("ended", record["outcome"]))
    if record.get("says_solved") is not None:
        rows.append(("claims success", "yes" if record["says_solved"] else "no"))
    rows.append(("commands", str(record["commands"])))
    rows.append(("simulated seconds", f"{record['simulated_s']:.0f}"))
    rows.append(("noise", record["noise"] or "none"))
    error = tag("pre", record["error"]) if record.get("error") else ""
    return joined((table((), rows), error))


def _time_line(head: Record, records: Sequence[Record], turns: Sequence[Turn]) -> Markup:
    """What happened, oldest first: seconds since the beginning of the record."""
    begun_ns = int(head["marks"]["start"]) if head else int(turns[0].at_ns) if turns else 0
    events = sorted([*_of_world(head, records), *_of_agent(turns)], key=_instant)  # the world first, at one instant
    rows = [_event((at_ns - begun_ns) / 1e9, *row) for at_ns, row in events]
    if not rows:
        return section("Time line", tag("p", "This run left no record.", class_="note"))
    top = tag("tr", tag("th", "second", class_="number"), tag("th", "who"), tag("th", "what"))
    return section("Time line", tag("table", top, *rows))


def _instant(event: tuple[int, Any]) -> int:
    return event[0]


def _event(second: float, who: str, what: Piece, class_: str) -> Markup:
    cells = (tag("td", f"{second:.1f}", class_="number"), tag("td", who), tag("td", what))
    return tag("tr", *cells, class_=class_ or None)


def _of_world(head: Record, records: Sequence[Record]) -> Iterator[tuple[int, tuple[str, Piece, str]]]:
    """Marks, and each change of what was observed."""
    for name, words in _MARKS.items():
        if name in (head.get("marks") or {}):
            yield int(head["marks"][name]), ("world", tag("b", words), "world")
    before: dict[str, str] = {}
    for record in records:
        now = _state(record)
        for what, value in now.items():
            if before.get(what, value) != value:
                yield int(record["t_ns"]), ("world", f"{what}: {value}", "world")
        before |= now


def _state(record: Record) -> dict[str, str]:
    """What is said of a record, by what it is about."""
    ready = record["d1"]
    found = {"pods": f"{ready['ready']} of {ready['total']} wanted pods are ready"}
    if ready["availability"] < OUTCOME_AVAILABILITY and ready["not_ready"]:
        found["pods"] += f" (not: {', '.join(ready['not_ready'])})"
    found |= {f"Service {name}": f"{count} ready endpoints" for name, count in record["d2"].items()}
    for name, answer in (record["d3"] or {}).items():
        reached = answer["reachable"]
        found[f"request to {name}"] = "answered" if reached else f"not answered (status {answer['status']})"
    found["control plane"] = ", ".join(record["d4"]["critical_failing"]) or "every critical pod runs"
    found["nodes not ready"] = ", ".join(record["nodes_not_ready"]) or "none"
    return found


def _of_agent(turns: Sequence[Turn]) -> Iterator[tuple[int, tuple[str, Piece, str]]]:
    for turn in turns:
        if turn.tool == "diagnose":
            yield turn.at_ns, ("agent", joined((tag("b", "diagnosis"), tag("pre", _pretty(turn.text)))), "")
        else:
            yield turn.at_ns, ("agent", _command(turn), "write" if turn.writes else "")


def _command(turn: Turn) -> Markup:
    prompt = f"{turn.target}$ " if turn.target else f"{turn.tool} "
    failed = tag("span", f" exit status {turn.exit_code}", class_="bad") if turn.exit_code else ""
    head = joined((tag("code", prompt + turn.text), failed))
    inside = [tag("pre", text) for text in (turn.stdin, turn.answer) if text]
    return folded(head, *inside) if inside else head


def _pretty(text: str) -> str:
    """A diagnosis as people read it: the text itself, or its claims indented."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _seen(guide: Record, turns: Sequence[Turn]) -> Markup:
    """Which places that hold a changed fact the agent looked at, when first, and by which look."""
    begun_ns, rows = int(guide["marks"]["start"]), []
    steps = [step for step in steps_of(list(turns)) if not step.invalid]
    for ways in guide["evidence"]:
        first = next((step for step in steps if step.token in ways), None)
        by = "never" if first is None else f"at {(first.at_ns - begun_ns) / 1e9:.1f} s by {first.token}"
        rows.append((" or ".join(ways), tag("span", by, class_="bad" if first is None else "good")))
    writes = [
        (step.token, ", ".join(step.aims) or "-", f"{(step.at_ns - begun_ns) / 1e9:.1f}")
        for step in steps
        if step.writes
    ]
    return section(
        "What was seen and done",
        table(("a look that shows what was changed", "made"), rows),
        table(("write", "aimed at", "second"), writes) if writes else tag("p", "Nothing was written.", class_="note"),
    )


def _verdicts(record: Record) -> Markup:
    parts: list[Piece] = []
    for name in GRADES:
        grade = record.get(name)
        if grade is not None:
            rest = {key: value for key, value in grade.items() if key != "passed"}
            head = joined((f"{name}: ", verdict(bool(grade["passed"]))))
            parts.append(folded(head, shown(rest)) if grade["passed"] else joined((tag("h3", head), shown(rest))))
    return section("Verdicts", *parts)
