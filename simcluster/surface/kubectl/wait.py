"""`kubectl wait --for=condition=...|jsonpath=...|delete|create`."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.objects import Json
from simcluster.engine import SECOND
from simcluster.surface.kubectl.errors import KubectlError, StatusError, plain
from simcluster.surface.kubectl.flags import ALL_NAMESPACES, FILES, OUTPUT, SELECTOR, Arguments, Flag, switch
from simcluster.surface.kubectl.invocation import Failures, Invocation
from simcluster.surface.kubectl.printers.go_value import go_text
from simcluster.surface.kubectl.printers.jsonpath import JsonPathError, Template, parse, relaxed
from simcluster.surface.kubectl.selection import Target, fetch
from simcluster.surface.kubectl.waiting import follow

FLAGS = (
    *FILES,
    SELECTOR,
    ALL_NAMESPACES,
    *OUTPUT,
    switch("all"),
    Flag("field-selector"),
    Flag("for"),
    switch("local"),
    Flag("timeout", kind="duration", default="30s"),
)

Check = Callable[[Json | None], bool]


class _ConditionIs:
    """A condition has a status, and was reported for the present generation."""

    def __init__(self, name: str, status: str) -> None:
        self.name = name
        self.status = status

    def __call__(self, obj: Json | None) -> bool:
        if obj is None:
            return False
        wanted = self.name.lower()
        for entry in (obj.get("status") or {}).get("conditions") or ():
            if str(entry["type"]).lower() != wanted:
                continue
            generation = obj["metadata"].get("generation", 0)
            observed = entry.get("observedGeneration") or (obj.get("status") or {}).get("observedGeneration")
            if observed is not None and observed < generation:
                return False
            return str(entry["status"]).lower() == self.status.lower()
        return False


class _FieldIs:
    """A field has a value, or any value."""

    def __init__(self, path: Template, value: str | None) -> None:
        self.path = path
        self.value = value

    def __call__(self, obj: Json | None) -> bool:
        if obj is None:
            return False
        try:
            found = self.path.find(obj)
        except JsonPathError:
            return False
        if not found:
            return False
        if self.value is None:
            return True
        if len(found) > 1:
            raise plain("given jsonpath expression matches more than one value")
        if isinstance(found[0], (dict, list)):
            raise plain("jsonpath leads to a nested object or list which is not supported")
        return go_text(found[0]) == self.value


def _is_gone(obj: Json | None) -> bool:
    return obj is None


def _exists(obj: Json | None) -> bool:
    return obj is not None


def _check(text: str) -> Check:
    lowered = text.lower()
    if lowered == "delete":
        return _is_gone
    if lowered == "create":
        return _exists
    if lowered.startswith("condition="):
        name, _, status = text[len("condition=") :].partition("=")
        return _ConditionIs(name, status or "true")
    if lowered.startswith("jsonpath="):
        return _field(text[len("jsonpath=") :])
    raise plain(f'unrecognized condition: "{text}"')


def _field(text: str) -> Check:
    text = text.strip("'\"")
    expression, equals, value = text.partition("}=")
    if equals:
        expression += "}"
    elif not text.startswith("{"):
        expression, equals, value = text.partition("=")
    value = value.strip("'\"")
    if equals and not value:
        raise plain(
            "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3"
        )
    try:
        return _FieldIs(parse(relaxed(expression)), value if equals else None)
    except JsonPathError as error:
        raise plain(str(error)) from None


def run(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl wait`."""
    check = _check(arguments.text("for"))
    timeout_ns = arguments.duration_ns("timeout")
    if timeout_ns < 0:
        timeout_ns = 7 * 24 * 3600 * SECOND
    deadline = invocation.clock.now + timeout_ns
    targets, failures = _targets(invocation, arguments, check, deadline)
    short = arguments.has("output") and arguments.text("output") == "name"
    for target in targets:
        failures.attempt(_Waiting(invocation, target, check, deadline, short=short).run)
    if not targets and not failures.errors and check is not _is_gone:
        raise plain("no matching resources found")
    failures.raise_all()


def _targets(
    invocation: Invocation, arguments: Arguments, check: Check, deadline: int
) -> tuple[list[Target], Failures]:
    while True:
        targets, failures = fetch(invocation, arguments, arguments.positional)
        missing = [e for e in failures.errors if isinstance(e, StatusError) and e.reason == "NotFound"]
        if check is _is_gone:
            failures.errors = [error for error in failures.errors if error not in missing]
        if check is not _exists or not missing:
            return targets, failures
        if invocation.clock.now >= deadline:
            raise plain("timed out waiting for the condition")
        invocation.clock.advance(SECOND // 4)


class _Waiting:
    """Waits for one object."""

    def __init__(
        self, invocation: Invocation, target: Target, check: Check, deadline: int, *, short: bool = False
    ) -> None:
        self.short = short
        self.invocation = invocation
        self.target = target
        self.check = check
        self.deadline = deadline

    def run(self) -> None:
        target, invocation = self.target, self.invocation
        uid = target.obj["metadata"].get("uid")
        left = max(0, self.deadline - invocation.clock.now)
        for obj in follow(invocation, target.resource, target.namespace, target.name, left):
            state = obj
            if state is not None and self.check is _is_gone and state["metadata"].get("uid") != uid:
                state = None
            if self.check(state):
                invocation.line(target.shown if self.short else f"{target.shown} condition met")
                return
            if state is None:
                raise KubectlError(f'Error from server (NotFound): {target.resource.name} "{target.name}" not found')
        raise plain(f"timed out waiting for the condition on {target.resource.plural}/{target.name}")
