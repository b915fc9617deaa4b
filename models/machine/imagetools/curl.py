"""`curl`: what it sends, what it shows of the answer and of the way there.

Texts: curl 8.9.1, HTTP/1.1. Headers of an answer are those that every server sends: type, date, length. Left out:
forms, redirects (no server here sends any), `-Z`.
"""

from __future__ import annotations

import base64
import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine.certificate import blocks, read
from simcluster.models.machine.httprequest import Sent
from simcluster.models.machine.imagetools import curloptions
from simcluster.models.machine.imagetools.call import Outcome, ToolCall
from simcluster.models.machine.imagetools.curlformat import formatted
from simcluster.models.machine.imagetools.curloptions import Options
from simcluster.models.machine.imagetools.network import CONNECT_TIMEOUT_NS, Contact, contact, status_text
from simcluster.models.machine.imagetools.system import format_date
from simcluster.models.machine.names import is_address
from simcluster.models.machine.process import ANY_SERVER
from simcluster.models.machine.process import Call as Request
from simcluster.models.machine.shell.files import FileError
from simcluster.models.userland.escapes import raw

VERSION = (
    "curl 8.9.1 (x86_64-pc-linux-musl) libcurl/8.9.1 OpenSSL/3.3.1 zlib/1.3.1 brotli/1.1.0 zstd/1.5.6 libidn2/2.3.7 "
    "libpsl/0.21.5 nghttp2/1.62.1\nRelease-Date: 2024-07-31\nProtocols: dict file ftp ftps gopher gophers http https "
    "imap imaps ipfs ipns mqtt pop3 pop3s rtsp smb smbs smtp smtps telnet tftp ws wss\nFeatures: alt-svc AsynchDNS "
    "brotli HSTS HTTP2 HTTPS-proxy IDN IPv6 Largefile libz NTLM PSL SSL threadsafe TLS-SRP UnixSockets zstd\n"
)
#: What curl adds when it refuses a certificate (curl 8, src/tool_operate.c).
_UNTRUSTED = """More details here: https://curl.se/docs/sslcerts.html

curl failed to verify the legitimacy of the server and therefore could not
establish a secure connection to it. To learn more about this situation and
how to fix it, please visit the webpage mentioned above."""


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str
    url: str


class _Round(NamedTuple):
    """One transfer: what it printed, and how it ended."""

    out: str
    said: str
    code: int
    delay_ns: int


def curl(call: ToolCall) -> Outcome:
    """Run curl."""
    given = curloptions.parse(call.argv[1:])
    if given.problem:
        return Outcome(stderr=given.problem, code=2)
    if "version" in given.flags:
        return Outcome(VERSION)
    if "help" in given.flags:
        return Outcome("Usage: curl [options...] <url>\n")
    if not given.urls:
        return Outcome(stderr="curl: (2) no URL specified\n", code=2)
    out, said, code, delay_ns = "", "", 0, 0
    for url in given.urls[:1000]:
        tries = 1 + _whole(given.last("retry"), 0)
        for number in range(min(tries, 20)):
            done = _transfer(call, given, url)
            delay_ns += done.delay_ns
            again = done.code in (28, 6, 22) or (done.code == 7 and "retry-connrefused" in given.flags)
            if not again or number + 1 == tries:
                break
            pause = _whole(given.last("retry-delay"), 1 << number)
            left = f"Will retry in {pause} seconds. {tries - number - 1} retries left."
            said += "" if "silent" in given.flags else f"Warning: Problem: timeout. {left}\n"
            delay_ns += pause * SECOND
        out, said, code = out + done.out, said + done.said, done.code
        if code and "fail-early" in given.flags:
            break
    return Outcome(out, said, code, delay_ns)


def _whole(text: str | None, default: int) -> int:
    return int(text[:6]) if text and text.isdigit() else default


def _seconds(text: str | None) -> int | None:
    """The seconds of an option in nanoseconds; None if it is not given, or no number."""
    whole, _, fraction = (text or "").partition(".")
    if not (whole + fraction).isdigit():
        return None
    return int(whole[:9] or "0") * SECOND + int((fraction or "0")[:9].ljust(9, "0"))


def _target(url: str) -> _Target | None:
    full = url if "://" in url else "http://" + url
    try:
        parts = urlsplit(full)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(parts.scheme, parts.hostname, port, path, full) if parts.hostname else None


