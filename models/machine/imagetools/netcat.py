"""`nc` in both directions: a client of any port, and a server of one connection (`-l`) or of many (`-k`).

Left out: UDP, `-e`, what is typed after the connection stands.
"""

from __future__ import annotations

from simcluster.models.machine.imagetools.call import FOREVER_NS, Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.imagetools.network import CONNECT_TIMEOUT_NS, contact, option, timeout_ns
from simcluster.models.machine.process import Answer, Call


def nc(call: ToolCall) -> Outcome:
    """`nc [-z] [-v] [-w N] HOST PORT`, `nc -l [-k] [-p] PORT`."""
    words = [word for word in call.argv[1:] if not word.startswith("-")]
    timeout = option(call, "-w")
    if timeout is not None and timeout in words:
        words.remove(timeout)
    if call.has("l"):
        return _listen(call, words)
    if len(words) < 2 or not words[1].isdigit():
        return usage_error(call, "missing host or port")
    host, port = words[0], int(words[1])
    limit_ns = timeout_ns(call, CONNECT_TIMEOUT_NS, "-w")
    reached = contact(call.container, host, Call("tcp", port), limit_ns, ask=False)
    where = f"{host} ({reached.address}:{port})"
    if reached.outcome == "ok":
        said = f"{where} open\n" if call.has("v") else ""
        if call.has("z"):
            return Outcome(stderr=said, delay_ns=reached.delay_ns)
        answered = contact(call.container, host, Call("tcp", port, body=call.stdin), limit_ns)
        body = answered.answer.body if answered.answer is not None and answered.outcome == "ok" else ""
        return Outcome(body, said, delay_ns=reached.delay_ns)
    if reached.outcome == "unknown host":
        return Outcome(stderr=f"nc: bad address '{host}'\n", code=1, delay_ns=reached.delay_ns)
    reason = "Connection refused" if reached.outcome == "refused" else "Connection timed out"
    return Outcome(stderr=f"nc: {where}: {reason}\n", code=1, delay_ns=reached.delay_ns)


def _listen(call: ToolCall, words: list[str]) -> Outcome:
    number = option(call, "-p") or next((word for word in words if word.isdigit()), "")
    number = number if number.isdigit() else next((word for word in words if word.isdigit()), "")
    if not number or not 0 < int(number) < 65536:
        return usage_error(call, "missing port")
    if call.container.sandbox.listens_on(int(number)):
        return Outcome(stderr="nc: bind: Address already in use\n", code=1)
    stays = call.has("k") or any("ll" in word for word in call.argv[1:])
    return Outcome(delay_ns=FOREVER_NS, port=int(number), reply=call.stdin, stays=stays)


def reply_of(outcome: Outcome) -> Answer:
    """What a client gets from somebody who sends bytes whatever it asks."""
    head, _, body = outcome.reply.replace("\r", "").partition("\n\n")
    status = head.split(" ", 2)[1] if head.startswith("HTTP/") and head.count(" ") else ""
    return Answer("ok", int(status), body) if status.isdigit() else Answer("ok", 0, outcome.reply)


def request_of(call: Call) -> str:
    """The bytes that come in with a call."""
    if call.kind == "tcp":
        return call.body
    lines = [f"{call.method} {call.path} HTTP/1.1", f"Host: {call.host}"]
    lines += [f"{name.title()}: {value}" for name, value in call.headers]
    return "\r\n".join([*lines, "", call.body])


TOOLS: dict[str, Tool] = {"nc": nc}
