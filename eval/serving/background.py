"""A service on a thread of its own, for a process that waits for something else meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from simcluster.eval.serving.service import Service


@contextmanager
def in_background(service: Service) -> Iterator[None]:
    """Serve as long as the block lasts; the session belongs to the thread meanwhile, and is at rest afterwards.

    Raises:
        Exception: what starting the session raised.
    """
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    failed: list[BaseException] = []

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            try:
                runner.run(service.run(lambda _: ready.set()))
            except BaseException as problem:
                failed.append(problem)
            finally:
                ready.set()

    thread = threading.Thread(target=serve, name="service")
    thread.start()
    try:
        ready.wait()
        if service.problem is None and not failed:
            yield
    finally:
        if thread.is_alive():
            with suppress(RuntimeError):  # it has just ended by itself
                loop.call_soon_threadsafe(service.end)
        thread.join()
    if service.problem is not None or failed:
        raise service.problem or failed[0]
