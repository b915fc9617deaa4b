"""A case that is written by a simulation can be read, lived through and written again, and tells of the same fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.calibration.cloudopsbench.case import CaseError, read_case, rows, seconds
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