def _transfer(call: ToolCall, given: Options, url: str) -> _Round:
    target = _target(url)
    if target is None:
        return _Round("", "curl: (3) URL rejected: Malformed input to a URL function\n", 3, 0)
    if target.scheme not in ("http", "https"):
        return _Round("", f'curl: (1) Protocol "{target.scheme}" not supported\n', 1, 0)
    try:
        body, extra = _body(call, given)
    except FileError as problem:
        return _Round("", f"curl: Failed to open {problem}\n", 26, 0)
    query = [_encoded(call, value.lstrip("+")) for _, value in given.every("url-query")]
    if "get" in given.flags and body is not None:
        query, body = [*query, body], None
    if query:
        more = ("&" if "?" in target.path else "?") + "&".join(query)
        target = target._replace(path=target.path + more, url=target.url + more)
    limit_ns = _seconds(given.last("max-time"))
    dial_ns = _seconds(given.last("connect-timeout"))
    most_ns = min(each for each in (limit_ns, dial_ns, CONNECT_TIMEOUT_NS) if each is not None)
    request, shown = _request(call, given, target, body, extra)
    reached = contact(call.container, _resolved(given, target), request, limit_ns or most_ns, dial_ns=most_ns)
    code, message = _failure(reached, target, most_ns)
    answer = reached.answer if code == 0 else None
    status = answer.status if answer is not None else 0
    text = answer.body if answer is not None and request.method != "HEAD" else ""
    if status >= 400 and ({"fail", "fail-with-body"} & given.flags):
        code, message = 22, f"The requested URL returned error: {status}"
        text = text if "fail-with-body" in given.flags else ""
    heads = _heads(call, reached) if status else []
    sent = Sent(target.url, target.scheme, request.method, len(raw(shown)), len(raw(body or "")))
    said = _verbose(call, reached, target, request, shown, heads, text) if "verbose" in given.flags else ""
    out, trouble = _written(call, given, target, "".join(f"{head}\r\n" for head in heads), text, status)
    if trouble:
        code, message = 23, trouble
    if code and not ("silent" in given.flags and "show-error" not in given.flags):
        said += f"curl: ({code}) {message}\n"
    form = given.last("write-out")
    if form is not None:
        if form.startswith("@"):
            form = _file(call, form[1:])
        printed, wrong = formatted(form, sent, reached, heads, text, (code, message))
        out, said = out + printed, said + wrong
    return _Round(out, said, code, reached.delay_ns)


def _resolved(given: Options, target: _Target) -> str:
    """The host, or the address that `--resolve` or `--connect-to` says."""
    for name, value in given.every("resolve", "connect-to"):
        parts = value.lstrip("+").split(":")
        fits = len(parts) >= 3 and parts[0] in ("", "*", target.host) and parts[1] in ("", str(target.port))
        if fits and parts[2]:
            return parts[2] if name == "connect-to" else parts[2].split(",")[0]
    return target.host


def _file(call: ToolCall, name: str) -> str:
    try:
        return call.stdin if name == "-" else call.files.read(call.path(name))
    except FileError:
        raise FileError(name) from None


def _encoded(call: ToolCall, value: str) -> str:
    """`--data-urlencode`: CONTENT, =CONTENT, NAME=CONTENT, @FILE or NAME@FILE."""
    found = re.match(r"([^=@]*)([=@])(.*)", value, re.DOTALL)
    if found is None:
        return quote(value, safe="-._~")
    content = found[3] if found[2] == "=" else _file(call, found[3])
    return (f"{found[1]}=" if found[1] else "") + quote(content, safe="-._~")


def _body(call: ToolCall, given: Options) -> tuple[str | None, list[tuple[str, str]]]:
    """What is sent, None if nothing, and headers that go with it. Raises FileError with the name of the file."""
    kinds = ("data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json")
    parts: list[str] = []
    given_data = given.every(*kinds)
    for name, value in given_data:
        if name == "data-urlencode":
            parts.append(_encoded(call, value))
        elif value.startswith("@") and name != "data-raw":
            text = _file(call, value[1:])
            parts.append(text if name in ("data-binary", "json") else text.replace("\n", "").replace("\r", ""))
        else:
            parts.append(value)
    upload = given.last("upload-file")
    if upload is not None:
        return _file(call, "-" if upload == "." else upload), []
    if not given_data:
        return None, []
    if any(name == "json" for name, _ in given_data):
        return "".join(parts), [("Content-Type", "application/json"), ("Accept", "application/json")]
    return "&".join(parts), [("Content-Type", "application/x-www-form-urlencoded")]


