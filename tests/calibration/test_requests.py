"""Recorded requests, replayed one by one: the model foretells what becomes of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcluster.calibration.importing import import_as
from simcluster.calibration.requests import Slowed, retrace
from simcluster.calibration.services import fit_services
from simcluster.cli import main
from simcluster.engine import SECOND

Spans = list[dict[str, Any]]


def _request(chance: random.Random, number: int, at_s: float, store_mean_s: float) -> Spans:
    """A web service that works 4 ms and asks a store once, which has a worker for everybody."""
    own, asked = chance.expovariate(1 / 0.004), chance.expovariate(1 / store_mean_s)
    begin = round(at_s * 1e9)
    common = {"error": False, "kind": "server", "tags": {}}
    web = {**common, "id": f"w{number}", "parent": "", "service": "web", "operation": "serve"}
    store = {**common, "id": f"s{number}", "parent": f"w{number}", "service": "store", "operation": "get"}
    inside = round(own * 0.5e9)
    web |= {"start_ns": begin, "duration_ns": round((own + asked) * 1e9)}
    store |= {"start_ns": begin + inside, "duration_ns": round(asked * 1e9)}
    return [web, store]


def _recorded(seed: int, slow: float = 1.0) -> list[Spans]:
    """Two minutes at 20 requests a second; from 40 to 80 s the store works `slow` times as long."""
    chance, at_s, found = random.Random(seed), 0.0, []
    while at_s < 120:
        at_s += chance.expovariate(20)
        found.append(_request(chance, len(found), at_s, 0.010 * (slow if 40 <= at_s < 80 else 1)))
    return found


@pytest.fixture(scope="module")
def graph() -> dict[str, Any]:
    fitted = fit_services(_recorded(1))
    assert fitted is not None
    return fitted.graph


def test_healthy_requests_are_foretold(graph: dict[str, Any]) -> None:
    found = retrace(_recorded(2), graph).to_dict()
    assert len(found["windows"]) >= 12
    assert found["p50"] < 0.12
    assert all(one["coverage"] > 0.8 for one in found["windows"] if one["coverage"] is not None)


def test_a_slow_stretch_shows_in_its_own_spans(graph: dict[str, Any]) -> None:
    recorded = _recorded(3, slow=4.0)
    known = retrace(recorded, graph, [Slowed.parse("store@40s-80s")])
    assert 3.3 < next(iter(known.slowed.values())) < 4.8
    assert known.to_dict()["p50"] < 0.15
    ignored = {one.begin_s: one.to_dict() for one in retrace(recorded, graph).windows}
    assert ignored[60]["p50"]["error"] < -0.5  # nobody said that the store was slow
    assert abs(ignored[20]["p50"]["error"]) < 0.3


def test_of_a_sample_the_rest_comes_unseen(graph: dict[str, Any]) -> None:
    narrow = json.loads(json.dumps(graph))
    narrow["services"]["store"]["workers"] = 1
    narrow["services"]["store"]["operations"]["get"]["work"] = {"law": "exponential", "mean": "30ms"}
    sampled = [trace for number, trace in enumerate(_recorded(4)) if number % 4 == 0]
    alone, among = (retrace(sampled, narrow, sampled=share).to_dict() for share in (1.0, 0.25))
    waits = [sum(window["p90"]["foretold"] for window in one["windows"]) for one in (alone, among)]
    assert waits[1] > 1.5 * waits[0]  # they wait for those whom nobody traced


def test_the_command_prints_windows_and_refuses_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], graph: dict[str, Any]
) -> None:
    resources = [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": span["service"]}}]},
            "scopeSpans": [{"spans": [_otlp(span, number)]}],
        }
        for number, trace in enumerate(_recorded(5)[:600])
        for span in trace
    ]
    (tmp_path / "otlp.json").write_text(json.dumps({"resourceSpans": resources}))
    import_as("otlp", tmp_path / "otlp.json", tmp_path / "rec")
    (tmp_path / "p.yaml").write_text(yaml.safe_dump({"services": graph}))
    given = ["calibrate", "replay", str(tmp_path / "rec"), "--profile", str(tmp_path / "p.yaml"), "--traces"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(one["requests"] for one in found["windows"]) == 600
    assert main([*given, "--slow", "shop@1s-2s"]) == 2
    assert "no service 'shop' is traced; there are: store, web" in capsys.readouterr().err
    assert main([*given, "--slow", "store"]) == 2
    assert "such as store@40s-70s" in capsys.readouterr().err


def _otlp(span: dict[str, Any], number: int) -> dict[str, Any]:
    ids = {"traceId": f"{number:032x}", "spanId": span["id"].encode().hex().rjust(16, "0")}
    parent = span["parent"].encode().hex().rjust(16, "0") if span["parent"] else ""
    begin = span["start_ns"] + 1_700_000_000 * SECOND
    ends = {"startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + span["duration_ns"])}
    return {**ids, **ends, "parentSpanId": parent, "name": span["operation"], "kind": 2}
