"""What somebody who serves a cluster sees: one line that changes, or plain lines where there is no terminal."""

from __future__ import annotations

import asyncio

from rich.console import Console
from rich.status import Status as Spinner

from simcluster.eval.serving.service import Service, Status

#: How often a terminal's line is written anew, and another's is added if there is news; wall-clock seconds.
TERMINAL_S = 0.5
PLAIN_S = 10.0


async def follow(service: Service, remarks: Console) -> None:
    """Show what is going on until cancelled."""
    if remarks.is_terminal:
        with remarks.status("starting") as spinner:
            await _change(service, spinner)
    shown = None
    while True:
        await asyncio.sleep(PLAIN_S)
        status = service.status
        if status is not None and status != shown:
            remarks.print(line_of(status), markup=False, highlight=False)
            shown = status


async def _change(service: Service, spinner: Spinner) -> None:
    while True:
        status = service.status
        if status is not None:
            spinner.update(line_of(status))
        await asyncio.sleep(TERMINAL_S)


def line_of(status: Status) -> str:
    """One line: simulated time, requests, commands, what is left of the budget, alerts."""
    parts = [f"simulated {_clock(status.simulated_s)}", f"{status.requests} requests", f"{status.commands} commands"]
    if status.commands_left is not None and status.time_left_s is not None:
        parts.append(f"left {status.commands_left} commands and {_clock(status.time_left_s)}")
        parts.append(f"{status.alerts} alerts firing")
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
