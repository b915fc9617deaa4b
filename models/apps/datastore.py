"""Redis: a server with a command line of its own."""

from __future__ import annotations

from simcluster.models.apps.server import ServerProgram
from simcluster.models.machine.program import ExecResult

_HELP = "redis-cli 8.2.1\n\nUsage: redis-cli [OPTIONS] [cmd [arg [arg ...]]]\n"


class RedisProgram(ServerProgram):
    """A Redis server at which `redis-cli` can look. Its keys and their bytes are left out."""

    def run(self, argv: tuple[str, ...]) -> ExecResult | None:
        """`redis-cli`, `redis-server --version`."""
        if argv and argv[0].rpartition("/")[2] == "redis-server" and "--version" in argv:
            return ExecResult("Redis server v=8.2.1 sha=00000000:1 malloc=jemalloc-5.3.0 bits=64\n")
        if not argv or argv[0].rpartition("/")[2] != "redis-cli":
            return None
        words = [word for word in argv[1:] if not word.startswith("-")]
        if "-p" in argv:
            words.remove(argv[argv.index("-p") + 1])
        if self.server is None:
            return ExecResult("", "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n", 1)
        return self._command(words)

    def _command(self, words: list[str]) -> ExecResult:
        name = words[0].upper() if words else ""
        match name:
            case "":
                return ExecResult(_HELP)
            case "PING":
                return ExecResult((words[1] if len(words) > 1 else "PONG") + "\n")
            case "INFO":
                return ExecResult(self._info())
            case "ECHO" if len(words) == 2:
                return ExecResult(words[1] + "\n")
            case _:
                return ExecResult(f"ERR unknown command '{words[0]}', with args beginning with: \n")

    def _info(self) -> str:
        seconds = (self.container.sim.now - self.container.started_ns) // 1_000_000_000
        return (
            "# Server\r\nredis_version:8.2.1\r\nredis_mode:standalone\r\nprocess_id:1\r\ntcp_port:6379\r\n"
            f"uptime_in_seconds:{seconds}\r\n# Memory\r\nused_memory_rss:{self.container.memory_bytes}\r\n"
            "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
        )
