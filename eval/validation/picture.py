"""Pictures of traffic: one run over time, collapse by load and trigger, the threshold of recovery."""

from __future__ import annotations

from pathlib import Path

from simcluster.eval.validation.chart import Line, Panel, chart_svg, map_svg
from simcluster.eval.validation.context import Context
from simcluster.eval.validation.storms import storm_collapses, storm_graph, storm_recovers
from simcluster.models.traffic.graph import GraphSpec, Result, spec_of
from simcluster.models.traffic.graph.events import Event


def run_svg(result: Result, spec: GraphSpec) -> str:
    """One run: what the loads asked and got, how long it took, what waited."""
    seconds = [index * result.window_ns / 1e9 for index in range(max(len(rows) for rows in result.load.values()))]
    marks = [(event.at / 1e9, _mark(event)) for event in spec.events]
    flow: list[Line] = []
    good: list[Line] = []
    latency: list[Line] = []
    for name, rows in result.load.items():
        lengths = [result.window_seconds(index) for index in range(len(rows))]
        for what, panel in (("attempts", flow), ("arrivals", good), ("ok", good)):
            rates = [getattr(row, what) / length for row, length in zip(rows, lengths, strict=True)]
            called = {"attempts": "attempts", "arrivals": "requests", "ok": "goodput"}[what]
            panel.append(Line(f"{name}: {called}", list(zip(seconds, rates, strict=True))))
        for share in (0.5, 0.99):
            values = [row.latency.quantile(share) / 1e6 for row in rows]
            latency.append(Line(f"{name}: p{share * 100:g}", list(zip(seconds, values, strict=True))))
    queues = [
        Line(name, [(x, float(row.queue)) for x, row in zip(seconds, rows, strict=True)])
        for name, rows in result.services.items()
    ]
    panels = [
        Panel("attempts a second", flow, marks),
        Panel("requests, and those answered in time, a second", good, marks),
        Panel("latency of successes, ms", latency, marks),
        Panel("waiting for a worker", queues, marks),
    ]
    return chart_svg(f"{result.name} ({result.engine}, seed {result.seed})", panels)


def _mark(event: Event) -> str:
    """What an event does, in two words."""
    if event.rate is not None:
        return f"rate {event.rate.rate:g}/s"
    if event.capacity is not None:
        return f"capacity x {event.capacity.factor:g}"
    return f"load x {event.load.factor:g}" if event.load is not None else event.kind


def draw_all(folder: Path, engine: str, quick: bool) -> list[Path]:
    """The figures of the validation; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    context = Context("figures", engine, quick, [])
    shed = [{"at": "8s", "rate": {"name": "users", "rate": 60}}, {"at": "14s", "rate": {"name": "users", "rate": 10}}]
    graph = {**storm_graph(600.0, 24.0, 0.25, events=shed), "name": "collapse over time"}
    drawn = {"collapse.svg": run_svg(context.run(graph), spec_of(graph))}
    drawn["load_trigger.svg"] = _load_trigger(context)
    drawn["recovery.svg"] = _recovery(context)
    files = []
    for name, text in drawn.items():
        (folder / name).write_text(text)
        files.append(folder / name)
    return files


def _load_trigger(context: Context) -> str:
    loads = (0.15, 0.25, 0.35, 0.5, 0.7, 0.8)
    triggers = (0.03, 0.05, 0.07, 0.1, 0.13, 0.18, 0.25, 0.35, 0.5)
    seeds = context.size(6, 3)
    shares = [
        [sum(storm_collapses(context, rho, hurt, seed) for seed in range(seeds)) / seeds for rho in loads]
        for hurt in reversed(triggers)
    ]
    rows = [f"{hurt * 1e3:.0f} ms" for hurt in reversed(triggers)]
    columns = [f"{rho:g}" for rho in loads]
    title = f"share of {seeds} runs that collapse for good (mu 1000/s, time-out 50 ms, 31 attempts)"
    return map_svg(title, columns, rows, shares, "load before the trigger, of capacity", "at a tenth of the CPU for")


def _recovery(context: Context) -> str:
    count = context.size(8, 3)
    points = []
    for rate in (0.0, 10.0, 20.0, 28.0, 30.0, 31.0, 32.0, 34.0, 36.0, 45.0, 60.0):
        events = [{"at": "2.5s", "rate": {"name": "users", "rate": rate}}]
        graph = storm_graph(600.0, 100.0, 0.25, events=events)
        good = sum(storm_recovers(context, graph, seed) for seed in range(count))
        points.append((rate, good / count))
    panel = Panel(
        f"share of {count} runs whose queue is empty within 100 s",
        [Line("recovers", points)],
        [(1000.0 / 31.0, "mu/31 = 32.3/s")],
    )
    title = "a retry storm (mu 1000/s, 31 attempts) after the load is cut to so many requests a second"
    return chart_svg(title, [panel], "/s")
