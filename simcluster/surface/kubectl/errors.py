"""What kubectl says when something goes wrong: on standard error, with exit code 1.

Texts are those of k8s.io/kubectl/pkg/cmd/util/helpers.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.api.objects import Json


class KubectlError(Exception):
    """A command that failed; `text` is what is printed, without the final newline."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.text = text
        self.code = code

    @property
    def inner(self) -> str:
        """The text as it reads inside of another error."""
        return self.text.removeprefix("error: ")


class StatusError(KubectlError):
    """An answer of the API server that is no success.

    Attributes:
        status: the `Status` object.
    """

    def __init__(self, status: Json) -> None:
        super().__init__(_describe(status))
        self.status = status

    @property
    def reason(self) -> str:
        """`NotFound`, `Conflict`, ... or empty."""
        return str(self.status.get("reason") or "")

    @property
    def message(self) -> str:
        """The server's text."""
        return str(self.status.get("message") or "")

    @property
    def inner(self) -> str:
        """The server's text, as it reads inside of another error."""
        return self.message

    def when(self, verb: str, source: str) -> StatusError:
        """The error with `error when creating "file": ` before the server's text."""
        if not source:
            return self
        return StatusError({**self.status, "message": f'error when {verb} "{source}": {self.message}'})


def plain(text: str) -> KubectlError:
    """An error of kubectl's own: `error: ...`."""
    return KubectlError(f"error: {text}")


def usage(path: str, text: str) -> KubectlError:
    """An error in the arguments; `path` is `get` or `rollout status`."""
    return KubectlError(f"error: {text}\nSee 'kubectl {path} -h' for help and examples")


class Aggregate(KubectlError):
    """Several errors of one command, each on its own line."""

    def __init__(self, errors: Sequence[KubectlError]) -> None:
        super().__init__("\n".join(error.text.removeprefix("error: ") for error in errors))
        self.errors = list(errors)


def raise_all(errors: Sequence[KubectlError]) -> None:
    """Raise what was collected, if anything was."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise Aggregate(errors)


def _describe(status: Json) -> str:
    reason, message = status.get("reason") or "", status.get("message") or ""
    if reason == "Invalid":
        return _describe_invalid(status, message)
    if reason == "ConnectionRefused":  # no answer at all
        address = message.partition("dial tcp ")[2].removesuffix(": connect: connection refused")
        return f"The connection to the server {address} was refused - did you specify the right host or port?"
    if reason == "Unreachable":  # nor that
        return f"Unable to connect to the server: dial tcp {message.partition('dial tcp ')[2]}"
    if reason == "Unauthorized":
        return "error: You must be logged in to the server (Unauthorized)"
    if reason:
        return f"Error from server ({reason}): {message}"
    return f"Error from server: {message}"


def _describe_invalid(status: Json, message: str) -> str:
    details: dict[str, Any] | None = status.get("details")
    if details is None:
        return f"The request is invalid: {message}" if message else "The request is invalid"
    text = "The request is invalid"
    causes = details.get("causes") or ()
    if details.get("kind") or details.get("name"):
        text = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid'
    elif message and not causes:
        text += f": {message}"
    if not causes:
        return text
    lines: dict[str, None] = {}
    for cause in causes:
        lines[f"{cause.get('field', '')}: {cause.get('message', '')}"] = None
    if len(lines) == 1:
        line = next(iter(lines))
        return f"{text}: {line}" + ("\n" if line.endswith("\n") else "")  # MultilineError ends it once more
    return text + ": " + "".join(f"\n* {line}" for line in lines)
