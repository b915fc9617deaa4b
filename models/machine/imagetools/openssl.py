"""`openssl` as far as certificates go: look at one, verify it by the machine's clock, make a self-signed one.

`verify [-CAfile F] FILE`, `x509 [-in F] [-noout] -subject -issuer -startdate -enddate -dates -checkend N`, and
`req -x509 … -subj /CN=… -addext subjectAltName=DNS:… -days N -keyout F -out F`. Texts: OpenSSL 3.0 (Ubuntu 22.04).
Digests and the like are of `userland.tools.openssl`.
Left out: keys, requests that somebody else signs; DER is the bytes that PEM has, and no ASN.1.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence

from simcluster.engine import SECOND
from simcluster.engine.clock import DAY
from simcluster.models.machine.certificate import Certificate, blocks, out_of_date, read
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools import tlsclient
from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall
from simcluster.models.machine.imagetools.system import format_date
from simcluster.models.machine.shell.files import FileError

_WITH_VALUE = (
    *("-CAfile", "-CApath", "-in", "-checkend", "-subj", "-addext", "-days", "-keyout", "-out", "-newkey", "-ext"),
    *("-inform", "-outform", "-nameopt", "-certopt"),
    *("-connect", "-servername", "-host", "-port", "-verify_hostname", "-alpn", "-starttls"),
)
_ERRORS = {"certificate has expired": 10, "certificate is not yet valid": 9}


def run(
    argv: Sequence[str],
    stdin: str,
    now_ns: int,
    read_file: Callable[[str], str],
    write_file: Callable[[str, str], None],
    container: Container,
) -> Outcome | None:
    """Run a command (the words after `openssl`) by a clock that shows `now_ns`; None if it is not about certificates.

    Args:
        container: where it runs, for the network.
    """
    verb, given, flags, rest = (argv[0] if argv else ""), {}, [], []
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if word in _WITH_VALUE:
            given[word] = words.pop(0) if words else ""
        elif word.startswith("-"):
            flags.append(word)
        else:
            rest.append(word)
    try:
        if verb == "s_client":
            trusted = read_file(given["-CAfile"]) if "-CAfile" in given else ""
            return tlsclient.s_client(container, given, flags, trusted, now_ns)
        if verb == "verify":
            return _verify(given, rest, now_ns, read_file)
        if verb == "x509":
            text = read_file(given["-in"]) if "-in" in given else stdin
            done = _shown(given, flags, now_ns, _as_pem(text))
            if "-out" in given and not done.code:
                write_file(given["-out"], done.stdout)
                return done._replace(stdout="")
            return done
        if verb == "req" and "-x509" in flags:
            return _made(given, now_ns, write_file)
    except FileError as error:
        name = next(iter([*rest, given.get("-in", ""), given.get("-CAfile", "")]))
        return Outcome("", f"Could not open file or uri for loading certificate from {name}: {error}\n", 2)
    return Outcome("", "req: Use -help for summary.\n", 1) if verb == "req" else None


def _verify(given: dict[str, str], names: list[str], now_ns: int, read_file: Callable[[str], str]) -> Outcome:
    trusted = [read(block) for block in blocks(read_file(given["-CAfile"]))] if "-CAfile" in given else []
    out, errors = "", ""
    for name in names:
        found = blocks(read_file(name))
        leaf = read(found[0]) if found else None
        if leaf is None:
            errors += f"Could not read certificate from {name}\nUnable to load certificate\n"
            continue
        known = any(one is not None and (one.subject, one.key) == (leaf.issuer, leaf.issuer_key) for one in trusted)
        why = out_of_date(leaf, now_ns) if known else "unable to get local issuer certificate"
        if why:
            errors += f"CN = {leaf.subject}\nerror {_ERRORS.get(why, 20)} at 0 depth lookup: {why}\n"
            errors += f"error {name}: verification failed\n"
        else:
            out += f"{name}: OK\n"
    return Outcome(out, errors, 2 if errors else 0)


def _as_pem(text: str) -> str:
    """A certificate in either form as PEM: OpenSSL 3 sees by itself which one it is."""
    if "-----BEGIN" in text or not text:
        return text
    body = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()
    rows = "".join(f"{body[at : at + 64]}\n" for at in range(0, len(body), 64))
    return f"-----BEGIN CERTIFICATE-----\n{rows}-----END CERTIFICATE-----\n"


def _bytes_of(pem: str) -> bytes:
    """The bytes of a certificate's PEM."""
    return base64.b64decode("".join(line for line in pem.splitlines() if not line.startswith("-----")))


