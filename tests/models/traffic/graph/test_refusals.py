"""Files that no engine can run are refused before anything runs: file, line, place, reason, in plain words."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcluster.cli import main
from simcluster.engine import content
from simcluster.engine.content import ContentError
from simcluster.engine.yamldialect import QuickLoader
from simcluster.models.traffic.graph import load_spec, spec_of

#: A graph that has every key of the language.
FULL = yaml.load(  # the loader makes plain values only
    """
name: full
description: all keys
run: {duration: 2s, warmup: 500ms, window: 500ms, requests: 20000, events: 1000000}
network: {law: exponential, mean: 1ms}
services:
  web:
    replicas: 2
    workers: 4
    cores: 2
    speed: 1.5
    blocking: true
    queue: {bound: 100, overflow: reject, discipline: fifo}
    shed: {max_queue: 50, max_delay: 50ms, interval: 100ms, max_in_flight: 90}
    rate_limit: {rate: 500, burst: 10}
    balancer: random
    caches: {c: {keys: 100, popularity: zipf, exponent: 1.5, capacity: 50, eviction: lru, ttl: 5s, warm: true,
                 shared: true, fill: success}}
    operations:
      page:
        work: {law: lognormal, mean: 1ms, cv: 0.5}
        contention: 1us
        failure: 0.01
        steps:
          - work: {law: uniform, low: 1ms, high: 2ms}
          - wait: {law: erlang, mean: 1ms, stages: 2}
          - call:
              {service: db, operation: query, timeout: 100ms, deadline: 1s, propagate: true, cancel: queued, times: 1,
               required: true, network: 1ms, priority: 1, retry_priority: 2,
               retries: {attempts: 2, on: [timeout], backoff: {base: 1ms, factor: 2, max: 10ms, jitter: full},
                         budget: {tokens: 10, per_call: 0.1, per_success: 0.1, cost: 1.5, timeout_cost: 2.5}},
               throttle: {k: 2, window: 10s}, hedge: {after: 20ms, extra: 1},
               pool: {size: 3, name: p, reuse: lru, hold: attempt, waiting: 5},
               breaker: {failure_ratio: 0.5, window: 1s, minimum: 5, open_for: 1s, per: attempt, probes: 1,
                         guards: calls}}
          - parallel: [{call: {service: db}}, {sequence: [{wait: 1ms}]}]
          - choose: [{probability: 0.5, steps: [{wait: 1ms}]}]
          - send: {service: db, operation: query, network: 1ms, priority: 1}
          - cached: {cache: c, hit: 1ms, miss: [{call: {service: db}}]}
  db:
    heap: {size: 64Mi, base: 1Mi, waiting: 1Ki, running: 1Ki, allocation: 1Mi, pause_base: 1ms, pause_per_byte: 0.5}
    operations:
      query: {work: {law: hyperexponential, branches: [{probability: 0.25, mean: 1ms}, {probability: 0.75, mean: 2ms}]}}
      other: {work: {law: empirical, values: [1ms, 2ms]}, allocation: 1Ki}
load:
  a:
    mix: {web/page: 1.5}
    clients: 2
    open: {stages: [{for: 1s, rate: 10, to: 20}], arrivals: poisson, diurnal: {period: 1h, amplitude: 0.5, peak: 1s},
           burst: {factor: 2.5, on: 1s, off: 1s}}
    call: {timeout: 1s}
  b: {target: db/other, closed: {users: 3, think: 100ms}}
  c: {target: db, replay: {counts: [1, 2], per: 1s}}
  d: {target: db, replay: {times: [1ms, 1s]}}
  e: {target: db, open: {rate: 5}, call: {patience: {law: exponential, mean: 1s}}}
events:
  - {at: 1s, for: 500ms, capacity: {service: db, factor: 0.5, replicas: [0]}}
  - {at: 1s, for: 500ms, outage: {from: web, to: db, messages: held}}
  - {at: 1s, flush: {service: web, cache: c}}
  - {at: 1s, for: 500ms, load: {name: a, factor: 2.5}}
  - {at: 1s, rate: {name: a, rate: 5}}
  - {at: 1s, for: 100ms, loss: {service: web, replicas: 1}}
  - {at: 1s, restart: {service: web}}
  - {at: 1s, for: 500ms, retries: {from: web, to: db, attempts: 1}}
