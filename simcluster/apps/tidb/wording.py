"""Lines as the programs of TiDB print them (pingcap/log, tikv's slog)."""

from __future__ import annotations

from simcluster.engine import format_rfc3339


def log_line(now_ns: int, level: str, where: str, message: str, **fields: object) -> str:
    """`[2026/03/02 09:00:00.000 +00:00] [INFO] [server.go:235] ["text"] [key=value]`."""
    stamp = format_rfc3339(now_ns, digits=3)
    when = f"{stamp[:10].replace('-', '/')} {stamp[11:23]} +00:00"
    rest = "".join(f" [{key}={_shown(value)}]" for key, value in fields.items())
    return f'[{when}] [{level}] [{where}] ["{message}"]{rest}'


def _shown(value: object) -> str:
    text = str(value)
    return f'"{text}"' if any(character in text for character in ' "=[]') else text
