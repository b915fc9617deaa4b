"""Rules about drives that answer too slowly and report no error: found by their numbers."""

from __future__ import annotations

from simcluster.agents.runbook.hardware import claims_of, new_volume
from simcluster.agents.runbook.reading import Act, Finding, Reading, condition_of

#: Milliseconds of a read from which on no healthy drive is that slow at so few of them, and how busy it is meanwhile.
SLOW_MS, BUSY_PERCENT = 150.0, 60.0
#: So many seconds are looked at.
SPAN_S = 10


def slow_drives(reading: Reading) -> list[Finding]:
    """Drives that need hundreds of milliseconds for a read: the stores that wait for them get volumes elsewhere."""
    findings = []
    for node in reading.objects("nodes"):
        name = node["metadata"]["name"]
        stores = _stores_on(reading, name)
        if not stores or condition_of(node, "Ready").get("status") != "True":
            continue
        shell = reading.session.node(name)
        for device, waits_ms, busy in drives(shell.sh(f"iostat -dxy {SPAN_S} 1").stdout):
            if waits_ms < SLOW_MS or busy < BUSY_PERCENT:
                continue
            shell.sh(f"smartctl -H /dev/{device}")
            acts: list[Act] = []
            for namespace, store, claims in stores:
                log = reading.session.kubectl(f"logs deployment/{store} -n {namespace} --tail=40").stdout
                if "Slow query" in log or "duration:" in log:
                    acts += new_volume(reading, namespace, store, name, claims)
            mechanism = "the disk is fail-slow: I/O latency of hundreds of milliseconds without errors"
            findings.append(Finding(f"Node/{name}", mechanism, {"device": device}, (name,), tuple(acts)))
    return findings


def drives(text: str) -> list[tuple[str, float, float]]:
    """Name, mean wait of a request in milliseconds and busy share in per cent of every drive in `iostat -dx`.

    >>> drives("Device r/s r_await w/s w_await f/s f_await %util\\nsda 4.0 900.0 0.0 0.0 0.0 0.0 99.0\\n")
    [('sda', 900.0, 99.0)]
    """
    found, heads = [], []
    for line in text.splitlines():
        cells = line.split()
        if cells and cells[0] == "Device":
            heads = cells
        elif heads and len(cells) == len(heads):
            row = dict(zip(heads[1:], map(float, cells[1:]), strict=True))
            reads, writes = row.get("r/s", 0.0), row.get("w/s", 0.0)
            waits = reads * row.get("r_await", 0.0) + writes * row.get("w_await", 0.0)
            found.append((cells[0], waits / max(0.1, reads + writes), row.get("%util", 0.0)))
    return found


def _stores_on(reading: Reading, node: str) -> list[tuple[str, str, list[str]]]:
    """Deployments with claims whose pods run on a node."""
    found = []
    for namespace in reading.namespaces:
        for deployment in reading.objects("deployments", namespace):
            claims = claims_of(deployment)
            nodes = [pod["spec"].get("nodeName") for pod in reading.pods_of(deployment)]
            if claims and node in nodes:
                found.append((namespace, deployment["metadata"]["name"], claims))
    return found
