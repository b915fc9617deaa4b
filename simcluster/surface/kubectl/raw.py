"""`--raw PATH`: a request as it is, and the answer's bytes."""

from __future__ import annotations

from urllib.parse import parse_qsl

from simcluster.api.encoding.wire import encode, frames
from simcluster.api.request import Request
from simcluster.surface.kubectl import manifests
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import Arguments
from simcluster.surface.kubectl.invocation import Invocation

#: Go's HTTP client gives up after so many.
_MOST_REDIRECTS = 10


def send(invocation: Invocation, arguments: Arguments, method: str) -> None:
    """Send what `--raw` and `-f` say and print what came. Raises KubectlError."""
    target = arguments.text("raw")
    files = arguments.texts("filename") if arguments.has("filename") else []
    if method == "GET" and arguments.positional:
        raise plain("arguments may not be passed when --raw is specified")
    if method in ("POST", "PUT"):
        _check(arguments, files)
    elif len(files) > 1:
        raise plain("--raw can only use a single local file or stdin")
    if not target.startswith(("/", "http")):
        raise plain(f'--raw must be a valid URL path: parse "{target}": invalid URI for request')
    body = manifests.read(invocation, files[0]).encode() if files else None
    for _ in range(_MOST_REDIRECTS):
        path, _, text = target.partition("?")
        query = tuple(parse_qsl(text, keep_blank_values=True))
        response = invocation.ask(method, path, query, body=body)
        target = response.headers.get("Location", "") if method == "GET" else ""
        if not target:
            break
    if response.stream is not None:
        invocation.write(frames(response.stream.poll()).decode())
    else:
        invocation.write(encode(Request(method, path, query), response).body.decode())


def _check(arguments: Arguments, files: list[str]) -> None:
    """Refuse what does not go with `--raw` of `create` and `replace`. Raises KubectlError."""
    if arguments.has("edit") and arguments.on("edit"):
        raise plain("--raw and --edit are mutually exclusive")
    if len(files) != 1:
        raise plain("--raw can only use a single local file or stdin")
    if files[0].startswith(("http://", "https://")):
        raise plain("--raw cannot read from a url")
    for given, name in (
        (arguments.on("recursive"), "recursive"),
        (arguments.text_or("selector"), "selector (-l)"),
        (arguments.text("output"), "output"),
    ):
        if given:
            raise plain(f"--raw and --{name} are mutually exclusive")
