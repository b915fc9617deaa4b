"""`python -m tests.calibration.known --worlds 20`: recordings of services that were drawn by known laws, fitted.

Each world draws its figures far apart: times, failures and hits of a page and its cache, how its users come (one rate,
stages, bursts, or users who think), what requests cost in CPU and memory, a disk, CoreDNS' histogram. Counters are
scraped every 15 seconds, begin anew in some worlds, and are as uneven as the requests are. Written as a recording and
read back. Recovered is what is within a tenth of the truth or has it in its interval; what the fit says it cannot tell
is not counted. Drawn by laws, not by the simulator: this measures the estimators.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration.record.layout import Header
from simcluster.calibration.record.segments import StreamWriter
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.recording import Recording
from simcluster.calibration.resources import fit_resources
from simcluster.calibration.services import FittedServices, fit_services

KINDS = ("rate", "stages", "burst", "closed")
SECONDS, SCRAPE_S, BEGAN_S = 900.0, 15.0, 1_700_000_000.0
#: Upper ends of CoreDNS' buckets, in seconds: 2^n milliseconds.
BUCKETS = [0.001 * 2**number for number in range(20)]
MIB = 1 << 20

Judged = tuple[str, float, float, float, float]  # name, true, fitted, low, high


class Known:
    """A world's figures and what comes of them."""

    def __init__(self, seed: int) -> None:
        drawn = random.Random(seed)
        self.random = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.rate = drawn.uniform(5.0, 12.0)
        self.work_s, self.cv = drawn.uniform(0.004, 0.06), drawn.uniform(0.2, 1.2)
        self.failure, self.hit = drawn.uniform(0.01, 0.08), drawn.uniform(0.3, 0.95)
        self.stages = [drawn.uniform(0.4, 0.8), drawn.uniform(1.3, 2.2), drawn.uniform(0.3, 1.0)]
        self.factor, self.on_s, self.off_s = drawn.uniform(3, 8), drawn.uniform(5, 15), drawn.uniform(15, 45)
        self.users, self.think_s = drawn.randint(20, 60), drawn.uniform(2.0, 9.0)
        self.cpu_s, self.search_s, self.idle = (
            drawn.uniform(0.002, 0.05),
            drawn.uniform(0.002, 0.05),
            drawn.uniform(0.005, 0.1),
        )
        self.base, self.per = drawn.uniform(30, 600) * MIB, drawn.uniform(0.5, 8) * MIB
        self.read_s, self.news_s = drawn.uniform(0.0002, 0.012), drawn.uniform(0.02, 2.0)
        self.resets = seed % 3 == 0

    def begins(self) -> tuple[NDArray[np.float64], list[str]]:
        """When pages are asked for, in seconds, and by whom."""
        if self.kind == "closed":
            return self._thinking()
        edges, rates = [0.0, SECONDS], [self.rate]
        if self.kind == "stages":
            edges, rates = [0.0, 300.0, 600.0, SECONDS], [self.rate * each for each in self.stages]
        if self.kind == "burst":
            edges, rates, on = [0.0], [], False
            while edges[-1] < SECONDS:
                edges.append(edges[-1] + self.random.exponential(self.on_s if on else self.off_s))
                rates.append(self.rate / 3 * (self.factor if on else 1.0))
                on = not on
        parts = [self.random.uniform(begin, end, self.random.poisson(rate * (end - begin)))
                 for begin, end, rate in zip(edges, edges[1:], rates, strict=False)]  # fmt: skip
        found = np.sort(np.concatenate(parts))
        return found[found < SECONDS], []

    def _thinking(self) -> tuple[NDArray[np.float64], list[str]]:
        found = []
        for user in range(self.users):
            at = self.random.uniform(0, self.think_s)
            while at < SECONDS:
                found.append((at, f"u{user}"))
                at += self.random.exponential(self.think_s) + 0.05
        found.sort()
        return np.array([at for at, _ in found]), [who for _, who in found]

    def own(self, count: int, mean_s: float, cv: float) -> NDArray[np.float64]:
        """Log-normal times."""
        sigma = np.sqrt(np.log1p(cv * cv))
        return self.random.lognormal(np.log(mean_s) - sigma * sigma / 2, sigma, count)

    def traces(self, begins: NDArray[np.float64], who: list[str]) -> Iterator[list[dict[str, Any]]]:
        """A page looks into its cache, and asks its database for what is not there."""
        count = len(begins)
        own, looks, reads = (
            self.own(count, self.work_s, self.cv),
            self.own(count, 0.001, 0.4),
            self.own(count, 0.004, 0.5),
        )
        missed, failed = self.random.random(count) >= self.hit, self.random.random(count) < self.failure
        for at in range(count):
            begin_s, spans = BEGAN_S + begins[at], []
            passed = own[at]
            for name, took, made in (("cache", looks[at], True), ("db", reads[at], missed[at])):
                if made:
                    spans.append(span(name, "get", name, "p", begin_s + passed, took))
                    passed += took
            tags = {"session.id": who[at]} if who else {}
            yield [span("web", "page", "p", "", begin_s, passed, bool(failed[at]), tags), *spans]

    def searches(self) -> NDArray[np.float64]:
        """Another operation, which goes its own way."""
        wave = 1 + 0.7 * np.sin(np.arange(0, SECONDS, 5.0) / 70.0)
        return np.sort(np.concatenate([
            at * 5.0 + self.random.uniform(0, 5.0, self.random.poisson(self.rate * 2.5 * each))
            for at, each in enumerate(wave)
        ]))  # fmt: skip

    def series(
        self, pages: NDArray[np.float64], searches: NDArray[np.float64], ends: NDArray[np.float64]
    ) -> list[Sample]:
        """What Prometheus scraped."""
        scrapes = np.arange(0.0, SECONDS + 1, SCRAPE_S)
        cells = [np.histogram(each, bins=scrapes)[0] for each in (pages, searches)]
        grown = self.idle * SCRAPE_S * self.random.gamma(40.0, 1 / 40.0, len(scrapes) - 1)
        for counts, cost in zip(cells, (self.cpu_s, self.search_s), strict=True):
            grown = grown + cost * self.random.gamma(np.maximum(counts, 1e-9) * 2.0, 0.5)
        cpu = np.concatenate([[0.0], np.cumsum(grown)])
        if self.resets:
            cpu[len(cpu) // 2 :] -= cpu[len(cpu) // 2]
        everything, answered = np.sort(np.concatenate([pages, searches])), np.sort(ends)
        inside = np.searchsorted(everything, scrapes, side="right") - np.searchsorted(answered, scrapes, side="right")
        memory = self.base + self.per * inside + self.random.normal(0, 0.2 * MIB, len(scrapes))
        done = np.cumsum(self.random.poisson(40, len(scrapes)))
        spent = np.cumsum(self.read_s * self.random.gamma(np.diff(done, prepend=0) + 1e-9, 1.0))
        pod = {"namespace": "shop", "pod": "web-7d4b9c6f5-abcde", "container": "web"}
        disk = {"instance": "worker-1", "device": "sda"}
        found = []
        for name, labels, values in (
            ("container_cpu_usage_seconds_total", pod, cpu), ("container_memory_working_set_bytes", pod, memory),
            ("node_disk_reads_completed_total", disk, done), ("node_disk_read_time_seconds_total", disk, spent),
        ):  # fmt: skip
            text = labels_text(labels)
            found += [
                Sample(name, text, round((BEGAN_S + at) * 1000), float(value))
                for at, value in zip(scrapes, values, strict=True)
            ]
        news = self.own(400, self.news_s * np.sqrt(1.25), 0.5)
        for edge in [*BUCKETS, float("inf")]:
            text = labels_text({"le": "+Inf" if edge == float("inf") else f"{edge:g}"})
            name = "coredns_kubernetes_dns_programming_duration_seconds_bucket"
            found += [Sample(name, text, round((BEGAN_S + at) * 1000), value)
                      for at, value in ((0.0, 0.0), (SECONDS, float((news <= edge).sum())))]  # fmt: skip
        return found

    def record(self, folder: Path) -> None:
        """Write it all as a recording."""
        store = Store(folder, Header())
        begins, who = self.begins()
        searches = self.searches()
        writer, ends = StreamWriter(folder / "traces"), []
        for number, spans in enumerate(self.traces(begins, who)):
            writer.write({"t": 0, "trace": f"{number:x}", "spans": spans})
            ends.append(spans[0]["start_ns"] / 1e9 - BEGAN_S + spans[0]["duration_ns"] / 1e9)
        took = self.own(len(searches), 0.03, 0.5)
        for number, (at, each) in enumerate(zip(searches, took, strict=True)):
            writer.write(
                {"t": 0, "trace": f"s{number:x}", "spans": [span("web", "search", "s", "", BEGAN_S + at, each)]}
            )
        writer.close()
        write_series(folder, self.series(begins, searches, np.concatenate([ends, searches + took])))
        store.close()

    def judged(self, fitted: FittedServices, resources: dict[str, Any]) -> Iterator[Judged]:
        """Each figure that the fit claims to know, beside the truth."""
        page = fitted.evidence["web/page"]
        own, arrivals = page["own"], page["arrivals"]
        yield "own time, median", self.work_s / np.sqrt(1 + self.cv**2), own["median"], own["low"], own["high"]
        failure = fitted.graph["services"]["web"]["operations"]["page"].get("failure", 0.0)
        yield "failure", self.failure, failure, page["errors"][0], page["errors"][1]
        for cache in page.get("caches", ()):
            low, high = cache["interval"]
            yield "hit rate", self.hit, cache["hit"], low, high
        yield from self._arriving(arrivals)
        costs = resources["resources"]["web"]
        for name, true in (("page", self.cpu_s), ("search", self.search_s)):
            if name in costs["cpu_s_a_request"]:
                yield "CPU a request", true, *_ends(costs["cpu_s_a_request"][name])
        for key, true in (("idle_cores", self.idle), ("memory_base", self.base), ("memory_a_request", self.per)):
            if key in costs:
                yield key, true, *_ends(costs[key])
        yield "disk read", self.read_s, *_ends(resources["disks"]["worker-1/sda"]["read_s"])
        yield "DNS propagation", self.news_s, *_ends(resources["propagation"]["dns"])

    def _arriving(self, arrivals: dict[str, Any]) -> Iterator[Judged]:
        if self.kind == "rate":
            yield "rate", self.rate, arrivals["rate"], *arrivals["interval"]
        elif self.kind == "closed":
            think = arrivals["think"]
            yield "think time", self.think_s, think["mean"], think["mean_low"], think["mean_high"]
        elif self.kind == "stages":
            found = arrivals.get("stages", ())
            for at, share in enumerate(self.stages):
                stage = found[at] if len(found) == len(self.stages) else {"rate": 0.0, "interval": [0.0, 0.0]}
                yield "stages", self.rate * share, stage["rate"], *stage["interval"]
        else:
            nothing = {"value": 0.0, "interval": [0.0, 0.0]}
            for name, true in (
                ("rate", self.rate / 3),
                ("factor", self.factor),
                ("on_s", self.on_s),
                ("off_s", self.off_s),
            ):
                found = arrivals.get("burst", {}).get(name, nothing)
                yield f"bursts, {name}", true, found["value"], *found["interval"]


def _ends(found: dict[str, float]) -> tuple[float, float, float]:
    return found["value"], found["low"], found["high"]


def span(
    service: str, operation: str, own: str, parent: str, begin_s: float, took_s: float, error: bool = False,
    tags: dict[str, str] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A server's span."""
    return {"id": own, "parent": parent, "service": service, "operation": operation, "kind": "server",
            "start_ns": round(begin_s * 1e9), "duration_ns": round(took_s * 1e9), "error": error,
            "tags": tags or {}}  # fmt: skip


def judge(seed: int, folder: Path) -> list[Judged]:
    """Record a world, fit the recording, and lay truth and fit side by side."""
    known = Known(seed)
    known.record(folder)
    fitted = fit_services(Recording(folder).traces())
    assert fitted is not None
    return list(known.judged(fitted, fit_resources([folder], fitted).to_dict()))


def recovered(one: Judged) -> tuple[bool, bool]:
    """Whether it is near the truth or has it in its interval; whether it has."""
    _, true, fitted, low, high = one
    inside = low <= true <= high
    return inside or abs(fitted - true) <= 0.1 * true, inside


def main() -> None:
    """Count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    counts: dict[str, list[int]] = {}
    for seed in range(asked.first, asked.first + asked.worlds):
        with tempfile.TemporaryDirectory() as name:
            for one in judge(seed, Path(name) / "recording"):
                near, inside = recovered(one)
                row = counts.setdefault(one[0], [0, 0, 0])
                row[:] = [row[0] + 1, row[1] + near, row[2] + inside]
                if not near:
                    print(seed, "{}: true {:.4g}, fitted {:.4g} ({:.4g} to {:.4g})".format(*one), flush=True)
    for name, row in counts.items():
        print(f"{name}: recovered {row[1]} of {row[0]}, inside {row[2]}")
    total = [sum(row[index] for row in counts.values()) for index in range(3)]
    print(f"all: recovered {total[1]} of {total[0]}; intervals cover {total[2]}")


if __name__ == "__main__":
    main()
