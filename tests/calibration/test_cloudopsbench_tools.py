"""The ten tools over a live incident and over the case that is written of it at the same instant."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from simcluster.calibration.cloudopsbench.snapshot import Snapshot
from simcluster.calibration.cloudopsbench.sources import CaseSource, LiveSource
from simcluster.calibration.cloudopsbench.tools import TOOLS, ToolError, Tools, definitions
from simcluster.eval.episode import Episode, start

NAMESPACE = "boutique"
CART = {"namespace": NAMESPACE, "service_name": "cartservice"}


@pytest.fixture(scope="module")
def episode() -> Episode:
    found = start("wrong_service_selector_online_boutique", 0)
    found.inbox.policy = found.inbox.policy.model_copy(update={"policy": "manual"})
    return found


@pytest.fixture(scope="module")
def live(episode: Episode) -> Tools:
    return Tools(LiveSource(episode, NAMESPACE))


@pytest.fixture(scope="module")
def case(episode: Episode, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("case")
    Snapshot(episode.fork().world, NAMESPACE).write(folder)
    return Tools(CaseSource(folder))


def test_both_answer_alike(episode: Episode, live: Tools, case: Tools) -> None:
    node = sorted(episode.world.machines)[-1]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("GetResources", {"resource_type": "svc", "namespace": NAMESPACE}),
        ("GetResources", {"resource_type": "pods", "namespace": NAMESPACE, "output_wide": True}),
        ("GetResources", {"resource_type": "pod", "namespace": NAMESPACE, "label_selector": "app=frontend"}),
        ("GetResources", {"resource_type": "nodes"}),
        ("DescribeResource", {"resource_type": "endpoints", "name": "cartservice", "namespace": NAMESPACE}),
        ("GetAppYAML", {"app_name": "cartservice"}),
        ("GetErrorLogs", {"namespace": NAMESPACE, "service_name": "frontend"}),
        ("CheckServiceConnectivity", {**CART, "port": 7070}),
        ("CheckServiceConnectivity", {"namespace": NAMESPACE, "service_name": "adservice", "port": "9555"}),
        ("GetServiceDependencies", {"service_name": "checkoutservice"}),
        ("GetClusterConfiguration", {}),
        ("CheckNodeServiceStatus", {"node_name": node, "service_name": "kube-proxy"}),
        ("CheckNodeServiceStatus", {"node_name": node, "service_name": "kubelet"}),
    ]
    before = len(episode.commands)
    for name, arguments in asked:
        assert live.call(name, arguments) == case.call(name, arguments), name
    assert len(episode.commands) > before + len(asked)
    assert "Connection Failed" in live.call(*asked[7])
    assert "open\nConnection Succeeded" in live.call(*asked[8])
    assert "version: v2" in live.call(*asked[5])
    assert live.call("GetRecentLogs", CART)[-20:] == case.call("GetRecentLogs", CART)[-20:]
    assert live.call("GetAlerts", {})["status"] == "has_anomalies"


def test_mistakes_are_answered_in_their_words(live: Tools, case: Tools) -> None:
    for tools in (live, case):
        asked = {
            "Unknown resource type 'foo'": ("GetResources", {"resource_type": "foo", "namespace": NAMESPACE}),
            "requires a specific 'namespace'": ("GetResources", {"resource_type": "pods", "shell": 1}),
            "Only one of '--show-labels'": (
                "GetResources",
                {"resource_type": "pods", "namespace": NAMESPACE, "output_wide": True, "show_labels": True},
            ),
            "form 'key=value'": (
                "GetResources",
                {"resource_type": "pods", "namespace": NAMESPACE, "label_selector": "app in (a)"},
            ),
            "not supported for secrets": (
                "GetResources",
                {"resource_type": "secrets", "namespace": NAMESPACE, "label_selector": "app=a"},
            ),
            "No resources found in default": ("GetResources", {"resource_type": "pods", "namespace": "default"}),
            '(NotFound): pods "nope" not found': (
                "DescribeResource",
                {"resource_type": "pods", "name": "nope", "namespace": NAMESPACE},
            ),
            "'nope' is not in the allowed list": ("GetAppYAML", {"app_name": "nope"}),
        }
        assert [text for text, call in asked.items() if text not in tools.call(*call)] == []
        wrong: list[tuple[Any, Any]] = [("Frob", {}), (None, {}), (["GetAlerts"], {}), ("GetAlerts", None)]
        wrong += [
            ("GetAppYAML", {}),
            ("GetAppYAML", {"app_name": ["cartservice"]}),
            ("GetResources", {"resource_type": 5}),
        ]
        wrong += [
            ("CheckServiceConnectivity", {**CART, "port": port}) for port in ("x", "9" * 5000, math.inf, math.nan)
        ]
        pods = {"resource_type": "pods", "namespace": NAMESPACE}
        wrong += [("GetResources", {**pods, "name": text}) for text in ("\ud800", "x" * 10_000)]
        for name, arguments in wrong:
            with pytest.raises(ToolError):
                tools.call(name, arguments)
        for odd in ("cart -o json", "cart'", "$(reboot)"):
            assert "(NotFound)" in tools.call("DescribeResource", {**pods, "name": odd})
    assert [one["function"]["name"] for one in definitions()] == list(TOOLS)
    assert len(TOOLS) == 10
    json.dumps(definitions())
