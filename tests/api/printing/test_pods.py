import pytest

from simcluster.api import printing
from simcluster.api.resources import BUILT_IN
from simcluster.engine import SECOND, format_rfc3339

POD = BUILT_IN.by_name["pods"]
NOW = 1000 * SECOND


def ago(seconds):
    return format_rfc3339(NOW - seconds * SECOND)


def container(state=None, restarts=0, ready=False, last=None, name="c", **rest):
    status = {"name": name, "restartCount": restarts, "ready": ready, "state": state or {}, **rest}
    if last is not None:
        status["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": ago(last)}}
    return status


RUNNING = {"running": {"startedAt": ago(50)}}


def waiting(reason):
    return {"waiting": {"reason": reason}}


def terminated(code, reason="", **rest):
    return {"terminated": {"exitCode": code, "reason": reason, **rest}}


def cells(statuses=(), init=(), phase="Running", conditions=(), deleted=False, reason="", specs=None, init_specs=None):
    metadata = {"name": "p", "creationTimestamp": ago(300)}
    if deleted:
        metadata["deletionTimestamp"] = ago(0)
    spec = {"containers": specs or [{"name": s["name"]} for s in statuses] or [{"name": "c"}]}
    if init or init_specs:
        spec["initContainers"] = init_specs or [{"name": s["name"]} for s in init]
    status = {"phase": phase, "conditions": [dict(c) for c in conditions], "containerStatuses": list(statuses)}
    if init:
        status["initContainerStatuses"] = list(init)
    if reason:
        status["reason"] = reason
    pod = {"metadata": metadata, "spec": spec, "status": status}
    return printing.table(POD, [pod], now_ns=NOW)["rows"][0]["cells"]


INITIALIZED = ({"type": "Initialized", "status": "True"},)


@pytest.mark.parametrize(
    ("shown", "arguments"),
    [
        (["1/1", "Running", "0"], {"statuses": [container(RUNNING, ready=True)]}),
        (["0/1", "Pending", "0"], {"phase": "Pending"}),
        (
            ["0/1", "ContainerCreating", "0"],
            {"statuses": [container(waiting("ContainerCreating"))], "phase": "Pending"},
        ),
        (
            ["0/1", "CrashLoopBackOff", "3 (20s ago)"],
            {"statuses": [container(waiting("CrashLoopBackOff"), restarts=3, last=20)]},
        ),
        (["0/1", "Error", "0"], {"statuses": [container(terminated(1, "Error"))], "phase": "Failed"}),
        (["0/1", "OOMKilled", "1 (7s ago)"], {"statuses": [container(terminated(137, "OOMKilled"), 1, last=7)]}),
        (["0/1", "ExitCode:3", "0"], {"statuses": [container(terminated(3))]}),
        (["0/1", "Signal:9", "0"], {"statuses": [container(terminated(0, signal=9))]}),
        (["0/1", "Completed", "0"], {"statuses": [container(terminated(0, "Completed"))], "phase": "Succeeded"}),
        (
            ["1/2", "NotReady", "0"],
            {"statuses": [container(terminated(0, "Completed"), name="a"), container(RUNNING, ready=True, name="b")]},
        ),
        (
            ["1/2", "Error", "5 (3s ago)"],
            {
                "statuses": [
                    container(terminated(1, "Error"), restarts=4, last=3, name="a"),
                    container(RUNNING, ready=True, restarts=1, last=90, name="b"),
                ]
            },
        ),
        (["1/1", "Terminating", "0"], {"statuses": [container(RUNNING, ready=True)], "deleted": True}),
        (
            ["1/1", "Unknown", "0"],
            {"statuses": [container(RUNNING, ready=True)], "deleted": True, "reason": "NodeLost"},
        ),
        (
            ["0/1", "Completed", "0"],
            {"statuses": [container(terminated(0, "Completed"))], "phase": "Succeeded", "deleted": True},
        ),
        (["0/1", "Evicted", "0"], {"phase": "Failed", "reason": "Evicted"}),
        (
            ["0/1", "SchedulingGated", "0"],
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
            },
        ),
        (
            ["0/1", "Init:0/2", "0"],
            {"init": [container(RUNNING, name="i"), container(waiting("PodInitializing"), name="j")]},
        ),
        (["0/1", "Init:Error", "1 (9s ago)"], {"init": [container(terminated(1, "Error"), 1, last=9, name="i")]}),
        (["0/1", "Init:ExitCode:4", "0"], {"init": [container(terminated(4), name="i")]}),
        (["0/1", "Init:CrashLoopBackOff", "2"], {"init": [container(waiting("CrashLoopBackOff"), 2, name="i")]}),
        (
            ["1/1", "Running", "0"],
            {
                "init": [container(terminated(0, "Completed"), 2, last=100, name="i")],
                "statuses": [container(RUNNING, ready=True)],
                "conditions": INITIALIZED,
            },
        ),
        (
            ["2/2", "Running", "1"],
            {
                "init": [container(RUNNING, 1, ready=True, started=True, name="side")],
                "init_specs": [{"name": "side", "restartPolicy": "Always"}],
                "statuses": [container(RUNNING, ready=True)],
            },
        ),
    ],
)
def test_ready_status_and_restarts(shown, arguments):
    assert cells(**arguments)[1:4] == shown


def test_wide_cells():
    pod = {
        "metadata": {"name": "p", "creationTimestamp": ago(65)},
        "spec": {"containers": [{"name": "c"}], "nodeName": "worker-1", "readinessGates": [{"conditionType": "x"}]},
        "status": {"podIPs": [{"ip": "10.244.1.2"}], "conditions": [{"type": "x", "status": "True"}]},
    }
    row = printing.table(POD, [pod], now_ns=NOW)["rows"][0]
    assert row["cells"][4:] == ["65s", "10.244.1.2", "worker-1", "<none>", "1/1"]
    assert "conditions" not in row


def test_finished_pods_say_so_in_their_row():
    pod = {"metadata": {"name": "p"}, "spec": {"containers": []}, "status": {"phase": "Failed"}}
    row = printing.table(POD, [pod], now_ns=NOW)["rows"][0]
    assert row["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]
    assert row["cells"][4] == "<unknown>"
