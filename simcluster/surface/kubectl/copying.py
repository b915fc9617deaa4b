"""`kubectl cp`: one file into a container, or out of one.

The real one streams `tar` through exec; this one asks for `tar` in the container as that
does, so that images without it fail alike, and then moves the text. Left out: folders, and
files that are no text. A file can come from what the caller gave and go to standard output
(`/dev/stdout`) or to a mapping that takes it.

Source: kubectl/pkg/cmd/cp/cp.go.
"""

from __future__ import annotations

import posixpath
from collections.abc import MutableMapping, Sequence
from typing import NamedTuple

from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.podchoice import default_container

FLAGS = (Flag("container", "c"), switch("no-preserve"), Flag("retries", kind="int", default="0"))


class Place(NamedTuple):
    """One side of a copy; `pod` is empty for the local one."""

    namespace: str
    pod: str
    path: str


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl cp`."""
    words = arguments.positional
    if len(words) != 2:
        raise plain("source and destination are required")
    source, target = (_place(word) for word in words)
    if source.pod and target.pod:
        raise plain(f"one of src or dest must be a local file specification: {_shown(words)}")
    if not source.path or not target.path:
        raise plain("filepath can not be empty")
    if source.pod:
        _download(_Container(invocation, arguments, source), target.path)
    elif target.pod:
        _upload(_Container(invocation, arguments, target), source.path)
    else:
        raise plain("one of src or dest must be a remote file specification")


def _shown(words: Sequence[str]) -> str:
    return f"[{' '.join(words)}]"


def _place(word: str) -> Place:
    before, colon, path = word.partition(":")
    if not colon:
        return Place("", "", word)
    parts = before.split("/")
    if not before or len(parts) > 2:
        raise plain("filespec must match the canonical format: [[namespace/]pod:]file/path")
    return Place(parts[0] if len(parts) == 2 else "", parts[-1], path)


class _Container:
    """Runs commands in the container that a place names."""

    def __init__(self, invocation: Invocation, arguments: Arguments, place: Place) -> None:
        self.invocation = invocation
        self.path = place.path
        namespace = place.namespace or invocation.namespace
        pod = invocation.get(f"/api/v1/namespaces/{namespace}/pods/{place.pod}")
        phase = (pod.get("status") or {}).get("phase")
        if phase in ("Succeeded", "Failed"):
            raise plain(f"cannot exec into a container in a completed pod; current phase is {phase}")
        container = arguments.text("container") or default_container(invocation, pod, quiet=False)
        self.query = (("container", container), ("stderr", "true"), ("stdout", "true"))
        self.url = f"/api/v1/namespaces/{namespace}/pods/{place.pod}/exec"

    def exec(self, *command: str, stdin: str | None = None) -> Json:
        """The answer with stdout, stderr and code. Raises StatusError if it cannot be started."""
        query = (*(("command", word) for word in command), *self.query)
        body = None
        if stdin is not None:
            query, body = (*query, ("stdin", "true")), {"stdin": stdin}
        answer: Json = self.invocation.ask("POST", self.url, query, body=body).body
        return answer

    def require_tar(self) -> None:
        """Ends the command as the real one ends it where the image has no tar: where it has no shell either."""
        try:
            code = int(self.exec("sh", "-c", ":").get("code", 0))
        except StatusError:
            code = 126
        if code:
            text = 'OCI runtime exec failed: exec failed: unable to start container process: exec: "tar": '
            self.invocation.err.append(f"{text}executable file not found in $PATH: unknown\n")
            raise KubectlError("command terminated with exit code 126", 1)


def _upload(container: _Container, source: str) -> None:
    text = _local(container.invocation, source)
    target = container.path
    is_folder = not int(container.exec("test", "-d", target).get("code", 0))
    if is_folder:
        target = posixpath.join(target, posixpath.basename(source))
    container.require_tar()
    folder = posixpath.dirname(target) or "."
    answer = container.exec("sh", "-c", f'cat > "{target}"', stdin=text)
    if int(answer.get("code", 0)):
        container.invocation.err.append(f"tar: can't change directory to '{folder}': No such file or directory\n")
        raise KubectlError("command terminated with exit code 1", 1)


def _local(invocation: Invocation, path: str) -> str:
    for name in (path, posixpath.normpath(path)):
        try:
            return invocation.files[name]
        except KeyError:
            continue
    raise plain(f"{path} doesn't exist in local filesystem")


def _download(container: _Container, target: str) -> None:
    invocation = container.invocation
    container.require_tar()
    answer = container.exec("cat", container.path)
    if int(answer.get("code", 0)):
        stripped = container.path.lstrip("/")
        if container.path.startswith("/"):
            invocation.note("tar: removing leading '/' from member names")
        invocation.note(f"tar: {stripped}: No such file or directory")
        invocation.note("tar: error exit delayed from previous errors")
        raise KubectlError("command terminated with exit code 1", 1)
    if container.path.startswith("/"):
        invocation.note("tar: removing leading '/' from member names")
    if target == "/dev/stdout":
        invocation.write(str(answer.get("stdout", "")))
    elif isinstance(invocation.files, MutableMapping):
        invocation.files[target] = str(answer.get("stdout", ""))
    else:
        raise plain(f"open {target}: read-only file system")
