"""`kubectl logs`: of pods, of what is behind a workload, by label, all containers, followed."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import Json, name_of
from simcluster.api.request import Query
from simcluster.engine import SECOND, parse_rfc3339
from simcluster.surface.kubectl.errors import StatusError, plain, usage
from simcluster.surface.kubectl.flags import SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import STEP_NS, Failures, Invocation, query_of
from simcluster.surface.kubectl.podchoice import (
    ContainerRef,
    choose_pod,
    containers_of,
    default_container,
    pods_behind,
)

FLAGS = (
    SELECTOR,
    switch("all-containers"),
    switch("all-pods"),
    Flag("container", "c"),
    switch("follow", "f"),
    switch("ignore-errors"),
    switch("insecure-skip-tls-verify-backend"),
    Flag("limit-bytes", kind="int", default="0"),
    Flag("max-log-requests", kind="int", default="5"),
    Flag("pod-running-timeout", kind="duration", default="20s"),
    switch("prefix"),
    switch("previous", "p"),
    Flag("since", kind="duration", default="0s"),
    Flag("since-time"),
    Flag("tail", kind="int", default="-1"),
    switch("timestamps"),
)

#: How long `logs -f` lets the simulated world live on when no new line comes.
FOLLOW_NS = 30 * SECOND


class _Source(NamedTuple):
    """One container whose log is read."""

    pod: Json
    container: ContainerRef

    @property
    def path(self) -> str:
        metadata = self.pod["metadata"]
        return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/log"


class _Logs:
    """One run of `logs`."""

    def __init__(self, invocation: Invocation, arguments: Arguments) -> None:
        self.invocation = invocation
        self.arguments = arguments
        self.by_label = bool(arguments.text("selector"))

    def check(self) -> list[str]:
        """The words of the command line; raises KubectlError if they make no sense."""
        arguments = self.arguments
        words = list(arguments.positional)
        if not words and not self.by_label:
            raise usage(
                "logs",
                "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n"
                "POD or TYPE/NAME is a required argument for the logs command",
            )
        if words and self.by_label:
            raise usage("logs", "only a selector (-l) or a POD name is allowed")
        if len(words) > 2:
            raise usage(
                "logs",
                "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n"
                "POD or TYPE/NAME is a required argument for the logs command",
            )
        if arguments.on("all-containers") and arguments.text("container"):
            raise plain(
                "--all-containers=true should not be specified with container name " + arguments.text("container")
            )
        if arguments.given("limit-bytes") and arguments.number("limit-bytes") < 0:
            raise plain("--limit-bytes must be greater than 0")
        if arguments.number("tail") < -1:
            raise plain("--tail must be greater than or equal to -1")
        if arguments.duration_ns("since") and arguments.text("since-time"):
            raise plain("at most one of `sinceTime` or `sinceSeconds` may be specified")
        if arguments.text("since-time"):
            _check_time(arguments.text("since-time"))
        return words

    def run(self) -> None:
        """Print the logs."""
        words = self.check()
        sources = self._sources(words)
        if self.by_label and self.arguments.on("follow") and len(sources) > self.arguments.number("max-log-requests"):
            limit = self.arguments.number("max-log-requests")
            raise plain(
                f"you are attempting to follow {len(sources)} log streams, but maximum allowed concurrency is {limit}, "
                "use --max-log-requests to increase the limit"
            )
        failures = Failures()
        lengths: dict[str, int] = {}
        for source in sources:
            if not failures.attempt(_Reading(self, source, lengths).run) and not self.arguments.on("ignore-errors"):
                break
        if self.arguments.on("follow") and not failures.errors:
            self._follow(sources, lengths)
        if self.arguments.on("ignore-errors"):
            for error in failures.errors:
                self.invocation.note(error.text)
        else:
            failures.raise_all()

    def _sources(self, words: list[str]) -> list[_Source]:
        arguments, invocation = self.arguments, self.invocation
        if self.by_label:
            path = f"/api/v1/namespaces/{invocation.namespace}/pods"
            pods = invocation.items(path, query_of(labelSelector=arguments.text("selector")))
            if not pods:
                invocation.note(f"No resources found in {invocation.namespace} namespace.")
        else:
            pods = self._named(words)
        return [source for pod in pods for source in self._of_pod(pod, words)]

    def _named(self, words: list[str]) -> list[Json]:
        if self.arguments.on("all-pods"):
            return pods_behind(self.invocation, words[0], for_logs=True)[0]
        try:
            return [choose_pod(self.invocation, words[0])]
        except StatusError as error:
            if error.reason == "NotFound" and "/" not in words[0]:
                raise plain(
                    f'error from server (NotFound): {error.message} in namespace "{self.invocation.namespace}"'
                ) from None
            raise

    def _of_pod(self, pod: Json, words: list[str]) -> list[_Source]:
        every = containers_of(pod)
        if self.arguments.on("all-containers"):
            return [_Source(pod, container) for container in every]
        name = self.arguments.text("container") or (words[1] if len(words) > 1 else "")
        if not name:
            name = default_container(self.invocation, pod, quiet=self.by_label and len(every) < 2)
        known = {container.name: container for container in every}
        if name not in known:
            raise plain(f"container {name} is not valid for pod {name_of(pod)}")
        return [_Source(pod, known.get(name, ContainerRef(name, f"spec.containers{{{name}}}")))]

    def query(self, source: _Source) -> Query:
        """Parameters of the log request."""
        arguments = self.arguments
        tail = arguments.number("tail")
        if not arguments.given("tail") and self.by_label:
            tail = 10
        since = -(-arguments.duration_ns("since") // SECOND)
        return query_of(
            container=source.container.name,
            follow="true" if arguments.on("follow") else "",
            limitBytes=arguments.number("limit-bytes") or "",
            previous="true" if arguments.on("previous") else "",
            sinceSeconds=since or "",
            sinceTime=arguments.text("since-time"),
            tailLines=str(tail) if tail >= 0 else "",
            timestamps="true" if arguments.on("timestamps") else "",
        )

    def text(self, source: _Source, query: Query) -> str:
        """One container's log. Raises StatusError."""
        response = self.invocation.ask("GET", source.path, query)
        return response.text if response.text is not None else str(response.body or "")

    def show(self, source: _Source, text: str) -> None:
        """Print log text, with the source before each line if wanted."""
        if not self.arguments.on("prefix") and not self.arguments.on("all-pods"):
            self.invocation.write(text)
            return
        container = source.container
        for line in text.splitlines(keepends=True):
            self.invocation.write(f"[pod/{name_of(source.pod)}/{container.name}] {line}")

    def _follow(self, sources: list[_Source], lengths: dict[str, int]) -> None:
        """Let time pass until a new line comes or 30 simulated seconds are over."""
        deadline = self.invocation.clock.now + FOLLOW_NS
        while self.invocation.clock.now < deadline:
            self.invocation.clock.advance(min(STEP_NS, deadline - self.invocation.clock.now))
            news = False
            for source in sources:
                news = self._news(source, lengths) or news
            if news:
                return

    def _news(self, source: _Source, lengths: dict[str, int]) -> bool:
        key = f"{name_of(source.pod)}/{source.container.name}"
        query = query_of(container=source.container.name, timestamps="true" if self.arguments.on("timestamps") else "")
        try:
            text = self.text(source, query)
        except StatusError:
            return False
        new = text[lengths.get(key, 0) :] if len(text) > lengths.get(key, 0) else ""
        lengths[key] = len(text)
        self.show(source, new)
        return bool(new)

    def measure(self, source: _Source, lengths: dict[str, int]) -> None:
        """Remember how long a log is before it is followed."""
        key = f"{name_of(source.pod)}/{source.container.name}"
        timestamps = "true" if self.arguments.on("timestamps") else ""
        lengths[key] = len(self.text(source, query_of(container=source.container.name, timestamps=timestamps)))


class _Reading:
    """Reads one log."""

    def __init__(self, run_: _Logs, source: _Source, lengths: dict[str, int]) -> None:
        self.run_ = run_
        self.source = source
        self.lengths = lengths

    def run(self) -> None:
        run_ = self.run_
        run_.show(self.source, run_.text(self.source, run_.query(self.source)))
        if run_.arguments.on("follow"):
            run_.measure(self.source, self.lengths)


def _check_time(text: str) -> None:
    """Refuse what is no RFC 3339 time, as Go's parser does for its first part."""
    try:
        parse_rfc3339(text)
    except ValueError:
        part = "2006" if not text[:4].isdigit() else "-" if len(text) < 20 else "Z07:00"
        rest = text if part == "2006" else text[4:] if part == "-" else text[19:]
        raise plain(
            f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{rest}" as "{part}"'
        ) from None


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl logs`."""
    _Logs(invocation, arguments).run()
