"""`curl -w FORMAT`: the variables of a transfer, with the times of its parts. Source: curl 8.9, src/tool_writeout.c."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

from simcluster.engine import SECOND
from simcluster.models.machine.httprequest import Sent
from simcluster.models.machine.imagetools.network import Contact
from simcluster.models.userland.escapes import raw

_TOKEN = re.compile(r"%%|%\{([^}]*)\}|%header\{([^}]*)\}|\\([ntr\\])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_MICRO = 1000


def _time(span_ns: int) -> str:
    return f"{span_ns // SECOND}.{span_ns % SECOND // _MICRO:06d}"


def variables(sent: Sent, reached: Contact, heads: list[str], body: str, ended: tuple[int, str]) -> dict[str, str]:
    """All of them, as text."""
    code, message = ended
    status = int(heads[0].split()[1]) if heads else 0
    connected = reached.connected_ns
    secure = sent.scheme == "https" and connected > 0
    begun = connected + (2 * reached.round_ns if secure else 0)
    first = reached.delay_ns if heads else 0
    size, spent = len(raw(body)), max(1, reached.delay_ns)
    named = {"content_type": "", "redirect_url": ""}
    for line in heads[1:]:
        name, _, value = line.partition(": ")
        named["content_type"] = value if name.lower() == "content-type" else named["content_type"]
    head = sum(len(line) + 2 for line in heads)  # integers
    dialled = reached.outcome not in ("unknown host",) and connected > 0
    return {
        **named,
        "http_code": f"{status:03d}", "response_code": f"{status:03d}", "http_connect": "000", "method": sent.method,
        "time_namelookup": _time(reached.looked_ns), "time_connect": _time(connected),
        "time_appconnect": _time(begun if secure else 0), "time_pretransfer": _time(begun),
        "time_starttransfer": _time(first), "time_redirect": _time(0), "time_total": _time(reached.delay_ns),
        "size_download": str(size), "size_upload": str(sent.body), "size_request": str(sent.head if dialled else 0),
        "size_header": str(head), "num_headers": str(max(0, len(heads) - 2)),
        "speed_download": str(size * SECOND // spent), "speed_upload": str(sent.body * SECOND // spent),
        "remote_ip": reached.address if dialled else "", "remote_port": str(urlport(sent) if dialled else 0),
        "local_ip": reached.local_address if dialled else "", "local_port": str(reached.local_port if dialled else 0),
        "http_version": "1.1" if heads else "0", "scheme": sent.scheme, "url": sent.url, "url_effective": sent.url,
        "exitcode": str(code), "errormsg": message.partition("\n")[0], "num_connects": str(int(dialled)),
        "num_redirects": "0", "num_retries": "0", "ssl_verify_result": "20" if reached.outcome == "untrusted" else "0",
        "filename_effective": "", "proxy_ssl_verify_result": "0", "urlnum": "0", "xfer_id": "0", "conn_id": "0",
        "certs": reached.presented, "num_certs": str(reached.presented.count("BEGIN CERT")), "referer": "",
        "ftp_entry_path": "",
    }  # fmt: skip


def urlport(sent: Sent) -> int:
    """The port of what was asked."""
    return urlsplit(sent.url).port or (443 if sent.scheme == "https" else 80)


def formatted(
    form: str, sent: Sent, reached: Contact, heads: list[str], body: str, ended: tuple[int, str]
) -> tuple[str, str]:
    """The format with the variables in their places, and what is said of unknown ones."""
    known = variables(sent, reached, heads, body, ended)
    headers = {line.partition(": ")[0].lower(): line.partition(": ")[2] for line in heads[1:] if line}
    wrong: list[str] = []
    parts: dict[str, Any] = {
        "json": json.dumps({name: _typed(value, name) for name, value in sorted(known.items())}, separators=(",", ":")),
        "header_json": json.dumps({name: [value] for name, value in headers.items()}, indent=0),
    }

    def put(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if found[3]:
            return _ESCAPES[found[3]]
        if found[2] is not None:
            return headers.get(found[2].lower(), "")
        name = found[1]
        if name in ("stdout", "stderr", "onerror"):
            return ""
        if name in parts:
            return str(parts[name])
        if name not in known:
            wrong.append(f"curl: unknown --write-out variable: '{name}'\n")
            return ""
        return known[name]

    return _TOKEN.sub(put, form), "".join(wrong)


def _typed(value: str, name: str) -> object:
    if name.startswith("time_"):
        return float(value)
    return int(value) if value.isdigit() and name != "http_version" else value or None
