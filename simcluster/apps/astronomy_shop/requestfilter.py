"""A request filter before the pages: one process in Perl that takes one request after the other.

It holds what stands behind `?waf=` against the rule `WAF_RULE_REGEX`, if `WAF_RULE_ENABLED` is true, and answers such a
request itself; every other one it hands on as Envoy does, by the same routes. What a rule costs follows from the rule
and the text (`models.programs.backtracking`): while it is at it nobody else is served. A rule that is none ends it when
it starts.
"""

from __future__ import annotations

import math
from dataclasses import replace

from simcluster.apps.astronomy_shop.catalogue import EnvoyProgram
from simcluster.engine import MICROSECOND
from simcluster.models.machine.process import Answer, Call
from simcluster.models.programs.backtracking import PatternError, Spent, spent
from simcluster.models.traffic.cluster.operations import LogTemplate, OperationSpec, ServiceSpec

#: What clients send who try long queries (operation `query`).
CANDIDATE = "a" * 5000 + "!"
#: CPU time of a request in Perl beside the rule: headers, two sockets, copying. A magnitude.
HANDLED_NS = 400 * MICROSECOND
#: How a blocking server answers when it reaches nobody behind it.
BAD_GATEWAY = 502
_QUERY, _PARAMETER = "query", "waf="


class RequestFilterProgram(EnvoyProgram):
    """The main process."""

    def start(self) -> None:
        """Compile the rule, and as Envoy."""
        try:
            self.inspected("")
        except PatternError as error:
            rule = self.environment.get("WAF_RULE_REGEX", "")
            self.container.write(
                f"{str(error).capitalize()} in regex m/{rule}/ at request-filter.pl line 21.", "stderr"
            )
            self.container.exit(255)
            return
        super().start()

    def inspected(self, candidate: str) -> Spent:
        """What the rule makes of a text. Raises PatternError: it is no rule."""
        rule = self.environment.get("WAF_RULE_REGEX", "")
        enabled = self.environment.get("WAF_RULE_ENABLED", "").lower() == "true"
        return spent(rule, candidate) if enabled and rule else Spent(True, 0)

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """Every request costs what Perl needs for it, and long queries what the rule does."""
        return replace(spec, operations=tuple(self._handled(one) for one in super().flagged(spec).operations))

    def _handled(self, operation: OperationSpec) -> OperationSpec:
        if operation.name != _QUERY:
            steps = tuple(tuple(replace(call, status=BAD_GATEWAY) for call in step) for step in operation.steps)
            return replace(operation, cpu_ns=HANDLED_NS, work=None, steps=steps)
        work = self.inspected(CANDIDATE).cpu_ns
        log: tuple[LogTemplate, ...] = ()
        if work:
            rule = self.environment.get("WAF_RULE_ID", "query")
            text = f'{{"event":"request_filter_eval","rule":"{rule}","candidateLength":{len(CANDIDATE)},'
            log = (LogTemplate(text + '"elapsedSeconds":{latency_micro}}'),)
        spread = HANDLED_NS / (HANDLED_NS + work)
        return replace(operation, cpu_ns=HANDLED_NS + work, cpu_cv=spread, work=None, steps=(), log=log)

    def answer(self, call: Call) -> Answer:
        """A single request: what has a text for the rule is answered when the rule has been held against it."""
        _, _, query = call.path.partition("?")
        texts = [part.removeprefix(_PARAMETER) for part in query.split("&") if part.startswith(_PARAMETER)]
        if call.kind == "http" and texts and self.server is not None and self.listens_on(call.port):
            delay = self.server.delay_ns(HANDLED_NS + self.inspected(texts[0]).cpu_ns)
            return Answer("ok", 200, "ok\n", math.ceil(delay), "text/plain")
        base = super().answer(call)
        if base.outcome == "ok" and call.kind == "http" and base.status >= 500:
            return base._replace(status=BAD_GATEWAY, body="bad gateway\n", content_type="text/plain")
        return base