def _fingerprint(data: bytes, flags: list[str]) -> str:
    name = next((word[1:] for word in flags if word in ("-sha1", "-sha256", "-sha384", "-sha512", "-md5")), "sha1")
    digest = hashlib.new(name, data, usedforsecurity=False).hexdigest().upper()
    pairs = ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
    return f"{name if name != 'sha1' else 'SHA1'} Fingerprint={pairs}"


def _shown(given: dict[str, str], flags: list[str], now_ns: int, text: str) -> Outcome:
    found = blocks(text)
    leaf = read(found[0]) if found else None
    if leaf is None:
        return Outcome("", "Could not read certificate from <stdin>\nUnable to load certificate\n", 1)
    begins, ends = (
        f"{format_date('%b %e %H:%M:%S %Y', at)} GMT" for at in (max(0, leaf.not_before_ns), leaf.not_after_ns)
    )
    rows = {
        "-subject": f"subject=CN = {leaf.subject}",
        "-issuer": f"issuer=CN = {leaf.issuer}",
        "-startdate": f"notBefore={begins}",
        "-enddate": f"notAfter={ends}",
        "-dates": f"notBefore={begins}\nnotAfter={ends}",
    }
    data = _bytes_of(leaf.pem())
    rows["-serial"] = f"serial={hashlib.sha256(data).hexdigest()[:16].upper()}"
    rows["-fingerprint"] = _fingerprint(data, flags)
    names = ", ".join(f"DNS:{name}" for name in leaf.names)
    if "subjectAltName" in given.get("-ext", "") and names:
        rows["-noout"] = f"X509v3 Subject Alternative Name: \n    {names}"
    if "-text" in flags:
        rows["-text"] = (
            f"Certificate:\n    Data:\n        Version: 3 (0x2)\n        Issuer: CN = {leaf.issuer}\n        Validity\n"
            f"            Not Before: {begins}\n            Not After : {ends}\n        Subject: CN = {leaf.subject}\n"
            f"        X509v3 extensions:\n            X509v3 Subject Alternative Name: \n                {names}"
        )
    out, code = "".join(f"{rows[flag]}\n" for flag in flags if flag in rows), 0
    if "-checkend" in given:
        code = int(now_ns + int(given["-checkend"]) * SECOND > leaf.not_after_ns)
        out += f"Certificate will {'' if code else 'not '}expire\n"
    if "-noout" in flags:
        return Outcome(out, "", code)
    if given.get("-outform", "").upper() == "DER":
        return Outcome(data.decode("utf-8", "surrogateescape"), "", code)
    return Outcome(out + leaf.pem(), "", code)


def _made(given: dict[str, str], now_ns: int, write_file: Callable[[str, str], None]) -> Outcome:
    common = next((part[3:] for part in given.get("-subj", "").split("/") if part.startswith("CN=")), "")
    listed = given.get("-addext", "").partition("subjectAltName=")[2].split(",")
    names = tuple(part.strip().removeprefix("DNS:") for part in listed if part.strip().startswith("DNS:")) or (common,)
    key = f"{common} of {now_ns}"
    made = Certificate(common, key, common, key, names, now_ns + int(given.get("-days") or "30") * DAY, now_ns)
    if "-keyout" in given:
        text = made.pem().splitlines()[1]
        write_file(given["-keyout"], f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    if "-out" not in given:
        return Outcome(made.pem(), "-----\n")
    write_file(given["-out"], made.pem())
    return Outcome("", "-----\n")


def _openssl(call: ToolCall) -> Outcome | None:
    def read_file(name: str) -> str:
        return str(call.files.read(call.path(name)))

    def write_file(name: str, text: str) -> None:
        call.files.write(call.path(name), text)

    clock = call.container.machine.os.clock
    return run(call.argv[1:], call.stdin, clock.now_ns(), read_file, write_file, call.container)


TOOLS: dict[str, Tool] = {"openssl": _openssl}