def _request(
    call: ToolCall, given: Options, target: _Target, body: str | None, extra: list[tuple[str, str]]
) -> tuple[Request, str]:
    """What goes over, and its head as `-v` shows it."""
    method = given.last("request") or (
        "PUT" if given.last("upload-file") is not None else "POST" if body is not None else
        "HEAD" if "head" in given.flags else "GET")  # fmt: skip
    usual = target.port == (443 if target.scheme == "https" else 80)
    heads = [("Host", target.host if usual else f"{target.host}:{target.port}")]
    credentials, token = given.last("user"), given.last("oauth2-bearer")
    if credentials is not None:
        heads.append(("Authorization", "Basic " + base64.b64encode(credentials.encode()).decode()))
    elif token is not None:
        heads.append(("Authorization", f"Bearer {token}"))
    heads.append(("User-Agent", given.last("user-agent") or "curl/8.9.1"))
    heads.append(("Accept", "*/*"))
    if "compressed" in given.flags:
        heads.append(("Accept-Encoding", "deflate, gzip, br, zstd"))
    for option, name in (("referer", "Referer"), ("cookie", "Cookie"), ("range", "Range")):
        value = given.last(option)
        if value is not None:
            heads.append((name, f"bytes={value}" if option == "range" else value))
    if body is not None:
        heads += [*(each for each in extra if each[0] == "Content-Type"), ("Content-Length", str(len(raw(body))))]
        heads = [("Accept", "application/json") if each[0] == "Accept" and len(extra) > 1 else each for each in heads]
    for _, text in given.every("header"):
        name, colon, value = text.partition(":")
        if colon or text.endswith(";"):
            heads = [each for each in heads if each[0].lower() != name.strip().lower()]
            heads += [(name.strip(), value.strip())] if value.strip() or text.endswith(";") else []
    secure = target.scheme == "https"
    host = next((value for name, value in heads if name.lower() == "host"), target.host)
    lower = tuple((name.lower(), value) for name, value in heads if name.lower() not in ("host", "content-length"))
    trust = _trust(call, given) if secure else ""
    named = host if host.partition(":")[0] != target.host else target.host
    made = Request("http", target.port, target.path, named, method, secure, lower, body or "", trust)
    head = f"{method} {target.path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in heads) + "\r\n"
    return made, head


def _trust(call: ToolCall, given: Options) -> str:
    """Whom the client believes: anybody, or the authorities of a file."""
    if "insecure" in given.flags:
        return ANY_SERVER
    name = given.last("cacert") or call.env.get("CURL_CA_BUNDLE", "")
    try:
        return call.files.read(call.path(name)) if name else ""
    except FileError:
        return ""


def _failure(reached: Contact, target: _Target, limit_ns: int) -> tuple[int, str]:
    spent_ms = reached.delay_ns // MILLISECOND
    if reached.outcome == "unknown host" and reached.delay_ns > limit_ns:
        return 28, f"Resolving timed out after {limit_ns // MILLISECOND} milliseconds"
    if reached.outcome == "unknown host":
        return 6, f"Could not resolve host: {target.host}"
    if reached.outcome == "refused":
        where = f"{target.host} port {target.port} after {spent_ms} ms"
        return 7, f"Failed to connect to {where}: Couldn't connect to server"
    if reached.outcome == "timeout" and reached.connected_ns:
        return 28, f"Operation timed out after {spent_ms} milliseconds with 0 bytes received"
    if reached.outcome == "timeout":
        return 28, f"Connection timed out after {spent_ms} milliseconds"
    if reached.outcome == "untrusted":
        why = (reached.answer.body if reached.answer is not None else "") or "unable to get local issuer certificate"
        return 60, f"SSL certificate problem: {why}\n{_UNTRUSTED}"
    if reached.outcome != "ok":
        return 56, "Recv failure: Connection reset by peer"
    if reached.answer is None:
        return 52, "Empty reply from server"
    return 0, ""


def _heads(call: ToolCall, reached: Contact) -> list[str]:
    """The head of the answer, line by line, the empty one at its end among them."""
    answer = reached.answer
    assert answer is not None
    kind = answer.content_type or (
        "application/json" if answer.body[:1] in ("{", "[") else
        "text/html" if answer.body.lstrip()[:1] == "<" else "text/plain; charset=utf-8")  # fmt: skip
    lines = [f"HTTP/1.1 {status_text(answer.status)}"]
    lines += [f"Content-Type: {kind}"] if answer.body else []
    lines.append(f"Date: {format_date('%a, %d %b %Y %T GMT', call.now_ns + reached.delay_ns)}")
    return [*lines, f"Content-Length: {len(raw(answer.body))}", ""]


def _written(call: ToolCall, given: Options, target: _Target, head: str, body: str, status: int) -> tuple[str, str]:
    """What goes to the terminal, and why the rest could not be written."""
    shown = head if "head" in given.flags else head + body if "include" in given.flags else body
    dumped = given.last("dump-header")
    name = given.last("output")
    if name is None and ({"remote-name", "remote-name-all"} & given.flags):
        name = target.path.partition("?")[0].rpartition("/")[2]
        if not name:
            return "", "Failed writing received data to disk/application"
    folder = given.last("output-dir")
    out = ""
    try:
        if dumped == "-":
            out = head
        elif dumped:
            call.files.write(call.path(dumped), head)
        if name is None or name == "-":
            return out + shown, ""
        path = call.path(f"{folder}/{name}" if folder else name)
        if path != "/dev/null" and status:
            call.files.write(path, shown)
    except FileError as problem:
        return out, f"client returned ERROR on write, {problem}" if not name else (
            f"Failure writing output to destination, {problem}")  # fmt: skip
    return out, ""


