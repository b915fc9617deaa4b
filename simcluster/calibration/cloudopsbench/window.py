"""The window of metrics beside a recorded case, as series of Prometheus.

Its rows are rates, five seconds apart; a counter is what they add up to. Requests are those of a service mesh, which
counts none of what speaks another protocol than HTTP or gRPC: of such a service the column of requests says nothing.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Iterator

from simcluster.calibration.cloudopsbench.case import Case
from simcluster.calibration.record.series import Sample, labels_text

METRICS = "metrics.csv"
WINDOW_REMARK = "counters are sums of rates that Prometheus took over tens of seconds"
#: What a column is: a counter of which it is the rate, or a gauge.
_COUNTERS = {"cpu": "container_cpu_usage_seconds_total", "cpu_cfs": "container_cpu_cfs_throttled_seconds_total",
             "rps": "istio_requests_total"}  # fmt: skip
_GAUGES = {"mem": "container_memory_working_set_bytes", "p50latency": "istio_request_duration_milliseconds"}
_TCP = re.compile(r"tcp(-|$)")


def window_samples(case: Case) -> Iterator[Sample]:
    """Samples of every service of the case's `metrics.csv`; none if it has no such file.

    Raises:
        ValueError: a row is not of this form (file and line).
    """
    path = next((one for one in (case.folder / METRICS, case.folder / "raw_data" / METRICS) if one.is_file()), None)
    if path is None:
        return
    asked = _asked(case)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        head = next(rows, [])
        if head[:1] != ["time"]:
            raise ValueError(f"{path}:1: the first column is not time")
        totals = dict.fromkeys(head, 0.0)
        before_ms = None
        for number, row in enumerate(rows, 2):
            try:
                stamp = datetime.datetime.fromisoformat(row[0]).replace(tzinfo=datetime.UTC)
                values = {name: float(cell) for name, cell in zip(head[1:], row[1:], strict=True) if cell}
            except (ValueError, IndexError) as problem:
                raise ValueError(f"{path}:{number}: {problem}") from None
            t_ms = round(stamp.timestamp() * 1000)
            span_s = 0.0 if before_ms is None else (t_ms - before_ms) / 1000
            before_ms = t_ms
            for name, value in values.items():
                service, _, metric = name.rpartition("-")
                if metric in _COUNTERS and (metric != "rps" or service in asked):
                    totals[name] += value * span_s
                    label = "destination_workload" if metric == "rps" else "service"
                    yield Sample(_COUNTERS[metric], labels_text({label: service}), t_ms, totals[name])
                elif metric in _GAUGES:
                    quantile = {"quantile": "0.5"} if metric == "p50latency" else {}
                    yield Sample(_GAUGES[metric], labels_text({"service": service, **quantile}), t_ms, value)


def _asked(case: Case) -> set[str]:
    """Services whose requests a mesh counts: those with a port that is not said to be of another protocol."""
    found = set()
    for name, documents in case.manifests.items():
        for one in documents:
            ports = (one.get("spec") or {}).get("ports") or () if one["kind"] == "Service" else ()
            if ports and not all(_TCP.match(str(port.get("name", ""))) for port in ports):
                found.add(name)
    return found
