"""What GetErrorLogs makes of an application's lines: those that tell of errors, grouped by what they have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: A line tells of an error if it has one of these words.
_TELLING = re.compile(r"(?i)error|exception|fatal|panic|traceback|denied")
_VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{12,}\b|\d+")
#: At most so many groups.
_GROUPS = 20


def error_logs(lines: Sequence[str]) -> dict[str, Any]:
    """Count, share and a sample of each group of lines; empty if none tells of an error.

    >>> error_logs(["ok", "error 1", "error 2"])["patterns"]
    [{'count': 2, 'ratio': 0.6667, 'sample': 'error 1'}]
    """
    groups: dict[str, list[str]] = {}
    for line in lines:
        if _TELLING.search(line):
            groups.setdefault(_VARYING.sub("#", line), []).append(line)
    if not groups:
        return {}
    total, errors = len(lines), sum(map(len, groups.values()))
    largest = sorted(groups.values(), key=len, reverse=True)[:_GROUPS]
    patterns = [{"count": len(one), "ratio": round(len(one) / total, 4), "sample": one[0]} for one in largest]
    return {
        "total_log_count": total,
        "total_errors": errors,
        "total_error_ratio": round(errors / total, 4),
        "patterns": patterns,
    }
