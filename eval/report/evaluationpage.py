"""The page of an evaluation: leaderboard, plots, every task, groups, comparison of agents, and how they worked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.eval.report.groups import groups_of
from simcluster.eval.report.markup import Markup, Piece, page, section, shown, table, tag
from simcluster.eval.report.plots import Bar, bars
from simcluster.eval.report.summary import summarize
from simcluster.eval.statistics import compare, wilson
from simcluster.tasks.beyond import is_impossible

Record = Mapping[str, Any]
_LETTERS = (("diagnosis", "D"), ("mitigation", "M"), ("trajectory", "T"))


def evaluation_page(records: Sequence[Record], title: str = "Evaluation") -> str:
    """The document.

    Args:
        records: of the results, in any order.
    """
    possible = [one for one in records if not is_impossible(one["task"])]
    summary = summarize([dict(one) for one in records])
    ranked = sorted(summary, key=lambda agent: (-summary[agent]["pass_rate"], agent))
    return page(
        title,
        _leaderboard(summary, ranked),
        _plots(summary, ranked),
        _tasks(possible, ranked),
        _groups(possible, ranked),
        _comparison(possible, ranked),
        section("How the agents worked", *(_work(agent, summary[agent].get("process")) for agent in ranked)),
    )


def _leaderboard(summary: Mapping[str, Record], ranked: Sequence[str]) -> Markup:
    head = ("agent", "runs", "passed", "95 % interval", "diagnosis", "mitigation", "trajectory", "pass^k", "ended")
    rows = []
    for agent in ranked:
        one = summary[agent]
        low, high = one["pass_interval"]
        every = one["pass_every"]
        beyond = one.get("impossible")
        most = max(every, key=int, default="")
        rows.append(
            (
                agent,
                one["runs"],
                f"{one['pass_rate']:.0%}",
                f"{low:.0%} - {high:.0%}",
                *(one[grade] for grade, _ in _LETTERS),
                f"{every[most]:.0%} (k = {most})" if most else "-",
                ", ".join(f"{count} {how}" for how, count in sorted(one["outcomes"].items())),
                *([f"{beyond['claimed']} of {beyond['runs']}"] if beyond else []),
            )
        )
    claimed = ("claims the impossible",) if any(summary[agent].get("impossible") for agent in ranked) else ()
    return section("Leaderboard", table((*head, *claimed), rows))


def _plots(summary: Mapping[str, Record], ranked: Sequence[str]) -> Markup:
    rates = [
        Bar(agent, 100 * summary[agent]["pass_rate"], *(100 * end for end in summary[agent]["pass_interval"]))
        for agent in ranked
    ]
    parts: list[Piece] = [tag("h3", "Share that passed, with Wilson's 95 % interval"), bars(rates, " %", 100.0)]
    for title, measure, name in (
        ("Mean simulated seconds to the end of the work", "sregym", "ttm_s"),
        ("Mean steps", "srezero", "steps"),
    ):
        values = [(agent, (summary[agent].get("process") or {}).get(measure, {}).get(name)) for agent in ranked]
        known = [Bar(agent, value, value, value) for agent, value in values if value is not None]
        if known:
            parts += [tag("h3", title), bars(known)]
    return section("Plots", *parts)


def _tasks(records: Sequence[Record], ranked: Sequence[str]) -> Markup:
    tasks = list(dict.fromkeys(one["task"] for one in records))
    rows = []
    for task in tasks:
        cells = [_cell([one for one in records if one["task"] == task and one["agent"] == agent]) for agent in ranked]
        rows.append((task, *cells))
    note = tag("p", "D diagnosis, M mitigation, T trajectory: runs that passed, of all.", class_="note")
    return section("Tasks", note, table(("task", *ranked), rows))


def _cell(runs: Sequence[Record]) -> Piece:
    if not runs:
        return "-"
    parts: list[Piece] = []
    for grade, letter in _LETTERS:
        passed = sum(bool(one[grade]["passed"]) for one in runs)  # integers
        share = f"{letter} {passed}/{len(runs)} "
        parts.append(tag("span", share, class_="good" if passed == len(runs) else "bad" if not passed else "note"))
    return tag("span", *parts)


def _groups(records: Sequence[Record], ranked: Sequence[str]) -> Markup:
    """Passes by what tasks have in common, and by noise."""
    found: dict[str, dict[str, list[bool]]] = {}
    for one in records:
        for name in groups_of(one):
            found.setdefault(name, {}).setdefault(one["agent"], []).append(bool(one["passed"]))
    rows = []
    for name, by_agent in sorted(found.items()):
        shares = [by_agent.get(agent, []) for agent in ranked]
        rows.append((name, *(str(wilson(each.count(True), len(each))) if each else "-" for each in shares)))
    return section("By application, layer, family, mode and noise", table(("", *ranked), rows))


def _comparison(records: Sequence[Record], ranked: Sequence[str]) -> Markup:
    rows = []
    for one, other in itertools.combinations(ranked, 2):
        sides = [[each for each in records if each["agent"] == agent] for agent in (one, other)]
        try:
            found = compare(sides[0], sides[1], _passed)[0]
        except ValueError as why:  # they have no pair, or several noises
            rows.append((f"{one} / {other}", 0, "-", "-", "-", str(why)))
            continue
        shares = (str(found.first), str(found.second), str(found.difference))
        rows.append((f"{one} / {other}", found.pairs, *shares, found.verdict()))
    head = ("first / second", "pairs", "first", "second", "difference", "McNemar's exact test")
    return section("Comparison, on the same tasks and seeds", table(head, rows))


def _passed(record: Record) -> bool:
    return bool(record["passed"])


def _work(agent: str, process: Any) -> Markup:
    return tag("details", tag("summary", agent), shown(process or {}))