def _verbose(
    call: ToolCall, reached: Contact, target: _Target, request: Request, sent: str, heads: list[str], body: str
) -> str:
    """What `-v` tells on standard error."""
    host, port = target.host, target.port
    lines: list[str] = []
    if reached.outcome == "unknown host":
        return f"* Could not resolve host: {host}\n* shutting down connection #0\n"
    if not is_address(host):
        lines += [f"* Host {host}:{port} was resolved.", "* IPv6: (none)", f"* IPv4: {reached.address}"]
    lines.append(f"*   Trying {reached.address}:{port}...")
    spent = f"{reached.delay_ns // MILLISECOND}"
    closing = "* closing connection #0"
    if reached.outcome == "refused":
        ends = f"{reached.address} port {port} from {call.container.sandbox.address} port {reached.local_port}"
        lines += [f"* connect to {ends} failed: Connection refused", f"* Failed to connect to {host} port {port} "
                  f"after {spent} ms: Couldn't connect to server", closing]  # fmt: skip
        return "\n".join(lines) + "\n"
    if reached.outcome == "timeout" and not reached.connected_ns:
        return "\n".join([*lines, f"* Connection timed out after {spent} milliseconds", closing]) + "\n"
    lines.append(f"* Connected to {host} ({reached.address}) port {port}")
    if request.secure:
        lines += _handshake(reached, request)
        if reached.outcome == "untrusted":
            return "\n".join([*lines, closing]) + "\n"
    text = "\n".join(lines) + "\n"
    text += "".join(f"> {line}\n" for line in sent.replace("\r", "").split("\n")[:-1])
    text += f"}} [{len(raw(request.body))} bytes data]\n" if request.body else ""
    text += "* upload completely sent off: " + f"{len(raw(request.body))} bytes\n" if request.body else (
        "* Request completely sent off\n")  # fmt: skip
    if reached.outcome == "timeout":
        return f"{text}* Operation timed out after {spent} milliseconds with 0 bytes received\n{closing}\n"
    if not heads:
        why = "Empty reply from server" if reached.outcome == "ok" else "Recv failure: Connection reset by peer"
        return f"{text}* {why}\n{closing}\n"
    text += "".join(f"< {line}\n" for line in heads)
    text += f"{{ [{len(raw(body))} bytes data]\n" if body else ""
    return text + f"* Connection #0 to host {host} left intact\n"


def _handshake(reached: Contact, request: Request) -> list[str]:
    lines = ["* ALPN: curl offers h2,http/1.1", "* TLSv1.3 (OUT), TLS handshake, Client hello (1):",
             "* TLSv1.3 (IN), TLS handshake, Server hello (2):",
             "* TLSv1.3 (IN), TLS handshake, Encrypted Extensions (8):",
             "* TLSv1.3 (IN), TLS handshake, Certificate (11):"]  # fmt: skip
    if reached.outcome == "untrusted":
        why = (reached.answer.body if reached.answer is not None else "") or "unable to get local issuer certificate"
        return [*lines, "* TLSv1.3 (OUT), TLS alert, unknown CA (560):", f"* SSL certificate problem: {why}"]
    lines += ["* TLSv1.3 (IN), TLS handshake, CERT verify (15):", "* TLSv1.3 (IN), TLS handshake, Finished (20):",
              "* TLSv1.3 (OUT), TLS change cipher, Change cipher spec (1):",
              "* TLSv1.3 (OUT), TLS handshake, Finished (20):",
              "* SSL connection using TLSv1.3 / TLS_AES_128_GCM_SHA256 / x25519 / RSASSA-PSS",
              "* ALPN: server accepted http/1.1"]  # fmt: skip
    found = blocks(reached.presented)
    leaf = read(found[0]) if found else None
    if leaf is not None:
        begins, ends = (f"{format_date('%b %e %H:%M:%S %Y', max(0, at))} GMT" for at in
                        (leaf.not_before_ns, leaf.not_after_ns))  # fmt: skip
        lines += ["* Server certificate:", f"*  subject: CN={leaf.subject}", f"*  start date: {begins}",
                  f"*  expire date: {ends}", f"*  issuer: CN={leaf.issuer}"]  # fmt: skip
        lines.append("*  SSL certificate verify result: unable to get local issuer certificate (20), continuing anyway."
                     if request.trust == ANY_SERVER else "*  SSL certificate verify ok.")  # fmt: skip
    return lines
