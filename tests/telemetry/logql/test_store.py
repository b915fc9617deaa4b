"""Where lines are kept: order, forks, what is let go."""

from __future__ import annotations

import json
import pickle

from simcluster.engine import SECOND, fork
from simcluster.telemetry.logql.files import Piece
from simcluster.telemetry.logql.push import push, take
from simcluster.telemetry.logql.store import BLOCK, LogStore, labelled
from simcluster.telemetry.logs import LogLine
from simcluster.telemetry.promql.storage import Matcher

A = labelled({"app": "a"})
APP = (Matcher("app", "=", "a"),)


def _filled(count: int) -> LogStore:
    found = LogStore()
    for at in range(count):
        found.append(A, at, f"line {at}")
    return found


def test_a_span_is_open_at_its_end() -> None:
    (stream,) = _filled(300).select(APP, 10, 13)
    assert stream == (A, [(10, "line 10"), (11, "line 11"), (12, "line 12")])
    assert _filled(300).select(APP, 300, 400) == []


def test_late_lines_are_put_in_order() -> None:
    store = LogStore()
    for at in (5, 1, 3):
        store.append(A, at, str(at))
    assert [line for _, line in store.select(APP, 0, 9)[0].entries] == ["1", "3", "5"]


def test_a_fork_and_a_pickle_have_the_same_past_and_another_future() -> None:
    store = _filled(BLOCK + 5)
    for other in (fork(store), pickle.loads(pickle.dumps(store))):
        assert other.select(APP, 0, 999) == store.select(APP, 0, 999)
        other.append(A, 500, "only there")
        assert len(store.select(APP, 0, 999)[0].entries) == BLOCK + 5
        assert other.size_bytes == store.size_bytes + len("only there")


def test_a_fork_shares_what_is_sealed() -> None:
    store = _filled(BLOCK)
    line = store.select(APP, 0, 1)[0].entries[0]
    assert fork(store).select(APP, 0, 1)[0].entries[0] is line


def test_old_blocks_go_by_age_and_by_size() -> None:
    aged = LogStore(max_age_ns=100)
    small = LogStore(max_bytes=2 * BLOCK * 3)
    for at in range(4 * BLOCK):
        aged.append(A, at, "xyz")
        small.append(A, at, "xyz")
    kept = aged.select(APP, 0, 10**9)[0].entries
    assert kept[0][0] == 3 * BLOCK
    assert small.size_bytes <= 2 * BLOCK * 3
    assert small.select(APP, 0, 10**9)[0].entries[-1] == (4 * BLOCK - 1, "xyz")
    assert small.streams(APP, 0, BLOCK) == []


def piece(count: int, position: int = 0, size: int = 0, clock_ns: int = 0) -> Piece:
    entries = tuple(LogLine(at, ("stdout", "stderr")[at % 2], f"line {at}") for at in range(position, position + count))
    return Piece(A, position, entries, size or 50 * count, clock_ns)


def test_a_file_is_two_streams_and_nothing_is_taken_twice() -> None:
    store = LogStore()
    assert take(store, [piece(6)], [], 10) == (204, "")
    assert take(store, [piece(6, 3)], [], 10) == (204, "")
    out, err = store.select(APP, 0, 99)[1], store.select(APP, 0, 99)[0]
    assert [dict(one.labels)["stream"] for one in (out, err)] == ["stdout", "stderr"]
    assert list(out.entries) == [(at, f"line {at}") for at in (0, 2, 4, 6, 8)]
    assert (
        list(reversed(list(err.entries))) == list(reversed(err.entries)) == [(at, f"line {at}") for at in (7, 5, 3, 1)]
    )
    assert [(one.lines, one.size_bytes) for one in store.volumes(APP, 3, 7)] == [(2, 12), (2, 12)]
    for other in (fork(store), pickle.loads(pickle.dumps(store))):
        assert [list(one.entries) for one in other.select(APP, 0, 99)] == [list(err.entries), list(out.entries)]


def test_a_clock_that_was_set_shows_in_later_lines_only() -> None:
    store = LogStore()
    take(store, [piece(2, clock_ns=100)], [], 200)
    take(store, [piece(2, 2, clock_ns=50)], [], 200)
    (_, out) = store.select(APP, 0, 999)
    assert list(out.entries) == [(100, "line 0"), (52, "line 2")]
    assert list(reversed(out.entries)) == [(52, "line 2"), (100, "line 0")]


def test_no_more_is_taken_than_the_limits_allow() -> None:
    store, now = LogStore(), 10 * SECOND
    big = 5 << 20
    assert take(store, [piece(5, 0, big)], [], now) == (204, "")
    status, text = take(store, [piece(5, 5, big)], [], now)
    assert (status, text.partition(",")[0]) == (
        429,
        "Ingestion rate limit exceeded for user fake (limit: 4194304 bytes/sec) while attempting to ingest '5' lines "
        "totaling '5242880' bytes",
    )
    assert take(store, [piece(5, 5, big)], [], now + 2 * SECOND)[0] == 204
    for second in range(4, 40, 2):
        status, text = take(store, [piece(5, 5 * second, 6 << 20)], [], now + second * SECOND)
    assert status == 204  # 3 MB a second pass for ever
    body = json.dumps({"streams": [{"stream": {"app": "a"}, "values": [[str(now), "x" * 200_000]] * 40}]}).encode()
    assert push(LogStore(), body, now).status == 429


def test_a_stream_that_talks_too_much_is_cut_off_alone() -> None:
    store, now, said = LogStore(), 0, ""
    for step in range(30):
        now += 1_600_000_000
        _, text = take(store, [piece(5, 5 * step, 6 << 20)], [], now)
        said = said or text
    assert "Per stream rate limit exceeded (limit: 3MB/sec) while attempting to ingest for stream '{app=" in said
    assert said.endswith("""user 'fake', total ignored: 5 out of 5 for stream: {app="a", service_name="a"}""")
    assert store.limits.admits(labelled({"app": "b"}), 1 << 20, now)


def test_lines_of_a_clock_that_is_ahead_are_refused() -> None:
    store = LogStore()
    status, text = take(store, [piece(2, clock_ns=700 * SECOND)], [], 5 * SECOND)
    assert (status, "has timestamp too new" in text, len(store)) == (400, True, 0)
