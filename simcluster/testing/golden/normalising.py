"""What differs between any two runs, replaced by marks, for folders that bring no rules of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_RULES: tuple[tuple[str, str], ...] = (
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<UID>"),
    (r"\b[0-9a-f]{64}\b", "<HEX64>"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b", "<TIME>"),
    (r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\b", "<TIME>"),
    (r"(?m)^([EWI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", r"\1<KLOG> "),
    (r'(resourceVersion"?: "?)\d+', r"\1<RV>"),
    (rf"\b([a-z][a-z0-9-]*?-[{_SAFE}]{{6,10}})-[{_SAFE}]{{5}}\b", r"\1-<SFX>"),
    (r"(?<=-)[456789bcdf]{8,10}(?![\w])", "<HASH>"),
    (r"((?:pod-template|controller-revision)-hash[=:] ?\"?)[\w-]*?[456789bcdf]{8,10}\b", r"\1<HASH>"),
    (r"\b10\.244\.\d+\.\d+\b", "<POD_IP>"),
    (r"\b10\.96\.(?!0\.10?\b)\d+\.\d+\b", "<CLUSTER_IP>"),
    (r"\b\d+(?:\.\d+)?(?:ms|µs)\b", "<DUR>"),
    (r"\bin (?:<DUR>|[\d.]+s) \((?:<DUR>|[\d.]+s) including waiting\)", "in <DUR> (<DUR> including waiting)"),
    (r"\(x\d+ over (?:\d+[dhms])+\)", "(x<N> over <AGE>)"),
    (r"(?<![\w.=:-])(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?<=[dhms])(?= ago| |$|\n|\))", "<AGE>"),
    (r"\b\.[0-9a-f]{16}\b", ".<EVID>"),
    (r"[ \t]+", " "),
    (r" +\n", "\n"),
    (r"-{3,}", "---"),
)


def normalise(text: str, more: Iterable[tuple[str, str]] = ()) -> str:
    """The comparable form of a text; `more` are patterns and marks of its recording."""
    for pattern, mark in (*more, *_RULES):
        text = re.sub(pattern, mark, text)
    return text
