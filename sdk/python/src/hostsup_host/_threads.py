"""Threads for handlers that block."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from typing import Any, Callable, Deque, Optional, Tuple

_Job = Tuple["asyncio.Future[Any]", contextvars.Context, Callable[..., Any], Tuple[Any, ...]]


class Threads:
    """At most limit threads, made when there is work for them and kept until end.

    They are daemons: a handler that never returns must not keep the process, which the
    executor of concurrent.futures does.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._limit = limit
        self._lock = threading.Condition()
        self._jobs: Deque[_Job] = deque()
        self._idle = 0
        self._count = 0
        self._ended = False

    async def run(self, f: Callable[..., Any], *args: Any) -> Any:
        """Runs f in a thread and returns what it returns.

        A cancellation is kept until f has returned: it cannot be interrupted, and what it
        uses is still in use. f does not begin if that comes first.
        """
        done: "asyncio.Future[Any]" = self._loop.create_future()
        job = (done, contextvars.copy_context(), f, args)
        with self._lock:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._lock.notify()
            elif self._count < self._limit:
                self._count += 1
                threading.Thread(target=self._work, name=f"hostsup-{self._count}", daemon=True).start()
        cancelled: Optional[asyncio.CancelledError] = None
        while not done.done():
            try:
                await asyncio.shield(done)
            except asyncio.CancelledError as e:
                with self._lock:
                    if job in self._jobs:
                        self._jobs.remove(job)
                        raise
                    if self._ended:
                        raise  # the host ends without it
                cancelled = e
        if cancelled is not None:
            raise cancelled
        ok, value = done.result()
        if ok:
            return value
        raise value

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
                while not self._jobs and not self._ended:
                    self._lock.wait()
                self._idle -= 1
                if not self._jobs:
                    self._count -= 1
                    return
                done, context, f, args = self._jobs.popleft()
            try:
                outcome = True, context.run(f, *args)
            except BaseException as e:  # what a handler raises is answered
                outcome = False, e
            try:
                self._loop.call_soon_threadsafe(_settle, done, outcome)
            except RuntimeError:
                return  # the loop has ended
            del done, context, f, args, outcome

    def end(self) -> None:
        """Ends the threads that are idle, and the others when they return."""
        with self._lock:
            self._ended = True
            self._lock.notify_all()


def _settle(done: "asyncio.Future[Any]", outcome: Tuple[bool, Any]) -> None:
    # As a value, because a future takes no StopIteration as an exception.
    if not done.done():
        done.set_result(outcome)
