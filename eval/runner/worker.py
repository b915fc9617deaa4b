"""A worker process: takes one run after the other from its pipe and sends the records back.

It keeps the starts that runs share. No agent ever runs in it, and it ends with the evaluation, whatever ends that.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from simcluster.eval.isolation.agenthost import AgentHost
from simcluster.eval.isolation.ending import HARNESS_ERROR, Ending
from simcluster.eval.isolation.linux import adopt_orphans, die_with_parent, kill_descendants
from simcluster.eval.runner.execute import execute, record_of
from simcluster.eval.runner.plan import Plan, Run


def work(pipe: Connection, plan: Plan, folder: str, environment: dict[str, str]) -> None:
    """Serve runs until the pipe is closed.

    Args:
        environment: of the evaluation; workers are forked from a process that may be older.

    What fails outside the agent (a task whose incident nobody notices) is a record too, with
    the outcome `error`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    os.environ.clear()
    os.environ.update(environment)
    die_with_parent()
    threading.Thread(target=_end_with, args=(pipe.fileno(),), daemon=True).start()
    adopt_orphans()
    host = AgentHost()
    host.start()
    gc.freeze()
    while True:
        try:
            run = Run(*pipe.recv())
        except EOFError:
            host.close()
            return
        try:
            record = execute(run, plan, host, Path(folder))
        except Exception:
            error = traceback.format_exc(limit=-12)
            record = record_of(run, plan.noise, Ending(HARNESS_ERROR, error), 0.0, None)
        kill_descendants(spared=host.pid)  # what an agent left that has killed its host
        pipe.send(record)


def _end_with(descriptor: int) -> None:
    """End this process when the other end of the pipe is closed, even in the middle of a run."""
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is always told
    poll.poll()
    os._exit(0)
