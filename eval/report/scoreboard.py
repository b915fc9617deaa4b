"""The table that people look at first: agents across, tasks down, and totals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from simcluster.eval.llm.second import agreement, in_words
from simcluster.eval.report.summary import summarize
from simcluster.eval.statistics import wilson

Record = dict[str, Any]
_GRADES = (("diagnosis", "D"), ("mitigation", "M"), ("trajectory", "T"))
LEGEND = "D diagnosis, M mitigation, T trajectory; - failed"


def scoreboard(records: Sequence[Record]) -> Table:
    """One cell a task and agent with its three grades; several seeds are counted."""
    agents = list(dict.fromkeys(record["agent"] for record in records))
    tasks = list(dict.fromkeys(record["task"] for record in records))
    second = agreement(records)
    caption = LEGEND if second is None else f"{LEGEND}\n{in_words(second)}"
    table = Table(title="simcluster", caption=caption)
    table.add_column("task", no_wrap=True)
    for agent in agents:
        table.add_column(agent, justify="center")
    for task in tasks:
        cells = [_cell([r for r in records if r["task"] == task and r["agent"] == agent]) for agent in agents]
        table.add_row(Path(task).stem, *cells)
    table.add_section()
    summary = summarize(records)
    for label, key in (("passed", "passed"), *((grade, grade) for grade, _ in _GRADES)):
        table.add_row(label, *(f"{summary[agent][key]}/{summary[agent]['runs']}" for agent in agents))
    beyond = {agent: summary[agent].get("impossible") for agent in agents}
    if any(beyond.values()):
        claims = [f"{one['claimed']}/{one['runs']}" if one else "-" for one in beyond.values()]
        table.add_row("claims the impossible", *claims)
    shares = (wilson(summary[agent]["passed"], summary[agent]["runs"]) for agent in agents)
    table.add_row("95 % interval", *(f"{share.low:.0%}-{share.high:.0%}" for share in shares))
    table.add_row("seconds a run", *(f"{summary[a]['seconds'] / max(1, summary[a]['runs']):.1f}" for a in agents))
    return table


def _cell(runs: Sequence[Record]) -> Text:
    text = Text()
    if not runs:
        return Text("-", style="dim")
    for grade, letter in _GRADES:
        passed = [run for run in runs if run[grade]["passed"]]
        shown = (letter if passed else "-") if len(runs) == 1 else f"{letter} {len(passed)}/{len(runs)}"
        style = "green" if len(passed) == len(runs) else "red" if not passed else "yellow"
        text.append(shown + " ", style=f"bold {style}")
    other = sorted({run["outcome"] for run in runs} - {"done"})
    if other:
        text.append(",".join(other), style="magenta")
    return text
