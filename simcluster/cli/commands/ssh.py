"""`simcluster ssh`: a command on a node of a cluster that `simcluster serve` serves."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from urllib.parse import quote, urlsplit

import click


@click.command(
    "ssh",
    short_help="Run a command on a node of a served cluster.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("node")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)
def command(node: str, words: tuple[str, ...]) -> int:
    """Run COMMAND as root on NODE of the cluster whose desk is SIMCLUSTER_DESK; without one, the lines of stdin."""
    desk = os.environ.get("SIMCLUSTER_DESK", "")
    if not desk:
        raise click.ClickException("SIMCLUSTER_DESK is not set: export what `simcluster serve` printed")
    if words:
        return _run(desk, node, " ".join(words))
    code = 0
    for line in sys.stdin:
        if line.strip():
            code = _run(desk, node, line.rstrip("\n"))
    return code


def _run(desk: str, node: str, line: str) -> int:
    place = urlsplit(desk)
    address = f"{place.scheme}://{place.hostname}:{place.port}/node/{quote(node, safe='')}"
    request = urllib.request.Request(address, line.encode(), method="POST")
    request.add_header("Authorization", "Basic " + b64encode(f"{place.username}:{place.password}".encode()).decode())
    try:
        with urllib.request.urlopen(request) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        raise click.ClickException(f"{error.code}: {error.read().decode(errors='replace')}") from None
    except OSError as error:
        raise click.ClickException(f"{place.hostname}:{place.port}: {error}") from None
    click.echo(found["stdout"], nl=False)
    click.echo(found["stderr"], nl=False, err=True)
    return int(found["exit_code"])
