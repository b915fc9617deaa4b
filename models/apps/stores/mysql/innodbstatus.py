"""SHOW ENGINE INNODB STATUS: the InnoDB monitor's sections, from the storage engine's counters.

Source: Reference Manual, "InnoDB Standard Monitor and Lock Monitor Output". Left out: semaphores, deadlocks, the
adaptive hash index, rates of the last seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.engine import format_rfc3339

if TYPE_CHECKING:
    from simcluster.models.apps.stores.mysql.mysqlserver import MysqlServer

_LINE = "=" * 37
_END = "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"


def _section(title: str, *lines: str) -> str:
    rule = "-" * len(title)
    return "\n".join([rule, title, rule, *lines, ""])


def monitor(program: MysqlServer) -> str:
    """The text of the monitor."""
    storage, contents = program.storage, program.contents
    assert storage is not None
    assert contents is not None
    when = format_rfc3339(program.container.sim.now).replace("T", " ")[:-1]
    cache, totals, page = storage.cache, storage.totals, storage.cache.page
    held, pages = int(cache.held) // page, cache.capacity // page
    asked = cache.hits + cache.misses
    rate = f"Buffer pool hit rate {int(1000 * cache.hits / asked)} / 1000" if asked else "No buffer pool page gets"
    running = int(program.server.in_flight) if program.server is not None else 0
    position, behind = contents.position, contents.position - contents.log_bytes
    counts = program.served_by_command()
    inserted, updated, deleted, read = (counts.get(each, 0) for each in ("INSERT", "UPDATE", "DELETE", "SELECT"))
    return "\n" + "".join((
        f"{_LINE}\n{when} 0x7f2a1c0d9700 INNODB MONITOR OUTPUT\n{_LINE}\n",
        "Per second averages calculated from the last 20 seconds\n",
        _section("TRANSACTIONS", f"Trx id counter {contents.position // 100}", "History list length 0",
                 "LIST OF TRANSACTIONS FOR EACH SESSION:"),
        _section("FILE I/O", f"{int(totals['reads'])} OS file reads, {int(totals['writes'])} OS file writes, "
                 f"{int(totals['fsyncs'])} OS fsyncs"),
        _section("LOG", f"Log sequence number          {position}", f"Log flushed up to            {position}",
                 f"Pages flushed up to          {behind}", f"Last checkpoint at           {behind}"),
        _section("BUFFER POOL AND MEMORY", f"Total large memory allocated {cache.capacity}",
                 f"Buffer pool size   {pages}", f"Free buffers       {max(0, pages - held)}",
                 f"Database pages     {held}", f"Modified db pages  {int(cache.changed) // page}", rate),
        _section("ROW OPERATIONS", f"{running} queries inside InnoDB, 0 queries in queue",
                 f"Number of rows inserted {inserted}, updated {updated}, deleted {deleted}, read {read}"),
        _END,
    ))  # fmt: skip
