"""`python -m tests.telemetry.golden FOLDER`: recorded requests to a real Prometheus, Loki and Jaeger, asked again here.

Of every `.cmd` with an `.out`: whether the answer has the same form (status, content type, keys, types of values, texts
of errors; what the command-line tools print of it). Of every other one: the form of the real program, as far as it is
the same for all requests. What was stored there is stored here: pushed lines, scraped targets, spans of a trace.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.telemetry.logql import http as loki
from simcluster.telemetry.promql import http as prometheus
from simcluster.telemetry.rules import answers
from simcluster.telemetry.rules.groups import Rules
from simcluster.telemetry.traces import http as jaeger
from tests.telemetry.logql.hotel import NOW_NS, pushed
from tests.telemetry.logql.hotel import store as lines
from tests.telemetry.promql.test_recorded_forms import NOW, shape
from tests.telemetry.promql.test_recorded_forms import store as series
from tests.telemetry.traces.test_recorded_answers import NOW_US
from tests.telemetry.traces.test_recorded_answers import stored as spans

RULES = """
groups:
- name: hotel
  interval: 2s
  rules:
  - {record: "job:up:sum", expr: "sum by (job) (up)"}
  - alert: TargetDown
    expr: up == 0
    for: 4s
    labels: {severity: critical}
    annotations: {description: "job {{ $labels.job }} value {{ $value }}", summary: "{{ $labels.instance }} down"}
