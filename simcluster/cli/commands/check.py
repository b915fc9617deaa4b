"""`simcluster check`: applications, tasks, faults, noises and files prove themselves."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
from rich.markup import escape

from simcluster import tasks
from simcluster.cli.exits import CheckFailed
from simcluster.cli.output import console, print_json
from simcluster.cli.suites import members
from simcluster.engine.content import ContentError, Library, UnknownName
from simcluster.eval.proof import check, known_ids
from simcluster.eval.proof.attacks import EXPLOITS
from simcluster.eval.proof.findings import Finding
from simcluster.eval.proof.mending import REPAIRS
from simcluster.eval.proof.pairs import OVER, UNNOTICED, Pair, check_pair, fits, sampled
from simcluster.eval.proof.sweep import attack_whole, covering, exemptions, tally
from simcluster.eval.runner.records import RunDirectoryError, read_results
from simcluster.tasks.loader import ALL

Result = dict[str, Any]
#: An id or a file, a pair of an application, or a task that is attacked by everything there is.
Named = str | tuple[str, Pair | None]


class How(NamedTuple):
    """How to check: the seed, folders of further content, how many exploits and repairs are tried on a task (None: as
    many as usual), whether quickly, a file that keeps the results, and whether applications are shaken."""

    seed: int
    folders: tuple[str, ...] = ()
    sample: int | None = None
    quick: bool = False
    results: Path | None = None
    shaken: bool = False
    made: str = ""

    def key(self, name: Named) -> str:
        """What a result is called in a file: of a task that was drawn its id, whose folder is another one each time."""
        if isinstance(name, str):
            return Path(name).stem if self.made and name.startswith(self.made) else name
        task = self.key(name[0])
        return f"{task} {name[1].id if name[1] else 'attacks'}"

    def known(self) -> dict[str, Result]:
        """Results of the file that were made likewise, by what was checked; a line that was cut off is taken out.

        Raises:
            RunDirectoryError: a line is no JSON object, or holds no result.
        """
        if self.results is None or not self.results.exists():
            return {}
        found: dict[str, Result] = {}
        for number, one in enumerate(read_results(self.results, mend=True), 1):
            try:
                likewise = (one["result"]["seed"], one["quick"], one["sample"]) == (self.seed, self.quick, self.sample)
                if likewise:
                    found[one["of"]] = one["result"]
            except (KeyError, TypeError):
                raise RunDirectoryError(f"{self.results}:{number}: no result of `simcluster check`") from None
        return found

    def keep(self, of: str, result: Result) -> None:
        """Append a result to the file."""
        if self.results is not None:
            with self.results.open("a") as file:
                file.write(json.dumps({"of": of, "quick": self.quick, "sample": self.sample, "result": result}) + "\n")


@click.command("check", short_help="Prove apps, tasks, faults and files as CI does.")
@click.argument("names", metavar="[APP|TASK|FAULT|NOISE|FILE]...", nargs=-1)
@click.option(
    "--suite", default=None, help="Every task of a suite, `fresh:SEED:N`, `cloudopsbench[:N]`, `srezero[:25]`."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--jobs", default=os.cpu_count() or 1, type=click.IntRange(1), help="Worker processes [default: all cores]."
)
@click.option("--all-pairs", "app", default="", help="Every fault on every component of an application that it fits.")
@click.option("--all-exploits", "attacks", is_flag=True, help="Every exploit and repair on these tasks, or on one for "
              "every mechanism and application.")  # fmt: skip
@click.option("--sample", default=None, type=click.IntRange(0), help="Only so many pairs, and for each task so many "
              "generic exploits and repairs, by the seed.")  # fmt: skip
@click.option(
    "--quick",
    is_flag=True,
    help="Of tasks, also that of a fault, only the backbone: noticed, doing nothing refused, one fix accepted.",
)
@click.option("--shaken", is_flag=True, help="Of applications: restart each workload, and cut each call once.")
@click.option("--results", type=click.Path(dir_okay=False, path_type=Path), default=None,
              help="Append each result as a JSON line to a file, and skip what is in it.")  # fmt: skip
@click.option("--content", "folders", multiple=True, help="A folder of further content (repeatable).")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(names: tuple[str, ...], suite: str | None, seed: int, jobs: int, folders: tuple[str, ...], as_json: bool,
            **instead: Any) -> None:  # fmt: skip
    """Check content; without arguments every task.

    An application is deployed and used; a fault is injected where its case says; a task is played with every
    reference fix and every forbidden attempt; files are read strictly.
    """
    library = Library(tuple(Path(folder) for folder in folders))
    app, sample, attacks = instead["app"], instead["sample"], instead["attacks"]
    how = How(seed, folders, sample, instead["quick"], instead["results"], instead["shaken"])
    if app:
        every = [pair for fit in fits(app, seed, library) for pair in fit.pairs]
        pairs = sampled(every, seed, len(every) if sample is None else sample)
        _report(_checked([(app, pair) for pair in pairs], how, jobs), f"{len(pairs)} pairs", as_json)
        return
    with TemporaryDirectory(prefix="simcluster-") as made:
        how = how._replace(made=made)
        wanted = list(names) + (members(suite, Path(made), jobs, library) if suite else [])
        if attacks:
            wanted = list(dict.fromkeys(wanted or covering(library)))
            _report(_checked([(name, None) for name in wanted], how, jobs), f"{len(wanted)} tasks", as_json)
            return
        wanted = list(dict.fromkeys(wanted or tasks.suite(ALL, library)))
        known = known_ids(library)
        for name in wanted:
            if not name.endswith((".yaml", ".yml")) and name not in known:
                raise UnknownName("app, task, fault or noise", name, list(known))
        _report(_checked(wanted, how, jobs), ", ".join(wanted), as_json)


def _report(found: Iterator[Result], what: str, as_json: bool) -> None:
    """Show results as they come. Raises CheckFailed."""
    results = []
    with console(stderr=True).status(f"checking {what}"):
        for result in found:
            results.append(result)
            if not as_json:
                _show(result)
    if as_json:
        print_json(results)
    unnoticed = sum(one["name"] in (OVER, UNNOTICED) for result in results for one in result["findings"])  # integers
    if unnoticed and not as_json:
        console().print(
            f"{len(results) - unnoticed} of {len(results)} are incidents; nobody notices the others, or they pass"
        )
    attacked = [result["id"] for result in results if result["kind"] == "attacks"]
    if attacked and not as_json:
        _sum_up(results, attacked)
    failed = [result["id"] for result in results if not result["passed"]]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(results)} failed: {', '.join(failed)}")


def check_one(name: Named, how: How) -> Result:
    """Check one piece of content, or a pair; a file that cannot be read is a failed check."""
    library = Library(tuple(Path(folder) for folder in how.folders))
    if isinstance(name, tuple):
        of, pair = name
        return (
            attack_whole(of, how.seed, library) if pair is None else check_pair(of, pair, how.seed, library)
        ).to_dict()
    tries = (EXPLOITS, REPAIRS) if how.sample is None else (how.sample, how.sample)
    try:
        return check(name, how.seed, library=library, tries=tries, quick=how.quick, shaken=how.shaken).to_dict()
    except (ContentError, UnknownName, FileNotFoundError) as problem:
        finding = {"name": "the file is right", "passed": False, "why": str(problem)}
        return {"kind": "file", "id": name, "seed": how.seed, "passed": False, "findings": [finding]}


def _checked(names: Sequence[Named], how: How, jobs: int) -> Iterator[Result]:
    """Results in the order of the names, those of a file first; computed by several processes when there is more
    than one."""
    known = how.known()
    yield from (known[how.key(name)] for name in names if how.key(name) in known)
    left = [name for name in names if how.key(name) not in known]
    for name, result in zip(left, _computed(left, how, min(jobs, len(left))), strict=True):
        how.keep(how.key(name), result)
        yield result


def _computed(names: Sequence[Named], how: How, jobs: int) -> Iterator[Result]:
    if jobs <= 1:
        for name in names:
            yield check_one(name, how)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(check_one, name, how) for name in names]
        for future in futures:
            yield future.result()


def _sum_up(results: list[Result], attacked: list[str]) -> None:
    """What came of all exploits and repairs, and which were not tried."""
    count = tally(Finding(**one) for result in results for one in result["findings"])
    out = console()
    for deed, task, reason in exemptions(attacked):
        out.print(f"  exempt {escape(deed)} on {escape(task)}: [dim]{escape(reason)}[/]", soft_wrap=True)
    tried = f"{count['accepted']} of {count['exploits']} exploits accepted ({count['impossible']} could not be done)"
    out.print(f"{tried}, {count['refused']} of {count['repairs']} repairs refused")


def _show(result: Result) -> None:
    out = console()
    verdict = "[green]passed[/]" if result["passed"] else "[red]failed[/]"
    out.print(f"[bold]{escape(result['kind'])} {escape(result['id'])}[/] {verdict}")
    for finding in result["findings"]:
        mark = "[green]ok  [/]" if finding["passed"] else "[red]FAIL[/]"
        why = finding["why"] if not finding["passed"] else ""
        out.print(f"  {mark} {escape(finding['name'])} [dim]{escape(why)}[/]", soft_wrap=True)
