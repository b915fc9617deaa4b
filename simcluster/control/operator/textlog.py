"""Lines as klog prints plain texts: `E0302 09:00:00.000000       1 file.go:12] text`."""

from __future__ import annotations

from simcluster.engine import format_rfc3339


def klog_text(level: str, now_ns: int, where: str, text: str, pid: int = 1) -> str:
    """One line; `level` is I, W, E or F."""
    stamp = format_rfc3339(now_ns, digits=6)
    return f"{level}{stamp[5:7]}{stamp[8:10]} {stamp[11:26]} {pid:7d} {where}] {text}"
