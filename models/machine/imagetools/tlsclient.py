"""`openssl s_client -connect HOST:PORT`: the certificates that a server shows, and whether they are believed.

Format: OpenSSL 3.0 (`s_client`), without session tickets. Left out: what is typed once the connection stands.
"""

from __future__ import annotations

from simcluster.models.machine.certificate import Certificate, blocks, out_of_date, pem_of, read
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagetools.call import Outcome
from simcluster.models.machine.imagetools.network import CONNECT_TIMEOUT_NS, contact
from simcluster.models.machine.imagetools.system import format_date
from simcluster.models.machine.process import ANY_SERVER, Call

_CODES = {"": 0, "unable to get local issuer certificate": 20, "certificate has expired": 10,
          "certificate is not yet valid": 9, "self-signed certificate": 18}  # fmt: skip


def s_client(container: Container, given: dict[str, str], flags: list[str], authorities: str, now_ns: int) -> Outcome:
    """Connect, and print what the server shows."""
    where = given.get("-connect") or (f"{given['-host']}:{given.get('-port', '443')}" if "-host" in given else "")
    host, colon, port = where.rpartition(":")
    if not where:
        host, colon, port = "localhost", ":", "4433"
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        return Outcome("", "s_client: -connect argument or target parameter malformed or ambiguous\n", 1)
    call = Call("http", int(port), secure=True, trust=ANY_SERVER)
    reached = contact(container, host, call, CONNECT_TIMEOUT_NS, ask=False)
    if reached.outcome == "unknown host":
        said = "BIO_lookup_ex:system lib:../crypto/bio/bio_addr.c:738:Name or service not known"
        return Outcome("", f"40F7D6B8:error:10080002:BIO routines:{said}\nconnect:errno=22\n", 1, reached.delay_ns)
    if reached.outcome != "ok":
        refused = reached.outcome == "refused"
        said = "Connection refused" if refused else "Connection timed out"
        line = f"40F7D6B8:error:{'8000006F' if refused else '8000006E'}:system library:BIO_connect:{said}"
        text = f"{line}:../crypto/bio/bio_sock2.c:114:calling connect()\nconnect:errno={111 if refused else 110}\n"
        return Outcome("", text, 1, reached.delay_ns)
    chain = blocks(reached.presented)
    if not chain:
        text = "SSL routines:ssl3_get_record:wrong version number:../ssl/record/ssl3_record.c:354:\n"
        text = f"40F7D6B8:error:0A00010B:{text}"
        head = (
            "CONNECTED(00000003)\n---\nno peer certificate available\n---\nNo client certificate CA names sent\n---\n"
        )
        counts = "SSL handshake has read 5 bytes and written 297 bytes\nVerification: OK\n---\n"
        more = "New, (NONE), Cipher is (NONE)\nSecure Renegotiation IS NOT supported\n---\n"
        return Outcome(head + counts + more, text, 1, reached.delay_ns)
    out, said = _shown(chain, flags, blocks(authorities), now_ns)
    return Outcome(out, said, 0, reached.delay_ns + 2 * reached.round_ns)


def objection(leaf: Certificate, trusted: list[str], now_ns: int) -> str:
    """Why a chain of one certificate is not believed, in OpenSSL's words; empty if it is."""
    known = [read(block) for block in trusted]
    if any(one is not None and (one.subject, one.key) == (leaf.issuer, leaf.issuer_key) for one in known):
        return out_of_date(leaf, now_ns)
    return "self-signed certificate" if leaf.key == leaf.issuer_key else "unable to get local issuer certificate"


def _shown(chain: list[str], flags: list[str], trusted: list[str], now_ns: int) -> tuple[str, str]:
    leaf = read(chain[0])
    subject, issuer = (leaf.subject, leaf.issuer) if leaf is not None else ("server", "server")
    why = objection(leaf, trusted, now_ns) if leaf is not None else "unable to get local issuer certificate"
    code = _CODES.get(why, 20)
    said = f"depth=0 CN = {subject}\n"
    said += f"verify error:num={code}:{why}\n" if why else ""
    if leaf is not None and why == "certificate has expired":
        said += f"notAfter={format_date('%b %e %H:%M:%S %Y', leaf.not_after_ns)} GMT\n"
    said += "verify return:1\n"
    out = "CONNECTED(00000003)\n---\nCertificate chain\n"
    for number, block in enumerate(chain if "-showcerts" in flags else chain[:1]):
        facts = read(block)
        names = (facts.subject, facts.issuer) if facts is not None else (subject, issuer)
        out += f" {number} s:CN = {names[0]}\n   i:CN = {names[1]}\n"
        out += "   a:PKEY: rsaEncryption, 2048 (bit); sigalg: RSA-SHA256\n"
        if facts is not None:
            begins, ends = (f"{format_date('%b %e %H:%M:%S %Y', max(0, at))} GMT" for at in
                            (facts.not_before_ns, facts.not_after_ns))  # fmt: skip
            out += f"   v:NotBefore: {begins}; NotAfter: {ends}\n"
        out += pem_of(block) if "-showcerts" in flags else ""
    out += f"---\nServer certificate\n{pem_of(chain[0]) if '-showcerts' not in flags else ''}subject=CN = {subject}\n"
    out += f"issuer=CN = {issuer}\n---\nNo client certificate CA names sent\nPeer signing digest: SHA256\n"
    out += "Peer signature type: RSA-PSS\nServer Temp Key: X25519, 253 bits\n---\n"
    out += "SSL handshake has read 1532 bytes and written 373 bytes\n"
    out += f"Verification{' error: ' + why if why else ': OK'}\n---\nNew, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256\n"
    out += "Server public key is 2048 bit\nSecure Renegotiation IS NOT supported\nCompression: NONE\nExpansion: NONE\n"
    out += "No ALPN negotiated\nEarly data was not sent\n"
    out += f"Verify return code: {code} ({why or 'ok'})\n---\n"
    return out, said + "DONE\n"
