"""Numbers, durations and texts as the template functions of Prometheus write them (`template/template.go`)."""

from __future__ import annotations

import math
import re

from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.promql import text


def general(value: float, digits: int = 4) -> str:
    """Go's `%.4g`.

    >>> general(1234.5678), general(0.00001234), general(100000.0)
    ('1235', '1.234e-05', '1e+05')
    """
    if math.isnan(value) or math.isinf(value):
        return text.decimal(value)
    return f"{value:.{digits}g}"


def humanize(value: float) -> str:
    """With a metric prefix.

    >>> humanize(1234567.0), humanize(0.00012), humanize(0.0)
    ('1.235M', '120u', '0')
    """
    if value == 0 or math.isnan(value) or math.isinf(value):
        return general(value)
    prefix = ""
    if abs(value) >= 1:
        for unit in ("k", "M", "G", "T", "P", "E", "Z", "Y"):
            if abs(value) < 1000:
                break
            prefix, value = unit, value / 1000
    else:
        for unit in ("m", "u", "n", "p", "f", "a", "z", "y"):
            if abs(value) >= 1:
                break
            prefix, value = unit, value * 1000
    return general(value) + prefix


def humanize1024(value: float) -> str:
    """With a binary prefix.

    >>> humanize1024(2097152.0)
    '2Mi'
    """
    if abs(value) <= 1 or math.isnan(value) or math.isinf(value):
        return general(value)
    prefix = ""
    for unit in ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"):
        if abs(value) < 1024:
            break
        prefix, value = unit, value / 1024
    return general(value) + prefix


def humanize_duration(seconds: float) -> str:
    """As days, hours, minutes and seconds.

    >>> humanize_duration(93784.0), humanize_duration(0.25), humanize_duration(59.9)
    ('1d 2h 3m 4s', '250ms', '59.9s')
    """
    if math.isnan(seconds) or math.isinf(seconds):
        return general(seconds)
    if seconds == 0:
        return "0s"
    if abs(seconds) >= 1:
        sign, rest = ("-" if seconds < 0 else ""), abs(seconds)
        whole = int(rest)
        days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
        if days:
            return f"{sign}{days}d {hours}h {minutes}m {whole % 60}s"
        if hours:
            return f"{sign}{hours}h {minutes}m {whole % 60}s"
        if minutes:
            return f"{sign}{minutes}m {whole % 60}s"
        return f"{sign}{general(rest)}s"
    prefix = ""
    for unit in ("m", "u", "n", "p", "f", "a", "z", "y"):
        if abs(seconds) >= 1:
            break
        prefix, seconds = unit, seconds * 1000
    return f"{general(seconds)}{prefix}s"


def humanize_percentage(ratio: float) -> str:
    """A ratio as a percentage.

    >>> humanize_percentage(0.1234567)
    '12.35%'
    """
    return general(ratio * 100) + "%"


def humanize_timestamp(seconds: float) -> str:
    """A Unix time as Go prints it.

    >>> humanize_timestamp(1772442000.5)
    '2026-03-02 09:00:00.5 +0000 UTC'
    """
    if math.isnan(seconds) or math.isinf(seconds):
        return general(seconds)
    t_ns = math.floor(seconds * 1000 + 0.5) * 1_000_000 - 1_772_442_000 * SECOND
    shown = format_rfc3339(t_ns, digits=9)[:-1].replace("T", " ")
    return shown.rstrip("0").rstrip(".") + " +0000 UTC" if "." in shown else shown + " +0000 UTC"


_VERB = re.compile(r"%([-+# 0]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def printf(form: str, args: list[object]) -> str:
    """Go's `fmt.Sprintf` for the verbs that templates use.

    >>> printf("%.2f %s %d%% %q", [1.005, "a", 3.0, "b"])
    '1.00 a %!d(float64=3)% "b"'
    """
    left = list(args)
    out, at = [], 0
    for match in _VERB.finditer(form):
        out.append(form[at : match.start()])
        at = match.end()
        if match[4] == "%":
            out.append("%")
        elif not left:
            out.append(f"%!{match[4]}(MISSING)")
        else:
            out.append(_verb(match, left.pop(0)))
    out.append(form[at:])
    if left:
        out.append("%!(EXTRA " + ", ".join(f"{_type(each)}={plain(each)}" for each in left) + ")")
    return "".join(out)


def _type(value: object) -> str:
    return {str: "string", float: "float64", int: "int", bool: "bool"}.get(type(value), "interface {}")


def _verb(match: re.Match[str], value: object) -> str:
    flags, width, precision, verb = match[1], match[2] or "", match[3], match[4]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if verb in "feEgG" and isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return f"{text.decimal(value):>{width or 0}}"
        if precision is None and verb in "gG":
            return f"{text.shortest(value):>{width or 0}}"
        return f"%{flags}{width}.{precision or 6}{verb}" % value
    if verb == "d" and isinstance(value, int):
        return f"%{flags}{width}d" % value
    if verb in "sv" or (verb == "q" and not number):
        shown = plain(value) if verb != "q" else '"' + plain(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        shown = shown[: int(precision)] if precision is not None and verb == "s" else shown
        return shown.ljust(int(width or 0)) if "-" in flags else shown.rjust(int(width or 0))
    if verb == "t" and isinstance(value, bool):
        return plain(value)
    if verb in "xX" and isinstance(value, int):
        return f"%{flags}{width}{verb}" % value
    return f"%!{verb}({_type(value)}={plain(value)})"


def plain(value: object) -> str:
    """Go's `%v`."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text.shortest(value)
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{plain(each)}" for key, each in sorted(value.items())) + "]"
    if isinstance(value, list | tuple):
        return "[" + " ".join(plain(each) for each in value) + "]"
    return str(value)
