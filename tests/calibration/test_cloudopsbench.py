"""A case that is written by a simulation can be read, lived through and written again, and tells of the same fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.calibration.cloudopsbench.case import Case, CaseError, read_case, rows, seconds
from simcluster.calibration.cloudopsbench.errorlogs import error_logs
from simcluster.cli import main

TASK = "wrong_service_selector_online_boutique"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("case") / "first"
    assert main(["export", TASK, "--format", "cloudopsbench", "--out", str(out)]) == 0
    return out


def cache_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "tool_cache.json").read_text())
    return found


def answer(folder: Path, tool: str, **arguments: Any) -> Any:
    return cache_of(folder)[f"{tool}:{json.dumps(arguments, separators=(',', ':'))}"]


def test_every_tool_has_its_answers(exported: Path) -> None:
    tools = {key.partition(":")[0] for key in cache_of(exported)}
    wanted = {"GetResources", "DescribeResource", "GetAppYAML", "GetErrorLogs", "CheckServiceConnectivity"}
    wanted |= {"GetAlerts", "GetServiceDependencies", "GetClusterConfiguration", "CheckNodeServiceStatus"}
    wanted |= {"collection_timestamp"}
    assert wanted == tools
    assert json.loads((exported / "metadata.json").read_text())["namespace"] == "boutique"


def test_the_fault_shows_in_the_answers(exported: Path) -> None:
    endpoints = answer(exported, "GetResources", resource_type="endpoints", name="", namespace="boutique")
    lost = [row["NAME"] for row in rows(endpoints) if row["ENDPOINTS"] in ("<none>", "")]
    assert len(lost) == 1
    port = next(key for key in cache_of(exported) if key.startswith("CheckService") and f'"{lost[0]}"' in key)
    assert "Connection Failed" in cache_of(exported)[port]
    assert "no endpoints" in json.dumps(cache_of(exported)) or "refused" in json.dumps(cache_of(exported))


def test_a_case_is_lived_through_again(exported: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert main(["run", "--from", str(exported), "--out", str(again)]) == 0
    here = {row["NAME"]: row["ENDPOINTS"] in ("<none>", "") for row in read_case(exported).table("endpoints")}
    there = {row["NAME"]: row["ENDPOINTS"] in ("<none>", "") for row in read_case(again).table("endpoints")}
    assert here == there
    assert read_case(again).fault == read_case(exported).fault


def test_stopped_services_nodes_and_quotas_are_read_from_a_case(exported: Path, tmp_path: Path) -> None:
    cache = cache_of(exported)
    key = 'CheckNodeServiceStatus:{"node_name":"worker-1","service_name":"kubelet"}'
    stamp = cache["collection_timestamp"][:19].replace("T", " ")
    cache[key] = f"Active: inactive (dead) since Mon {stamp} UTC; 10s ago"
    described = "Name: q\nResource  Used  Hard\n--------  ----  ----\npods  10  10\n"
    cache['DescribeResource:{"resource_type":"resourcequota","name":"q","namespace":"boutique"}'] = described
    (tmp_path / "tool_cache.json").write_text(json.dumps(cache))
    (tmp_path / "metadata.json").write_text(json.dumps({"namespace": "boutique"}))
    case = read_case(tmp_path)
    assert [(node, service) for node, service, _ in case.stopped] == [("worker-1", "kubelet")]
    assert case.extra[0]["spec"] == {"hard": {"pods": "10"}}
    assert {node.name: node.control_plane for node in case.nodes}["control-plane"]


def test_what_is_no_case_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"no tool_cache\.json"):
        read_case(tmp_path)
    (tmp_path / "tool_cache.json").write_text("{")
    (tmp_path / "metadata.json").write_text("{}")
    with pytest.raises(CaseError):
        read_case(tmp_path)
    (tmp_path / "tool_cache.json").write_text("{}")
    (tmp_path / "metadata.json").write_text('{"namespace": "boutique"}')
    with pytest.raises(CaseError, match="nothing of manifests and nodes"):
        read_case(tmp_path)
    assert main(["run", "--from", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert main(["run"]) == 2


@pytest.mark.parametrize(
    ("age", "expected"), [("5m45s", 345), ("1h 8min", 4080), ("1 day 13h", 133200), ("14d", 1209600)]
)
def test_ages_are_read(age: str, expected: float) -> None:
    assert seconds(age) == expected


def test_lines_of_errors_are_grouped() -> None:
    found = error_logs([f"error of request {n}" for n in range(5)] + ["fine"] * 5)
    assert found["total_errors"] == 5
    assert [one["count"] for one in found["patterns"]] == [5]
    assert error_logs(["fine"]) == {}


_MEMBER = """\
Name:             tsdb-mysql-0
Start Time:       Fri, 13 Mar 2026 20:37:20 +0800
Containers:
  mysql:
    State:          Running
  xenon:
    State:          Running
      Started:      Fri, 13 Mar 2026 20:41:13 +0800
    Last State:     Terminated
      Reason:       Completed
      Exit Code:    0
      Started:      Fri, 13 Mar 2026 20:37:23 +0800
      Finished:     Fri, 13 Mar 2026 20:41:13 +0800
    Ready:          True
"""
_SET = "Name:               tsdb-mysql\nCreationTimestamp:  Fri, 13 Mar 2026 20:37:19 +0800\n"


def case_of(tmp_path: Path, alerts: dict[str, Any], ready: str) -> Case:
    cache = {
        "collection_timestamp": "2026-03-13T20:48:00",
        'GetResources:{"resource_type":"pods","name":"","namespace":"t"}': (
            "NAME           READY   STATUS    RESTARTS   AGE\ntsdb-mysql-0   3/3     Running   1          9m20s\n"
        ),
        'GetResources:{"resource_type":"deployments","name":"","namespace":"t"}': (
            "NAME                READY   UP-TO-DATE   AVAILABLE   AGE\n"
            f"ts-travel-service   {ready}     1            1           9m\n"
        ),
        'DescribeResource:{"resource_type":"pods","name":"tsdb-mysql-0","namespace":"t"}': _MEMBER,
        'DescribeResource:{"resource_type":"statefulsets","name":"tsdb-mysql","namespace":"t"}': _SET,
        'GetAppYAML:{"app_name":"ts-ui-dashboard"}': "kind: Service\nmetadata: {name: ts-ui-dashboard}\n",
        "GetAlerts:{}": alerts,
    }
    return Case(tmp_path, "t", cache, {"fault_object": "app/ts-seat-service"})


def test_what_a_case_tells_of_its_database_its_users_and_a_delay(tmp_path: Path) -> None:
    evidence = [
        "THROUGHPUT_DROP [RPS] | Normal=2",
        "LATENCY_DEGRADATION | p50latency: Normal=20.00ms -> Current=3020.00ms",
    ]
    slow = case_of(tmp_path, {"alerts": [{"name": "ts-seat-service", "evidence": evidence}]}, "1/1")
    assert slow.founded_s("tsdb-mysql") == 561
    assert slow.founded_s("nacosdb-mysql") is None
    assert slow.restarted_s("tsdb-mysql", "xenon") == [("tsdb-mysql-0", 327)]
    assert slow.restarted_s("tsdb-mysql", "mysql") == []
    assert slow.delay_s == 3.0
    assert slow.users_rps > 0
    clean = {"status": "clean", "alerts": []}
    assert case_of(tmp_path, clean, "0/1").users_rps == 0  # a search would have failed: nobody searched
    assert case_of(tmp_path, clean, "1/1").users_rps > 0
