"""`kubectl exec`: one command in a container, without a terminal."""

from __future__ import annotations

from simcluster.api.objects import name_of, namespace_of
from simcluster.surface.kubectl.attaching import NO_TERMINAL
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain, usage
from simcluster.surface.kubectl.flags import Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.podchoice import choose_pod, default_container

FLAGS = (
    Flag("container", "c"),
    Flag("filename", "f", "list"),
    Flag("pod-running-timeout", kind="duration", default="1m0s"),
    switch("quiet", "q"),
    switch("stdin", "i"),
    switch("tty", "t"),
)


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl exec`."""
    words, dash = arguments.positional, arguments.dash
    if not words:
        raise plain("pod, type/name or --filename must be specified")
    if dash < 0 and len(words) > 1:
        raise usage(
            "exec",
            "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead",
        )
    command = words[1:]
    if dash == 0:
        raise plain("pod, type/name or --filename must be specified")
    if not command:
        raise plain("you must specify at least one command for the container")
    pod = choose_pod(invocation, words[0], quiet=True)
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        raise plain(f"cannot exec into a container in a completed pod; current phase is {phase}")
    container = arguments.text("container") or default_container(invocation, pod, quiet=arguments.on("quiet"))
    if arguments.on("tty"):
        invocation.note(NO_TERMINAL)
    query = [("command", word) for word in command]
    query.append(("container", container))
    body = None
    if arguments.on("stdin"):
        query.append(("stdin", "true"))
        body = {"stdin": invocation.stdin}
    query += [("stderr", "true"), ("stdout", "true")]
    path = f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}/exec"
    try:
        answer = invocation.ask("POST", path, tuple(query), body=body).body
    except StatusError as error:
        raise _explained(error) from None
    invocation.write(answer.get("stdout", ""))
    if answer.get("stderr"):
        invocation.err.append(answer["stderr"])
    invocation.clock.advance(answer.get("lasted_ns", 0))
    code = int(answer.get("code", 0))
    if code:
        raise KubectlError(f"command terminated with exit code {code}", code)


def _explained(error: StatusError) -> KubectlError:
    if error.reason == "InternalError":
        return plain(error.message)
    return error
