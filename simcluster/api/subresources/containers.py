"""Logs of containers and commands in them, through the kubelets.

Source: pkg/registry/core/pod/strategy.go (LogLocation, streamLocation, validateContainer).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.api import errors
from simcluster.api.backends import KubeletProxy, LogOptions
from simcluster.api.errors import ApiError, Cause
from simcluster.api.handlers.reading import need
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import Request, Response
from simcluster.api.routing import Route
from simcluster.api.serving import Serving
from simcluster.api.subresources.admitting import admit_connection
from simcluster.engine import SECOND, parse_rfc3339

_TEXT = "text/plain"
#: What a kubelet answers to a request that does not ask for a stream (WebSocket or SPDY).
NO_UPGRADE = "Upgrade request required"


def logs(api: Serving, request: Request, route: Route) -> Response:
    """GET of a container's log. Raises ApiError 400, 404, 422."""
    options = _log_options(api, request)
    pod = need(api, route)
    container = chosen_container(pod, options.container)
    if not pod["spec"].get("nodeName"):
        return Response(200, text="", content_type=_TEXT)
    text = _kubelets(api).logs(pod, options._replace(container=container))
    return Response(200, text=text, content_type=_TEXT)


def execute(api: Serving, request: Request, route: Route) -> Response:
    """POST (or GET) of a command. The answer's body has stdout, stderr, code and how long it took."""
    argv = request.params("command")
    if not argv:
        raise errors.bad_request("you must specify at least 1 command for the container")
    pod = need(api, route)
    container = chosen_container(pod, request.param("container"))
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {route.name} does not have a host assigned")
    options: Json = {"container": container, "command": argv}
    for name in ("stdin", "stdout", "stderr", "tty"):
        if request.flag(name):
            options[name] = True
    options = admit_connection(api, request, route, "PodExecOptions", options)
    if not request.upgraded:
        raise errors.bad_request(NO_UPGRADE)
    asked = (options["container"], options["command"], _stdin(request), request.patience_ns)
    return Response(200, _kubelets(api).exec(pod, *asked)._asdict())


def attach(api: Serving, request: Request, route: Route) -> Response:
    """Connect to a running container. Raises ApiError 400: a plain request cannot be connected."""
    pod = need(api, route)
    container = chosen_container(pod, request.param("container"))
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {route.name} does not have a host assigned")
    admit_connection(api, request, route, "PodAttachOptions", {"container": container})
    raise errors.bad_request(NO_UPGRADE)


def forward(api: Serving, request: Request, route: Route) -> Response:
    """Connect to ports of a pod. Raises ApiError 400: a plain request cannot be connected."""
    pod = need(api, route)
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {route.name} does not have a host assigned")
    ports = [int(port) for text in request.params("ports") for port in text.split(",") if port.isdecimal()]
    admit_connection(api, request, route, "PodPortForwardOptions", {"ports": ports} if ports else {})
    raise errors.bad_request(NO_UPGRADE)


def chosen_container(pod: ApiObject, name: str) -> str:
    """The container that is meant. Raises ApiError 400 if that is not clear."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    groups = (spec.get("initContainers"), spec.get("containers"), spec.get("ephemeralContainers"))
    names = [container["name"] for group in groups for container in group or ()]
    if name:
        if name not in names:
            raise errors.bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    containers = list(spec.get("containers") or ())
    if len(containers) == 1:
        return str(containers[0]["name"])
    listed = f", choose one of: [{' '.join(names)}]" if containers else ""
    raise errors.bad_request(f"a container name must be specified for pod {pod_name}{listed}")


def _kubelets(api: Serving) -> KubeletProxy:
    if api.kubelets is None:
        raise ApiError(500, "InternalError", "Internal error occurred: there is no kubelet to ask", {})
    return api.kubelets


def _stdin(request: Request) -> str:
    body = request.body
    if isinstance(body, bytes):
        # What is no text keeps its length: `?` for each byte.
        return body.decode(errors="surrogateescape").encode(errors="replace").decode()
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        return str(body.get("stdin", ""))
    given = request.param("stdin")
    return "" if given in ("", "true", "false", "1", "0") else given


def _log_options(api: Serving, request: Request) -> LogOptions:
    causes: list[Cause] = []
    tail = _number(request, "tailLines", 0, causes)
    limit = _number(request, "limitBytes", 1, causes)
    since = _number(request, "sinceSeconds", 1, causes)
    since_ns = api.sim.now - since * SECOND if since is not None else None
    text = request.param("sinceTime")
    if text and since is not None:
        why = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(Cause("FieldValueForbidden", why, "sinceSeconds"))
    elif text:
        try:
            since_ns = parse_rfc3339(text)
        except ValueError as error:
            raise errors.bad_request(str(error)) from None
    if causes:
        raise errors.invalid("PodLogOptions", "", "", causes)
    return LogOptions(
        request.param("container"),
        previous=request.flag("previous"),
        tail_lines=tail,
        since_ns=since_ns,
        timestamps=request.flag("timestamps"),
        limit_bytes=limit,
    )


def _number(request: Request, name: str, least: int, causes: list[Cause]) -> int | None:
    text = request.param(name)
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        raise errors.bad_request(
            f'unable to decode query parameters: strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from None
    if value < least:
        bound = "greater than or equal to 0" if least == 0 else "greater than 0"
        causes.append(Cause("FieldValueInvalid", f"Invalid value: {value}: must be {bound}", name))
    return value
