"""The log of the Go programs: zerolog's console format, a panic's trace, three JSON lines at the beginning."""

from __future__ import annotations

import json
from collections.abc import Mapping

from simcluster.apps.hotel_reservation.traits import WORKING_DIRECTORY
from simcluster.engine import format_rfc3339
from simcluster.models.machine.container import Container


class Console:
    """Where one program prints."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def begin(self, environment: Mapping[str, str]) -> None:
        """What the packages print before `main` sets its logger up."""
        time = format_rfc3339(self._container.sim.now)
        level = environment.get("LOG_LEVEL", "info")
        for message in (
            "TLS disabled.",
            f"Set global log level: {level}",
            f"Tune: setGCPercent to {environment.get('GC', '100')}",
        ):
            self._container.write(
                json.dumps({"level": "info", "time": time, "message": message}, separators=(",", ":"))
            )

    def say(self, where: str, message: str, level: str = "INF") -> None:
        """One line; `where` is file and line."""
        time = format_rfc3339(self._container.sim.now)
        self._container.write(f"{time} {level} {where} > {message}".rstrip(" "))

    def plain(self, message: str) -> None:
        """A line of Go's own log package."""
        time = format_rfc3339(self._container.sim.now)
        self._container.write(f"{time[:10].replace('-', '/')} {time[11:19]} {message}", "stderr")

    def trace(self, message: str, function: str, where: str) -> None:
        """What the runtime prints of a panic of a goroutine."""
        vendor = f"{WORKING_DIRECTORY}/vendor/github.com/rs/zerolog"
        lines = [
            f"panic: {message}",
            "",
            "goroutine 1 [running]:" if function.startswith("main.") else "goroutine 84 [running]:",
            "github.com/rs/zerolog.(*Logger).Panic.func1({0x96e211, 0x0})",
            f"\t{vendor}/log.go:405 +0x2d",
            "github.com/rs/zerolog.(*Event).msg(0xc0000b8150, {0x96e211, 0x14})",
            f"\t{vendor}/event.go:158 +0x2b8",
            "github.com/rs/zerolog.(*Event).Msg(...)",
            f"\t{vendor}/event.go:110",
            f"{function}",
            f"\t{WORKING_DIRECTORY}/{where} +0x167",
        ]
        self._container.write("\n".join(lines), "stderr")
