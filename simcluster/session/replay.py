"""Living a log again: the same requests at the same instants must be answered alike and leave the same world."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.session.clock import Budget, Clock
from simcluster.session.inbox import CRASHED
from simcluster.session.kinds import Request
from simcluster.session.live import Live
from simcluster.session.log import Command, Log


def repeat(live: Live, log: Log) -> list[str]:
    """Do again what a log says, on a live cluster that was begun alike, up to the end of the work.

    Returns:
        One text for every command that took effect at another instant, was answered otherwise or left another world,
        and one if the log itself was cut off.
    """
    header, inbox = log.header, live.inbox
    inbox.policy = Clock.model_validate(header.get("clock", {}))
    if "budget" in header:
        inbox.budget = Budget.model_validate(header["budget"])
    differences = _differences(live, log.commands)
    if log.end is not None and live.world.sim.now < log.end.at_ns:
        live.world.sim.run_until(log.end.at_ns)
    return differences + ([log.problem] if log.problem else [])


def _differences(live: Live, commands: Sequence[Command]) -> list[str]:
    found: list[str] = []
    apart = False
    for number, command in enumerate(commands, start=1):
        named = f"command {number} ({command.text})"
        try:
            made = again(live, command)
        except Exception as error:
            return [*found, f"{named} cannot be repeated: {error}"]
        if made.at_ns != command.at_ns:
            found.append(f"{named} took effect at {made.at_ns} ns, not {command.at_ns}")
        elif (made.answer, made.exit_code) != (command.answer, command.exit_code):
            found.append(f"{named} was answered differently")
        elif made.digest != command.digest and not apart:
            found.append(f"{named} was answered alike, but the world is another from here on")
        apart = made.digest != command.digest
    return found


def again(live: Live, command: Command) -> Command:
    """Do again what one command did: the command as it is logged now. Raises what it does, unless it did so before."""
    inbox = live.inbox
    at_ns = command.at_ns if inbox.policy.realtime else None
    request = Request(command.tool, command.text, command.target, command.stdin, command.identity, at_ns)
    count = len(inbox.commands)
    try:
        inbox.submit(request)
    except Exception:
        if command.exit_code != CRASHED or len(inbox.commands) == count:
            raise
    return inbox.commands[count]
