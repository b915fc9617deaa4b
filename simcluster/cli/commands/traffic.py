"""`simcluster traffic`: a bare call graph, run and shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json

BARS = " ▁▂▃▄▅▆▇█"
ROWS_SHOWN = 24
#: Seconds between two lines of progress where nobody looks at a terminal.
PROGRESS_S = 10.0


@click.command("traffic", short_help="Run a call graph: queues, retries, collapse.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--engine", type=click.Choice(["aggregate", "exact"]), default="exact", show_default=True)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="From which everything random follows."
)
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Independent runs, from SEED on.")
@click.option("--plot", default=None, type=click.Path(path_type=Path), help="Draw the first run as an SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (a list of them with --seeds).")
def command(spec: Path, engine: str, seed: int, seeds: int, plot: Path | None, as_json: bool) -> None:
    """Run the call graph of the YAML file SPEC and show its series and totals.

    docs/TRAFFIC.md describes the language and the keys of --json; examples lie in models/traffic/graph/examples.
    """
    from simcluster.eval.validation.context import has_aggregate, run_graph
    from simcluster.eval.validation.picture import run_svg
    from simcluster.models.traffic.graph import load_spec
    from simcluster.models.traffic.graph.limits import refuse_for

    graph = load_spec(spec)
    refuse_for(engine, graph, spec)
    if plot is not None and not plot.absolute().parent.is_dir():
        raise click.BadParameter(f"{plot.parent} is no folder", param_hint="--plot")
    if engine == "aggregate" and not has_aggregate():
        raise CheckFailed("the aggregate engine is not installed here; run with --engine exact")
    results = []
    with console(stderr=True).status("running") as status:
        for number in range(seeds):
            status.update(f"running seed {seed + number}")
            results.append(run_graph(engine, graph, seed + number, _progress(engine, graph, seed + number, status)))
    if plot is not None:
        plot.write_text(run_svg(results[0], graph))
    if as_json:
        print_json(results[0].to_dict() if seeds == 1 else [result.to_dict() for result in results])
        return
    _show(results[0], graph)
    if seeds > 1:
        _show_many(results)


def _progress(engine: str, graph: Any, seed: int, status: Any) -> Callable[[int, Sequence[float]], bool] | None:
    """Says after every window how far a run is: where the spinner turns, or every few seconds as a line."""
    from simcluster.models.traffic.exact import ExactRun

    if engine == "exact" and ExactRun(graph).strategy() != ExactRun(graph).strategy(asked=True):
        return None  # a loop that does not stop at windows
    err, shown_s = console(stderr=True), [time.monotonic()]
    whole = graph.run.duration / 1e9

    def tell(windows: int, waiting: Sequence[float]) -> bool:
        words = (
            f"seed {seed}: {windows * graph.run.window / 1e9:g} of {whole:g} s simulated, {sum(waiting):,.0f} waiting"
        )
        status.update(words)
        if not err.is_terminal and time.monotonic() - shown_s[0] >= PROGRESS_S:
            shown_s[0] = time.monotonic()
            click.echo(words, err=True)
        return False

    return tell


def _show(result: Any, graph: Any) -> None:
    out = console()
    engine = f"{result.engine} ({', '.join(result.strategies)})"
    out.print(f"{escape(result.name)}: {result.end_ns / 1e9:g} s simulated, engine {engine}, seed {result.seed}")
    if result.stopped:
        out.print(f"stopped early: {result.stopped}", style="red")
    for event in graph.events:
        lasts = f" for {event.lasts / 1e9:g} s" if event.lasts else ""
        effect = ", ".join(f"{key} {value}" for key, value in getattr(event, event.kind).model_dump().items())
        effect = escape(effect)
        out.print(f"  {event.at / 1e9:g} s{lasts}: {event.kind} ({effect})")
    out.print(_series(result))
    for name, rows in result.load.items():
        for what in ("attempts", "ok"):
            values = [getattr(row, what) / result.window_seconds(index) for index, row in enumerate(rows)]
            label = f"{name} {'goodput' if what == 'ok' else what}"
            out.print(f"{escape(f'{label:<24}')}{_spark(values)} max {max(values):.4g}/s")
    for name, windows in result.services.items():
        values = [row.queue for row in windows]
        out.print(f"{escape(f'{name} queue'.ljust(24))}{_spark(values)} max {max(values):.4g}")
    out.print(_load_totals(result))
    out.print(_service_totals(result))
    if result.edge_totals:
        out.print(_edge_totals(result))


def _spark(values: list[float], width: int = 60) -> str:
    """Values as bars, the highest of each group."""
    step = max(1, -(-len(values) // width))
    groups = [max(values[index : index + step]) for index in range(0, len(values), step)]
    peak = max(groups) or 1.0
    return "".join(BARS[min(8, int(8 * value / peak + 0.5))] for value in groups)


def _series(result: Any) -> Table:
    """Up to `ROWS_SHOWN` windows, equally spaced."""
    loads, services = list(result.load), list(result.services)
    figures = ("req/s", "att/s", "ok/s", "p50", "p99")
    heads = [f"{name} {what}" for name in loads for what in figures] + [f"{name} queue" for name in services]
    table = Table("t (s)", *map(escape, heads))
    count = len(next(iter(result.load.values())))
    for index in range(0, count, max(1, -(-count // ROWS_SHOWN))):
        seconds = result.window_seconds(index)
        cells = [f"{index * result.window_ns / 1e9:g}"]
        for name in loads:
            row = result.load[name][index]
            cells += [f"{row.arrivals / seconds:.4g}", f"{row.attempts / seconds:.4g}", f"{row.ok / seconds:.4g}"]
            cells += [_time(row.latency.quantile(share)) if row.ok else "-" for share in (0.5, 0.99)]
        cells += [f"{result.services[name][index].queue:.4g}" for name in services]
        table.add_row(*cells)
    return table


def _time(ns: float) -> str:
    if ns >= 1e9:
        return f"{ns / 1e9:.3g} s"
    return f"{ns / 1e6:.3g} ms" if ns >= 1e6 else f"{ns / 1e3:.3g} us"


def _load_totals(result: Any) -> Table:
    table = Table("load", "req/s", "att/s", "att/req", "ok/s", "failed", "mean", "p50", "p90", "p99", "p99.9",
                  title=f"totals from {result.warmup_ns / 1e9:g} s on")  # fmt: skip
    seconds = result.measured_seconds() or 1.0
    for name, total in result.load_totals.items():
        failed = _failed(total.failed, seconds)
        quantiles = [_time(total.latency.quantile(share)) for share in (0.5, 0.9, 0.99, 0.999)]
        rates = [f"{value / seconds:.5g}" for value in (total.arrivals, total.attempts, total.ok)]
        rates.insert(2, f"{total.attempts / total.arrivals:.3g}" if total.arrivals else "-")
        table.add_row(escape(name), *rates, failed, _time(total.latency.mean), *quantiles)
    return table


def _service_totals(result: Any) -> Table:
    table = Table(
        "service", "att/s", "rejected/s", "served/s", "late/s", "queue", "busy", "used", "wait", "p99 sojourn", "hits"
    )
    seconds = result.measured_seconds() or 1.0
    for name, total in result.service_totals.items():
        rates = [f"{v / seconds:.5g}" for v in (total.arrivals, total.rejected, total.served, total.late)]
        hits = f"{total.hits / total.lookups:.3f}" if total.lookups else ""
        wait, sojourn = _time(total.wait.mean), _time(total.sojourn.quantile(0.99))
        used, servers = "", result.servers.get(name)
        if servers and total.up:
            used = f"{total.working / servers / total.up:.1%}"
        table.add_row(escape(name), *rates, f"{total.queue:.4g}", f"{total.busy:.4g}", used, wait, sojourn, hits)
    return table


def _edge_totals(result: Any) -> Table:
    table = Table("call", "att/s", "failed attempts")
    seconds = result.measured_seconds() or 1.0
    for name, total in result.edge_totals.items():
        table.add_row(escape(name), f"{total.attempts / seconds:.5g}", _failed(total.attempts_failed, seconds))
    return table


def _failed(counts: dict[str, int], seconds: float) -> str:
    return ", ".join(f"{kind} {count / seconds:.4g}/s" for kind, count in counts.items() if count) or "0"


def _show_many(results: list[Any]) -> None:
    from simcluster.eval.validation.finding import estimate

    table = Table("load", "figure", "mean", "99 % confidence", title=f"{len(results)} runs")
    for name in results[0].load_totals:
        for what in ("arrivals", "attempts", "ok"):
            found = estimate([getattr(one.load_totals[name], what) / one.measured_seconds() for one in results])
            table.add_row(escape(name), f"{what} a second", f"{found.mean:.5g}", f"± {found.half:.3g}")
        for share in (0.5, 0.99):
            found = estimate([one.load_totals[name].latency.quantile(share) / 1e6 for one in results])
            table.add_row(escape(name), f"p{share * 100:g} (ms)", f"{found.mean:.5g}", f"± {found.half:.3g}")
    console().print(table)