""",
    QuickLoader,
)
HUGE, NAN, INF = 10**30, float("nan"), float("inf")
ALWAYS = (HUGE, NAN, INF, -1, "5 parsecs", [[1]], {"x": 1}, "87600h", 1e30, "-5s")
#: Places whose text is free, and small numbers that may be negative.
FREE = ("name", "description")
SIGNED = ("priority", "retry_priority")
#: What pydantic says to programmers.
JARGON = ("Input should", "valid ", "Value error", "type=", "None", "tuple", "dict")
SMALL = "services: {s: {operations: {o: {work: 1ms}}}}\nload: {u: {target: s, open: {rate: 1}}}\n"


def places(data: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if where:
        yield where
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield from places(value, (*where, key))


def changed(where: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(FULL)
    here = data
    for step in where[:-1]:
        here = here[step]
    here[where[-1]] = value
    return data


def refusal(data: Any) -> str:
    with pytest.raises(ContentError) as caught:
        spec_of(data)
    return caught.value.problem


def test_the_full_graph_is_fine() -> None:
    spec = spec_of(FULL)
    policy = next(call for _, _, call in spec.calls() if call.service == "db")
    assert policy.retries.on == ("timeout",)  # type: ignore[union-attr]
    assert policy.cancel == "queued"  # type: ignore[union-attr]


def test_every_place_refuses_what_no_value_can_be() -> None:
    every = [where for where in places(FULL) if where[-1] not in FREE]
    assert len(every) > 230
    for number, where in enumerate(every):
        value = ALWAYS[number % len(ALWAYS)]
        if where[-1] in SIGNED and value == -1:
            value = HUGE
        problem = refusal(changed(where, value))
        assert not any(word in problem for word in JARGON), problem
        assert problem.startswith(".".join(str(step) for step in where[:2])), (where, value, problem)


def test_true_is_no_number_and_no_duration() -> None:
    for where in places(FULL):
        here: Any = FULL
        for step in where:
            here = here[step]
        duration = isinstance(here, str) and here[0].isdigit()
        if (isinstance(here, (int, float)) and not isinstance(here, bool)) or duration:
            assert "not true" in refusal(changed(where, True)), where


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("services.web.workers", 10**9, "must be at most 1 000 000, not 1000000000"),
        ("services.web.replicas", 10**9, "must be at most 100 000, not 1000000000"),
        ("services.web.replicas", 2.5, "must be a whole number, not 2.5"),
        ("services.web.queue", [1], "must be a map with keys of bound, overflow, discipline, not a list"),
        ("services.web.queue.discipline", "lifi", "must be fifo or lifo or priority, not 'lifi'; did you mean lifo?"),
        ("services.web.caches.c.keys", 10**8, "must be at most 2 000 000"),
        ("services.web.operations.page.steps", "wait", "must be a list, written [a, b] or with one - for each item"),
        ("services.web.operations.page.failure", 1.5, "must be at most 1, not 1.5"),
        ("services.web.operations.page.failure", "50%", "must be a number, not '50%'"),
        ("services.web.operations.page.steps.2.call.timeout", "5", "must be a duration, written like 90s"),
        ("services.web.operations.page.steps.2.call.timeout", 5, "a duration needs a unit: write 5s or 5ms"),
        ("services.web.operations.page.steps.2.call.timeout", "0.1ns", "must be zero or at least 1ns"),
        ("services.web.operations.page.steps.2.call.retries", 3, "must be a map with keys of attempts, on, backoff"),
        ("services.web.operations.page.steps.2.call.cancel", True, "must be no or queued or running, not true"),
        ("services.web.operations.page.steps.2.call.pool.size", 0, "must be at least 1, not 0"),
        ("services.web.operations.page.steps.2.call.hedge.after", "2s", "hedge: after is not below the timeout"),
        ("services.db.heap.size", "64 MB", "must be a size, written like 256Mi, not '64 MB'"),
        ("services.db.heap.base", "65Mi", "leaves nothing of the heap"),
        ("services.db", None, "must be a map with keys of replicas, workers"),
        ("services.db", {}, "the key 'operations' is missing"),
        ("services.db.operations", {}, "must not be empty"),
        ("load.a.open.stages", [], "must not be empty"),
        ("load.a.open.diurnal.period", "1ns", "must be at least 1s, not '1ns'"),
        ("load.a.open.burst", {"factor": 2, "on": "1ns", "off": "1ns"}, "more than 100000 bursts in the run"),
        ("load.a.mix.web/page", 0, "must be greater than 0, not 0"),
        ("load.b.closed.users", 10**8, "must be at most 2 000 000"),
        ("load.c.replay", {"counts": [10**7, 1]}, "more than 10000000 arrivals"),
        ("load.d.replay.times", ["2s", "1s"], "do not go backwards"),
        ("run.duration", "87600h", "must be at most a year (8784h), not '87600h'"),
        ("run.duration", "8000h", "a run is at most 31 days"),
        ("run.window", "1ns", "more than 1000000 windows"),
        ("run.requests", 10**12, "must be at most 20 000 000"),
        ("events.0.capacity.replicas", [7], "there are 1 replicas, 0 to 0"),
        ("events.6.at", "1h", "the run has ended by then"),
    ],
)
def test_a_refusal_says_what_would_be_right(where: str, value: Any, words: str) -> None:
    path = tuple(int(step) if step.isdigit() else step for step in where.split("."))
    assert words in refusal(changed(path, value))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the file is empty"),
        ("# nothing\n", 1, "the file is empty"),
        ("--- \n...\n", 1, "a call graph is a map"),
        ("[1, 2]\n", 1, "not a list"),
        ("services\n", 1, "not the value 'services'"),
        (SMALL + "---\n" + SMALL, 3, "keep one document in a file"),
        (SMALL + "load: {}\n", 3, "the key 'load' stands twice"),
        (SMALL + "run: {duration: 1s, duration: 2s}\n", 3, "the key 'duration' stands twice"),
        (SMALL + "run:\n\tduration: 1s\n", 4, "indent with spaces"),
        (SMALL + "run: {duration: 1s\n", 4, "is not closed"),
        (SMALL + "events: [{at: *now}]\n", 3, "put quotes around a value that starts with *"),
        (SMALL + "name: !!python/object/apply:os.getcwd []\n", 3, "remove the !tag"),
        ("a: &a [*a]\n", 1, "inside itself"),
        ("a: " + "[" * 5000, 1, "inside each other"),
        ("- " * 5000 + "a\n", 1, "inside each other"),
        (SMALL + "name: a\x00b\n", 3, "the character U+0000"),
        ("apiVersion: v1\nkind: Pod\n", 1, "unknown key 'apiVersion'"),
        (SMALL.replace("rate", "raet"), 2, "load.u.open: unknown key 'raet'; did you mean 'rate'?"),
        (SMALL.replace("target: s", "target: t"), 2, "unknown service 't'"),
        (SMALL.replace("rate: 1", "rate: .nan"), 2, "must be a finite number, not nan"),
        (SMALL.replace("rate: 1", "rate: 9" + "9" * 400), 2, "not a number of 401 digits"),
        (SMALL.replace("rate: 1", "rate: 9" + "9" * 9000), 2, "more than 4000 digits"),
        (SMALL.replace("{s: {op", "{5: {op"), 1, "a name is text: put quotes around 5"),
        (SMALL.replace("rate: 1", "stages: [{for: 1s}]"), 2, "load.u.open.stages.0: the key 'rate' is missing"),
        (SMALL.replace("{s: {op", "{'': {op").replace("target: s", "target: ''"), 1, "a name has 1 to 100"),
        (SMALL.replace("work: 1ms", "steps: [{call: {service: s}}]"), 1, "in a circle: s/o -> s/o"),
    ],
)
def test_a_broken_file_names_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ContentError) as caught:
        load_spec(path)
    assert (caught.value.line, words in caught.value.problem) == (line, True), str(caught.value)


def test_aliases_of_aliases_are_not_written_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "_PLACES_MAX", 20_000)
    path = tmp_path / "bomb.yaml"
    rows = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 100)}]" for i in range(1, 8)]
    path.write_text("\n".join(["a0: &a0 [1]", *rows]))
    with pytest.raises(ContentError, match="aliases written out"):
        load_spec(path)


@pytest.mark.parametrize("engine", ["exact", "aggregate"])
def test_the_command_refuses_with_status_2_and_one_line(
    tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    (tmp_path / "bad.yaml").write_text(SMALL.replace("rate: 1", "rate: true"))
    for name, words in (("latin.yaml", ":1: cannot be read: not UTF-8"), ("bad.yaml", ":2: load.u.open.rate: must be"),
                        ("none.yaml", ":1: cannot be read: No such file"), (".", "Is a directory")):  # fmt: skip
        assert main(["traffic", str(tmp_path / name), "--engine", engine]) == 2
        printed = capsys.readouterr()
        assert words in printed.err
        assert (printed.out, printed.err.count("\n"), "Traceback" in printed.err) == ("", 1, False)


def test_what_only_exact_can_run_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "priorities.yaml"
    service = "s:\n    queue: {discipline: priority}\n    rate_limit: {rate: 5}\n    operations: {o: {work: 1ms}}"
    loads = [f"{{target: s, open: {{rate: 1}}, call: {{priority: {level}}}}}" for level in (1, 2)]
    path.write_text(f"services:\n  {service}\nload:\n  a: {loads[0]}\n  b: {loads[1]}\n")
    assert main(["traffic", str(path), "--engine", "aggregate"]) == 2
    words = "services.s.rate_limit: not counted beside a queue of several priorities"
    assert f"{path}:4: {words}" in capsys.readouterr().err
