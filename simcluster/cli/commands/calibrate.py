"""`simcluster calibrate`: figures from recordings, replays, and how far off they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcluster.cli.exits import DONE, FAILED
from simcluster.cli.profile import required_profile

if TYPE_CHECKING:
    from simcluster.calibration.recording import Recording
    from simcluster.calibration.reporting import Report
    from simcluster.world.profile import Profile

_INSTALL = "calibration needs further packages: pip install 'simcluster[calibration]'"
_recordings = click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
_seeds = click.option("--seeds", default=3, show_default=True, type=click.IntRange(1), help="How many simulated runs.")


@click.group("calibrate", short_help="Fit models to recordings and say how far off they are.")
def command() -> None:
    """Fit models to recordings (`simcluster record`), replay them, and report errors."""


@command.command("import")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--format", "form", required=True, help="timeline, jaeger, otlp, openmetrics, dump, audit, cloudopsbench."
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The recording's folder.")
def bring_in(source: Path, form: str, out: Path) -> int:
    """Write what others recorded in SOURCE as a recording; one that is there gains what is new."""
    _needed()
    from simcluster.calibration.importing import import_as

    try:
        counts = import_as(form, source, out)
    except ValueError as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"written to {out}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return DONE


@command.command("fit")
@_recordings
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The profile's file.")
@click.option("--cluster", default="", help="Which cluster it is, in words.")
def fit(folders: tuple[Path, ...], out: Path, cluster: str) -> int:
    """Draw a profile from recordings: figures of the control plane, and a call graph where there are traces."""
    _needed()
    import yaml

    from simcluster.calibration.fitting import fit_control_plane, profile_of
    from simcluster.calibration.resources import fit_resources
    from simcluster.calibration.services import fit_services

    recordings = _read(folders)
    clusters = [one for one in recordings if "nodes" in one.resources()]
    for recording in recordings:
        if recording not in clusters:
            click.echo(f"{recording.folder}: no node was seen: nothing of its control plane is fitted", err=True)
    if not clusters and not any(True for one in recordings for _ in one.traces()):
        raise click.ClickException(f"{recordings[0].folder}: neither nodes nor traces were seen: nothing can be fitted")
    fitted = fit_control_plane(clusters, lambda words: click.echo(words, err=True))
    evidence: dict[str, Any] = {"control_plane": [one.to_dict() for one in fitted.evidence]}
    services = fit_services(spans for one in recordings for spans in one.traces())
    if services is not None:
        evidence |= {"services": services.evidence, "service_warnings": services.warnings}
    resources = fit_resources([one.folder for one in recordings], services)
    figures = fitted.figures | resources.figures()
    evidence |= resources.to_dict()
    graph = services.graph if services is not None else {}
    profile = profile_of(figures, cluster=cluster, evidence=evidence, services=graph)
    out.write_text(yaml.safe_dump(profile.model_dump(exclude_defaults=True), sort_keys=False), encoding="utf-8")
    for one in fitted.evidence:
        shown = f"{one.figure} = {one.value} ({one.low} to {one.high})" if one.figure else one.quantity
        click.echo(f"{shown}{'; ' if one.warnings else ''}{'; '.join(one.warnings)}")
    for warning in services.warnings if services is not None else ():
        click.echo(warning)
    for name, costs in evidence.get("resources", {}).items():
        for warning in costs.get("warnings", ()):
            click.echo(f"{name}: {warning}")
    click.echo(f"written to {out}")
    return DONE


@command.command("replay")
@_recordings
@required_profile
@_seeds
@click.option("--traces", "by_request", is_flag=True, help="Replay traced requests one by one instead.")
@click.option("--slow", multiple=True, help="SERVICE@FROM-TO, such as store@40s-70s: told from its own spans.")
@click.option("--sampled", default=1.0, show_default=True, help="The share of requests that was traced.")
@click.option("--json", "as_json", is_flag=True, help="Windows of --traces as one JSON object.")
def replay(folders: tuple[Path, ...], profile: Profile, seeds: int, by_request: bool, **how: Any) -> int:
    """Let simulated clusters with a profile live through recordings, and print the error of each quantity.

    With --traces each traced request comes when it came, and the profile's call graph says what becomes of it.
    """
    if by_request:
        return _retraced(folders, profile, seeds, **how)
    report = _report(folders, profile, seeds, before=False)
    for row in report.rows:
        after = row.figures(row.after)
        if after is not None:
            words = f"{after['error']:+7.1%}  coverage {after['coverage']:4.0%}"
            click.echo(f"{row.name:<28} {after['median']:10.4g}  {words}")
    return DONE


@command.command("report")
@_recordings
@required_profile
@_seeds
@click.option("--html", "page", type=click.Path(path_type=Path), help="A page with pictures.")
@click.option("--json", "data", type=click.Path(path_type=Path), help="The same as JSON; - for standard output.")
def report_(folders: tuple[Path, ...], profile: Profile, seeds: int, page: Path | None, data: Path | None) -> int:
    """Replay with the usual figures and with a profile, and write the error of each quantity, before and after."""
    from simcluster.calibration.reporting import as_json, as_page

    report = _report(folders, profile, seeds)
    if page is not None:
        title = f"{profile.cluster or 'a profile'}: {', '.join(one.name for one in folders)}"
        page.write_text(as_page(report, title), encoding="utf-8")
    if data is not None and str(data) != "-":
        data.write_text(as_json(report), encoding="utf-8")
    elif data is not None or page is None:
        click.echo(as_json(report), nl=False)
    return DONE


@command.command("check")
@_recordings
@required_profile
@_seeds
@click.option("--tolerance", required=True, type=click.Path(path_type=Path, exists=True), help="quantity: error, YAML.")
def check(folders: tuple[Path, ...], profile: Profile, seeds: int, tolerance: Path) -> int:
    """Fail (exit status 1) if a quantity is further off than the tolerances allow: `{default: 0.2, detection: 0.1}`."""
    import yaml

    try:
        allowed = yaml.safe_load(tolerance.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        where = getattr(getattr(problem, "problem_mark", None), "line", 0) + 1
        raise click.UsageError(f"{tolerance}:{where}: broken YAML: {getattr(problem, 'problem', problem)}") from None
    if not isinstance(allowed, dict) or not all(isinstance(one, (int, float)) for one in allowed.values()):
        raise click.UsageError(f"{tolerance}: tolerances are a mapping of quantities to numbers")
    try:
        report = _report(folders, profile, seeds, before=False)
        drift = report.drift(allowed)
    except ValueError as problem:
        raise click.UsageError(f"{tolerance}: {problem}") from None
    for line in drift:
        click.echo(line)
    if not any(row.recorded and ("default" in allowed or row.name in allowed) for row in report.rows):
        click.echo("nothing that has a tolerance was recorded: nothing was compared")
        return FAILED
    click.echo("within tolerance" if not drift else f"{len(drift)} out of tolerance")
    return FAILED if drift else DONE


def _retraced(
    folders: tuple[Path, ...], profile: Profile, seeds: int, slow: tuple[str, ...], sampled: float, as_json: bool
) -> int:
    _needed()
    import json

    from simcluster.calibration.requests import Slowed, retrace

    if not profile.services:
        raise click.UsageError("the profile has no call graph: fit one to a recording with traces")
    for one in _read(folders):
        try:
            stretches = [Slowed.parse(text) for text in slow]
            found = retrace(one.traces(), profile.services, stretches, seeds=seeds, sampled=sampled).to_dict()
        except ValueError as problem:
            raise click.UsageError(f"{one.folder}: {problem}") from None
        if as_json:
            click.echo(json.dumps({"recording": str(one.folder), **found}))
            continue
        for what, factor in found["slowed"].items():
            click.echo(f"{what}: own work {factor:g} times as long, by its own spans")
        for words in found["unknown"]:
            click.echo(words)
        click.echo(f"{'from s':>8} {'requests':>9} {'p50 s':>9} {'foretold':>9} {'p90 s':>9} {'foretold':>9}  coverage")
        for window in found["windows"]:
            figures = [window[name][which] for name in ("p50", "p90") for which in ("recorded", "foretold")]
            shown = " ".join(f"{figure:9.4g}" for figure in figures)
            covered = "" if window["coverage"] is None else f"{window['coverage']:.0%}"
            click.echo(f"{window['begin_s']:8g} {window['requests']:9} {shown}  {covered}")
        medians = ", ".join(f"{name} {found[name]:.1%}" for name in ("p50", "p90", "p99") if found[name] is not None)
        click.echo(f"median error of the windows: {medians or 'too few requests'}")
    return DONE


def _report(folders: tuple[Path, ...], profile: Profile, seeds: int, *, before: bool = True) -> Report:
    _needed()
    from simcluster.calibration.reporting import report_on

    return report_on(_read(folders), profile, seeds, before=before)


def _read(folders: tuple[Path, ...]) -> list[Recording]:
    """The recordings; what is grave is said, and nothing is read that is none."""
    from simcluster.calibration.recording import Recording

    found = [Recording(folder) for folder in folders]
    for one in found:
        for fault in one.faults:
            if fault.grave:
                click.echo(f"{one.folder}: {fault.kind}: {fault.where}: {fault.what}", err=True)
    return found


def _needed() -> None:
    from importlib.util import find_spec

    missing: list[str] = [name for name in ("scipy", "pyarrow", "httpx") if find_spec(name) is None]
    if missing:
        raise click.ClickException(f"{_INSTALL} ({', '.join(missing)} missing)")
