"""A file in the user's editor, opened again until what it holds is accepted.

Source: k8s.io/kubectl/pkg/cmd/util/editor/editoptions.go.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simcluster.api.objects import Json
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.printers.jsontext import to_json
from simcluster.surface.kubectl.printers.yaml import to_yaml
from simcluster.surface.kubectl.selection import Target

HEAD = """# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""
#: Formats of a file to be edited.
FORMATS = "json,yaml"
#: An editor that answers with something else that is wrong so often is not asked again.
_MOST_ROUNDS = 20


class Reason(NamedTuple):
    """Why a file is opened again, as the comment at its top says."""

    text: str
    details: Sequence[str] = ()

    @property
    def comment(self) -> str:
        """The lines at the top of the file."""
        head = f"# {_hashed(self.text)}{':' if self.details else ''}\n"
        return head + "".join(f"# * {_hashed(detail)}\n" for detail in self.details) + "#\n"


def _hashed(text: str) -> str:
    return text[:-1].replace("\n", "\n# ").replace("\n# #", "\n#") + text[-1:]


class Editing:
    """One file with some objects.

    Args:
        targets: what is edited, and `objects` as the file shows them.
        accept: is given what the file holds then; says what is wrong with it, or raises KubectlError.
    """

    def __init__(
        self,
        change: Change,
        targets: Sequence[Target],
        objects: Sequence[Json],
        accept: Callable[[list[Json]], list[Reason]],
        head: str = HEAD,
    ) -> None:
        self.change = change
        self.first = targets[0]
        self.objects = list(objects)
        self.accept = accept
        self.head = head
        self.suffix = ".json" if change.arguments.text("output") == "json" else ".yaml"

    def run(self) -> None:
        """Let the user edit until all is well. Raises KubectlError."""
        several: Json = {"apiVersion": "v1", "items": self.objects, "kind": "List", "metadata": {}}
        shown = self.objects[0] if len(self.objects) == 1 else several
        body = to_json(shown) if self.suffix == ".json" else to_yaml(shown)
        reasons: list[Reason] = []
        for _ in range(_MOST_ROUNDS):
            answer = self._opened(body, reasons)
            stripped = _stripped(answer)
            if reasons and _value(stripped) == _value(body):
                break
            body, reasons = stripped, self._judged(stripped, answer)
            if not reasons:
                return
        raise self._kept(plain("Edit cancelled, no valid changes were saved."), answer)

    def _opened(self, body: str, reasons: Sequence[Reason]) -> str:
        workstation = self.change.invocation.workstation
        if workstation is None:
            raise plain('unable to launch the editor "vi"')
        head = "" if self.suffix == ".json" else self.head + "".join(reason.comment for reason in reasons)
        return workstation.edit(head + body, self.suffix)

    def _judged(self, text: str, answer: str) -> list[Reason]:
        note = self.change.invocation.note
        problem, found = _parsed(text)
        if problem:
            detail = f'<nil>: Invalid value: "The edited file failed validation": {problem}'
            error = StatusError({"reason": "Invalid", "details": {"causes": [{"field": "", "message": detail}]}})
            reason = refused(self.change, self.first, error)
            return [reason._replace(details=[detail])] if reason else []
        if found == self.objects:
            note("Edit cancelled, no changes made.")
            return []
        try:
            return self.accept(found)
        except KubectlError as error:
            raise self._kept(error, answer) from None

    def _kept(self, error: KubectlError, answer: str) -> KubectlError:
        """The error, after a line that says where the edited text lies."""
        if isinstance(error, LeftError):
            return KubectlError(error.text.format(file=self._file(answer)), error.code)
        self.change.invocation.note(f'A copy of your changes has been stored to "{self._file(answer)}"')
        return error

    def _file(self, answer: str) -> str:
        return f"/tmp/kubectl-edit-{zlib.crc32(answer.encode(errors='replace'))}{self.suffix}"


class LeftError(KubectlError):
    """Nothing an editor can mend; the text names the `{file}` that is left."""


def refused(change: Change, target: Target, error: StatusError) -> Reason | None:
    """Say that the server refused one object: the reason to edit again, or None if that cannot help.

    Raises:
        LeftError: at once, for objects that are gone or were changed meanwhile.
    """
    name = f'{target.resource.name} "{target.name}"'
    if error.reason == "Invalid":
        change.invocation.note(f"error: {name} is invalid")
        causes = (error.status.get("details") or {}).get("causes") or ()
        return Reason(f"{name} was not valid", [f"{cause.get('field', '')}: {cause['message']}" for cause in causes])
    if error.reason == "NotFound":
        change.invocation.note(f"error: {name} could not be found on the server")
        raise LeftError('The edits you made on deleted resources have been saved to "{file}"')
    change.invocation.note(f"error: {name} could not be patched: {error.message}")
    raise LeftError("You can run `kubectl replace -f {file}` to try this update again.")


def _stripped(text: str) -> str:
    """What an editor left without its comments and with plain line ends."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return "\n".join(line for line in lines if not line.lstrip(" \t").startswith("#"))


def _value(text: str) -> Any:
    """What a text means, or itself if it means nothing."""
    try:
        return decode_yaml(text)[0]
    except YamlSyntaxError:
        return text


def _parsed(text: str) -> tuple[str, list[Json]]:
    """What is wrong with a text, and the objects in it."""
    try:
        documents, _ = decode_yaml(text)
    except YamlSyntaxError as error:
        return str(error), []
    found: list[Json] = []
    for document in documents:
        if not isinstance(document, dict):
            return "invalid object to validate", []
        listed = document["items"] if document.get("kind") == "List" and "items" in document else [document]
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            return "invalid object to validate", []
        found.extend(listed)
    for obj in found:
        missing = [f"{key} not set" for key in ("apiVersion", "kind") if not obj.get(key)]
        if missing or not isinstance(obj.get("metadata"), dict):
            return f"[{', '.join(missing)}]" if len(missing) > 1 else (missing or ["metadata not set"])[0], []
    return ("", found) if found else ("invalid object to validate", [])
