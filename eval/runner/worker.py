"""A worker process: takes one run after the other from its pipe and sends the records back."""

from __future__ import annotations

import gc
import signal
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from simcluster.eval.runner.execute import HARNESS_ERROR, execute, record_of
from simcluster.eval.runner.plan import Plan, Run


def work(pipe: Connection, plan: Plan, folder: str) -> None:
    """Serve runs until the pipe is closed.

    What fails outside the agent (a task whose incident nobody notices) is a record too, with
    the outcome `error`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    gc.freeze()
    while True:
        try:
            run = Run(*pipe.recv())
        except EOFError:
            return
        try:
            record = execute(run, plan.noise, plan.library, Path(folder))
        except Exception:
            record = record_of(run, plan.noise, HARNESS_ERROR, traceback.format_exc(limit=-12), 0.0, None)
        pipe.send(record)