"""
#: What differs from run to run in what tools print: instants, and the addresses they asked.
_VARIES = re.compile(r"@\[[\d.]+\]|\d{4}[/-]\d\d[/-]\d\d[T ][\d:.]+Z?|https?://\S+")


class Asked(NamedTuple):
    """A request; `tool`: the command that makes it, if one does."""

    method: str
    target: str
    body: bytes = b""
    tool: str = ""


class Answer(NamedTuple):
    """What came back."""

    status: int
    kind: str
    body: str


def asked_of(command: str) -> Asked | None:
    """The request of a `.cmd`; None of a command that asks no server."""
    first, _, rest = command.partition("\n")
    method, _, target = first.partition(" ")
    if method in ("GET", "POST"):
        body = rest.strip().encode()
        whole = pushed()  # which was recorded up to a length
        return Asked(method, target.strip(), whole if len(body) > 1000 and whole.startswith(body) else body)
    words = [
        word for word in shlex.split(first)[1:] if not re.match(r"--addr|--since|--quiet|-o$|jsonl$|raw$|http:", word)
    ]
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    plain = [word for word in words if not word.startswith("--")]
    if "promtool" in first:
        return _promtool(plain, options)
    span = {"start": NOW_NS - 300 * SECOND, "end": NOW_NS + 10 * SECOND}
    what, *more = plain
    if what == "labels":
        path = f"/loki/api/v1/label/{more[0]}/values" if more else "/loki/api/v1/labels"
        return Asked("GET", f"{path}?{urlencode(span)}", tool="logcli labels")
    if what == "series":
        return Asked("GET", f"/loki/api/v1/series?{urlencode({**span, 'match': more[0]})}", tool="logcli series")
    if what == "instant-query":
        return Asked("GET", f"/loki/api/v1/query?{urlencode({'query': more[0], 'time': NOW_NS})}")
    if what == "stats":
        return Asked("GET", f"/loki/api/v1/index/stats?{urlencode({**span, 'query': more[0]})}")
    wanted = {**span, "query": more[0], "limit": options.get("limit", "30"), "direction": "BACKWARD"}
    return Asked("GET", f"/loki/api/v1/query_range?{urlencode(wanted)}", tool="logcli query")


def _promtool(words: list[str], options: dict[str, str]) -> Asked | None:
    if words[0] != "query":
        return None
    what, *more = words[1:]
    if what == "instant":
        return Asked("GET", f"/api/v1/query?query={quote(more[0])}&time={NOW // 1000}", tool="promtool instant")
    if what == "range":
        span = {"start": options["start"], "end": options["end"], "step": options["step"].rstrip("s")}
        return Asked("GET", f"/api/v1/query_range?{urlencode({'query': more[0], **span})}", tool="promtool range")
    if what == "series":
        return Asked("GET", f"/api/v1/series?match[]={quote(options['match'])}", tool="promtool series")
    return Asked("GET", f"/api/v1/label/{more[0]}/values", tool="promtool labels")


@cache
def rules() -> Rules:
    """The rules of that server, some rounds after its start."""
    found, began = Rules(), (NOW // 1000 - unix_seconds(0)) * SECOND
    found.load({"rules.yml": RULES})
    for at in range(-20, 1, 2):
        found.evaluate(found.groups[0], began + at * SECOND, series())
    return found


def answer_to(asked: Asked) -> Answer:
    """What the simulated program of the path answers."""
    path, _, query = asked.target.partition("?")
    if path.startswith("/loki") or path in ("/ready", "/config"):
        found = loki.handle((asked.method, path, query, asked.body), lines(), NOW_NS)
        return Answer(found.status, found.headers.get("Content-Type", "None"), found.body.decode())
    if path.startswith(("/api/traces", "/api/services", "/api/operations", "/api/dependencies", "/api/nope")):
        shown = jaeger.handle((asked.method, path, query), spans(), NOW_US)
        return Answer(shown.status, shown.content_type, shown.body)
    metadata = {name: [{"type": "gauge", "help": "x", "unit": ""}] for name in ("up", "a_total")}
    status = prometheus.Status(
        metadata=metadata, rules=partial(answers.groups, rules()), alerts=partial(answers.alerts, rules())
    )
    met = prometheus.handle((asked.method, path, query, asked.body), series(), NOW, status)
    return Answer(met.status, met.headers.get("Content-Type", "None"), met.body.decode())


def printed(asked: Asked, answer: Answer) -> str:
    """What a command-line tool prints of an answer."""
    if answer.status >= 400:
        said = json.loads(answer.body) if answer.body.startswith("{") else {}
        if asked.tool.startswith("promtool"):
            return f"query error: {said['errorType']}: {said['error']}"
        return f"error response from server: {answer.body.strip()} (<nil>) attempts remaining: 0"
    data = json.loads(answer.body)["data"]
    if asked.tool in ("promtool labels", "logcli labels"):
        return "\n".join(sorted(data))
    if asked.tool == "promtool series":
        return "\n".join(f"{{{_listed(one)}}}" for one in data)
    if asked.tool == "logcli series":
        return "\n".join(f"{{{_listed(one, '')}}}" for one in data)
    if asked.tool == "promtool instant":
        return "\n".join(_named(one["metric"]) + f" => {one['value'][1]} @[0]" for one in data["result"])
    entries = [(t, line) for one in data["result"] for t, line in one["values"]]
    return "\n".join(line for _, line in sorted(entries, reverse=True))


def _listed(labels: dict[str, str], between: str = "") -> str:
    return ", ".join(f'{name}{between}="{value}"' for name, value in sorted(labels.items()))


def _named(metric: dict[str, str]) -> str:
    return metric.get("__name__", "") + f"{{{_listed({k: v for k, v in metric.items() if k != '__name__'})}}}"


def recorded_of(text: str) -> tuple[Answer | None, str]:
    """A recorded answer, or what a tool printed."""
    head, _, body = text.lstrip("\n").partition("\n")
    match = re.match(r"# HTTP (\d+) Content-Type: (.*)", head)
    return (Answer(int(match[1]), match[2], body), "") if match else (None, text)


def alike(asked: Asked, mine: Answer, theirs: Answer) -> bool:
    """Whether two answers have the same form."""
    if (mine.status, mine.kind) != (theirs.status, theirs.kind):
        return False
    if "json" not in theirs.kind:
        return mine.body.strip() == theirs.body.strip()
    one, other = json.loads(mine.body), json.loads(theirs.body)
    if theirs.status >= 400:
        return bool(one == other)
    if asked.target.startswith("/api/v1/metadata"):
        one, other = list(one["data"].values()), list(other["data"].values())
    return bool(shape(one) == shape(other))


def sane(asked: Asked, mine: Answer) -> bool:
    """Whether an answer has the form that all of its program have."""
    if "json" not in mine.kind:
        return bool(mine.body.strip()) or mine.status == 204
    found, path = json.loads(mine.body), asked.target
    if path.startswith(("/loki", "/ready", "/config")) or "/status/" in path or "stats" in path:
        return isinstance(found, dict)
    if path.startswith("/api/v1/"):
        wanted = {"status", "errorType", "error"} if mine.status >= 400 else {"status", "data"}
        return wanted <= set(found) and (found["status"] == "error") == (mine.status >= 400)
    return {"data", "errors"} <= set(found) and (found["errors"] is not None) == (mine.status >= 400)


def compared(folder: Path) -> Iterator[tuple[str, str, Answer | None]]:
    """Name, verdict (`same`, `differs`, `sane`, `odd`) and answer of every request of a folder."""
    for command in sorted(folder.glob("*.cmd")):
        asked, out = asked_of(command.read_text()), command.with_suffix(".out")
        if asked is None:  # `promtool check rules`, of the file with the rules
            count = sum(len(group.rules) for group in rules().groups)
            same = f"SUCCESS: {count} rules found" in out.read_text()
            yield command.stem, "same" if same else "differs", None
            continue
        mine = answer_to(asked)
        if not out.exists():
            yield command.stem, "sane" if sane(asked, mine) else "odd", mine
            continue
        theirs, text = recorded_of(out.read_text())
        if theirs is not None:
            same = alike(asked, mine, theirs)
        elif "query-jsonl" in command.stem:
            same = [json.loads(line)["line"] for line in text.strip().split("\n")] == printed(asked, mine).split("\n")
        else:
            said, shown = (_VARIES.sub("", each) for each in (text, printed(asked, mine)))
            same = _sorted(shown) == _sorted(said.split("\n## STDERR")[0]) or (mine.status >= 400 and shown in said)
        yield command.stem, "same" if same else "differs", mine


def _sorted(text: str) -> list[str]:
    """Lines in an order of their own: that of a real one is random."""
    return sorted(line.strip() for line in text.strip().split("\n"))


def main(folder: str) -> int:
    """Print the figures, and what differs; exit status 1 if something does."""
    found = list(compared(Path(folder)))
    for name, verdict, answer in found:
        if verdict in ("differs", "odd"):
            print(f"{verdict}: {name}: {answer}")
    count = {word: sum(verdict == word for _, verdict, _ in found) for word in ("same", "differs", "sane", "odd")}
    print(f"{count['same']} of {count['same'] + count['differs']} recorded answers have the same form")
    print(f"{count['sane']} of {count['sane'] + count['odd']} other requests have an answer of the program's form")
    return 1 if count["differs"] + count["odd"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
