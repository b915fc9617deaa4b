"""Asks a real Prometheus the queries of `incidents`, and compares.

    python -m tests.telemetry.promql.oracle PROMETHEUS            # says which answers differ
    python -m tests.telemetry.promql.oracle PROMETHEUS RECORDING  # writes its answers down

PROMETHEUS is the server's binary; it runs on loopback with a store in a temporary folder and gets the samples by remote
write, markers of staleness included. The recording holds a line of JSON for each query.
"""

from __future__ import annotations

import json
import lzma
import math
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from simcluster.telemetry.promql.context import Options
from simcluster.telemetry.promql.http import handle
from simcluster.telemetry.promql.storage import Labels, Queryable
from tests.telemetry.promql.incidents import START_MS, Asked, queries, samples

#: Debian's server is one of 2.x.
TWO = Options(closed=True)
TOLERANCE = 1e-9
#: Values by millisecond, of each series.
Samples = Mapping[Labels, Mapping[int, float]]


def request(asked: Asked) -> tuple[str, str]:
    """Path and query string."""
    if not asked.step_ms:
        return "/api/v1/query", urllib.parse.urlencode({"query": asked.text, "time": asked.start_ms / 1000})
    span = {"start": asked.start_ms / 1000, "end": asked.end_ms / 1000, "step": asked.step_ms / 1000}
    return "/api/v1/query_range", urllib.parse.urlencode({"query": asked.text, **span})


def ours(store: Queryable, asked: Asked) -> Any:
    path, query = request(asked)
    answer = handle(("GET", path, query, b""), store, START_MS, options=TWO)
    return {"status": answer.status, **json.loads(answer.body)}


def equal(a: Any, b: Any) -> bool:
    """The same answer: series in any order, numbers within the tolerance."""
    if a.get("status") != b.get("status"):
        return False
    if "data" not in a:
        return bool(a.get("errorType") == b.get("errorType"))
    one, other = a["data"], b["data"]
    if one["resultType"] != other["resultType"]:
        return False
    if one["resultType"] in ("scalar", "string"):
        return _same(one["result"], other["result"])
    left, right = _by_labels(one["result"]), _by_labels(other["result"])
    return left.keys() == right.keys() and all(_samples(left[key], right[key]) for key in left)


def _by_labels(found: Any) -> dict[str, list[Any]]:
    return {json.dumps(one["metric"], sort_keys=True): one.get("values") or [one["value"]] for one in found}


def _samples(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: list[Any], b: list[Any]) -> bool:
    if abs(a[0] - b[0]) > 1e-6:
        return False
    x, y = float(a[1]), float(b[1])
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or abs(x - y) <= TOLERANCE * max(abs(x), abs(y))


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _snappy(data: bytes) -> bytes:
    """Snappy's block format with literals only."""
    out = bytearray(_varint(len(data)))
    for at in range(0, len(data), 60):
        part = data[at : at + 60]
        out += bytes([(len(part) - 1) << 2]) + part
    return bytes(out)


def _written(every: Samples) -> Iterator[bytes]:
    """Bodies of remote write, one for a minute of samples."""
    minutes: dict[int, list[bytes]] = {}
    for labels, found in every.items():
        named, parts = _labels(labels), dict[int, bytes]()
        for at, value in sorted(found.items(), key=itemgetter(0)):
            parts[at // 60_000] = parts.get(at // 60_000, b"") + _field(2, _sample(at, value))
        for minute, inside in parts.items():
            minutes.setdefault(minute, []).append(_field(1, named + inside))
    for minute in sorted(minutes):
        yield _snappy(b"".join(minutes[minute]))


def _labels(labels: Labels) -> bytes:
    return b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in labels)


def _sample(at: int, value: float) -> bytes:
    return b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(at)


class Server:
    """A real Prometheus with the samples in it."""

    def __init__(self, binary: str, every: Samples) -> None:
        self.binary, self.every = binary, every

    def __enter__(self) -> Server:
        self.folder = tempfile.TemporaryDirectory()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        config = Path(self.folder.name) / "prometheus.yml"
        config.write_text("global: {}\n")
        command = [self.binary, f"--config.file={config}", f"--storage.tsdb.path={self.folder.name}/data"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-remote-write-receiver"]
        command += ["--storage.tsdb.retention.time=100y", "--log.level=error"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while self.get("/-/ready", "")[0] != 200:
            assert time.monotonic() < deadline, "Prometheus does not start"
            time.sleep(0.1)
        for body in _written(self.every):
            headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
            post = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/write", body, headers)
            with urllib.request.urlopen(post) as answer:
                assert answer.status == 204
        return self

    def __exit__(self, *failure: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def get(self, path: str, query: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}?{query}") as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def answer(self, asked: Asked) -> Any:
        status, body = self.get(*request(asked))
        return {"status": status, **json.loads(body)}


def recorded(path: Path) -> Iterator[tuple[Asked, Any]]:
    """Queries and the answers that were written down."""
    with lzma.open(path, "rt") as lines:
        for line in lines:
            content = json.loads(line)
            yield Asked(*content["asked"]), content["answer"]


def main(binary: str, recording: str = "") -> None:
    """Ask everything."""
    store = samples()
    wrong, lines = 0, []
    with Server(binary, store.samples) as server:
        for asked in queries():
            theirs = server.answer(asked)
            lines.append(json.dumps({"asked": asked, "answer": theirs}, separators=(",", ":")))
            mine = ours(store, asked)
            if not equal(mine, theirs):
                wrong += 1
                print(f"{asked}\n  theirs {str(theirs)[:600]}\n  ours   {str(mine)[:600]}")
    if recording:
        with lzma.open(recording, "wt") as out:
            out.write("\n".join(lines) + "\n")
    print(f"{len(lines) - wrong} of {len(lines)} equal")


if __name__ == "__main__":
    main(*sys.argv[1:])
