"""`python -m tests.surface.http.matrix`: the session of `operations` with every client that is named.

python -m tests.surface.http.matrix --kubectl PROGRAM ... --library NAME ...
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from tests.surface.http.matrix.kubectl import Kubectl, Outcome
from tests.surface.http.served import ServedCluster


def of_kubectl(program: Path, scratch: Path) -> tuple[str, list[Outcome]]:
    """A session of a kubectl with a cluster of its own."""
    served = ServedCluster(scratch / "served", "--empty", "--nodes", "3")
    try:
        served.wait()
        client = Kubectl(program, served.out / "kubeconfig", scratch / "desk")
        return f"kubectl {client.version}", list(client.session())
    finally:
        served.kill()


@click.command()
@click.option("--kubectl", "programs", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Print what passed, too.")
def main(programs: tuple[Path, ...], everything: bool) -> None:
    """Print a table of clients, and what failed."""
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            report(*of_kubectl(program, Path(folder)), everything)


def report(client: str, outcomes: list[Outcome], everything: bool) -> None:
    """One line of the table, and what failed."""
    count = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "failed", "none")}
    click.echo(f"{client:32} passed {count['passed']:2}/{len(outcomes)}  failed {count['failed']}  none {count['none']}")
    for outcome in outcomes:
        if outcome.verdict == "failed" or everything:
            click.echo(f"  {outcome.operation} [{outcome.verdict}]: " + outcome.said.strip().replace("\n", "\n    "))


if __name__ == "__main__":
    main()
