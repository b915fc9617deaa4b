"""The programs on the way of an order and beside it: checkout, payment, mail, advertisements, recommendations."""

from __future__ import annotations

from dataclasses import replace

from simcluster.engine import MICROSECOND, MILLISECOND, SECOND
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.flags.client import (
    FlaggedProgram,
    changed,
    failing,
    operation_of,
    redirected,
    requests_of,
)
from simcluster.models.apps.marks import day_time
from simcluster.models.traffic.cluster.operations import LogTemplate, ServiceSpec
from simcluster.models.traffic.cluster.server import Happened

#: `adHighCpu`: threads that spin. Source: `CPULoad` of the ad service.
SPINNING = 4.0
#: `adManualGc`: not more often than this; a full collection of a heap that is 90 % full, eleven times. A magnitude for
#: each, of 200 MB with the parallel collector. Source: `GarbageCollectionTrigger` of the ad service.
COLLECT_NS, COLLECTIONS, COLLECTION_NS = 10 * SECOND, 11, 180 * MILLISECOND
#: `recommendationCacheFailure`: bytes of an entry of the list (a reference, and the string it was split from).
ENTRY_BYTES, ENTRY_NS, LISTED = 60, 60, 10
#: Beyond this many entries no container holds the list.
MOST_ENTRIES = 1 << 26
_UNTRACED = " trace_id= span_id= trace_flags= "
_TRACED = " trace_id={request_hex} span_id={span_hex} trace_flags=01 "
#: Bytes of a mail's text.
MAIL_BYTES = 2200


class CheckoutProgram(FlaggedProgram):
    """Orders are placed."""

    def start(self) -> None:
        """As every program."""
        self.environment["address of paymentUnreachable"] = "badAddress:50051"
        super().start()

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """Payments go to an address that is none; orders are published again and again."""
        if self.flags.boolean("paymentUnreachable"):
            spec = redirected(spec, "PlaceOrder", "PAYMENT_ADDR", "address of paymentUnreachable")
        again = self.flags.number("kafkaQueueProblems")
        if again > 0.0:
            steps = tuple(
                tuple(replace(call, count=1.0 + again) if call.env == "KAFKA_ADDR" else call for call in step)
                for step in operation_of(spec, "PlaceOrder").steps
            )
            spec = changed(spec, "PlaceOrder", steps=steps)
        return spec


class PaymentProgram(FlaggedProgram):
    """Cards are charged."""

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """A share of the charges throws."""
        share = self.flags.number("paymentFailure")
        if share <= 0.0:
            return spec
        why = "Payment request failed. Invalid token. app.loyalty.level=gold"
        head = '{"level":"warn","time":{epoch_ms},"pid":1,"hostname":"{pod}","service.name":"payment",'
        line = f'{head}"err":{{"type":"Error","message":"{why}","stack":"Error: {why}\\n    at module.exports.charge '
        line += '(/usr/src/app/charge.js:38:13)"},"message":"' + why + '"}'
        return failing(spec, "Charge", share, f"rpc error: code = Unknown desc = {why}", LogTemplate(line))


class AdProgram(FlaggedProgram):
    """Advertisements, on a JVM."""

    _spins = False
    _since_ns = -COLLECT_NS
    _collecting = False

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """One request in ten fails; threads spin; requests wait while the heap is collected."""
        if self.flags.boolean("adFailure"):
            text = "GetAds Failed with status Status{code=UNAVAILABLE, description=null, cause=null}"
            line = LogTemplate(f"{{time_log4j}} - oteldemo.AdService - {text}{_TRACED}")
            spec = failing(spec, "GetAds", 0.1, "rpc error: code = Unavailable desc = ", line)
        if self.flags.boolean("adHighCpu"):
            text = "{time_log4j} - oteldemo.AdService - High CPU-Load problempattern enabled"
            log = (*operation_of(spec, "GetAds").log, LogTemplate(text + _TRACED))
            spec = changed(spec, "GetAds", log=log)
            if self._spins:
                spec = replace(spec, idle_cores=spec.idle_cores + SPINNING)
        if self._collecting:
            pause = COLLECTIONS * COLLECTION_NS
            spec = changed(spec, "GetAds", latency_ns=operation_of(spec, "GetAds").latency_ns + pause, latency_cv=0.1)
        return spec

    def switched(self) -> None:
        """Without the flag nobody starts such threads; those that run see it at the next request."""
        if self._spins and not self.flags.boolean("adHighCpu"):
            self._spins = False
            self.adapt()

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """A request came: it may begin a collection, or start threads."""
        if requests_of(happened, t_ns):
            if self.flags.boolean("adHighCpu") and not self._spins:
                self._spins = True
                self.adapt()
            if self.flags.boolean("adManualGc") and t_ns - self._since_ns >= COLLECT_NS and not self._collecting:
                self._collect(t_ns)
        return super().log_requests(t_ns, span_ns, happened)

    def _collect(self, now: int) -> None:
        """Fill the heap and collect it, again and again; who asks meanwhile waits."""
        self._since_ns, self._collecting = now, True
        took = COLLECTIONS * COLLECTION_NS
        self._say("Feature Flag adManualGc enabled, performing a manual gc now")
        self._say("Triggering a manual garbage collection, next one in 10 seconds.")
        self.container.use_cpu(took)
        self.container.sim.after(took, self._collected, took)
        self.adapt()

    def _collected(self, took: int) -> None:
        self._collecting = False
        if self.container.running and self.server is not None:
            self._say(f"The artificially triggered GCs took: {took // MILLISECOND} ms")
            self.adapt()

    def _say(self, text: str) -> None:
        stamp = day_time(self.container.sim.now)
        self.container.write(f"{stamp} - problempattern.GarbageCollectionTrigger - {text}{_UNTRACED}")


class RecommendationProgram(FlaggedProgram):
    """Recommendations from a list of products that it asks for each time."""

    _entries = 0
    _asked = 0

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """The list that is kept and searched."""
        if not self.flags.boolean("recommendationCacheFailure"):
            self._entries = 0
            return spec
        work = operation_of(spec, "ListRecommendations").cpu_ns + self._entries * ENTRY_NS
        spec = changed(spec, "ListRecommendations", cpu_ns=work, work=None)
        return replace(spec, memory_base=spec.memory_base + self._entries * ENTRY_BYTES)

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Every other request misses, and the list grows by the products and then by a quarter of itself."""
        asked = requests_of(happened, t_ns) if self.flags.boolean("recommendationCacheFailure") else 0
        before = self._entries
        for _ in range(min(asked, 1000)):
            self._asked += 1
            if uniform_at(mix(self._key, 77), self._asked) < 0.5 or not self._entries:
                self._entries = min(MOST_ENTRIES, (self._entries + LISTED) * 5 // 4)
        if self._entries * ENTRY_NS - before * ENTRY_NS > 100 * MICROSECOND or self._entries > before * 2:
            self.adapt()
        return super().log_requests(t_ns, span_ns, happened)


class EmailProgram(FlaggedProgram):
    """Confirmations by mail; Sinatra's test mailer keeps what it has delivered when it is told to."""

    _kept = 0

    def flagged(self, spec: ServiceSpec) -> ServiceSpec:
        """What it keeps."""
        if self.flags.number("emailMemoryLeak") <= 0.0:
            self._kept = 0
        return replace(spec, memory_base=spec.memory_base + self._kept)

    def log_requests(self, t_ns: int, span_ns: int, happened: Happened) -> bool:
        """Every mail is kept, and longer than it was."""
        factor = self.flags.number("emailMemoryLeak")
        if factor > 0.0:
            sent = requests_of(happened, t_ns)
            self._kept += int(sent * factor * MAIL_BYTES)
            if sent and self.server is not None:
                self.server.spec = replace(self.server.spec, memory_base=self.behaviour.memory + self._kept)
        return super().log_requests(t_ns, span_ns, happened)
