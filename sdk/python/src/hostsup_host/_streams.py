"""Results that are sent item by item."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, List, Optional

from . import _wire as wire
from ._errors import TooLargeError

if TYPE_CHECKING:
    from ._connection import Connection
    from ._handlers import Handler
    from ._requests import Context
    from ._threads import Threads

WINDOW = 64  # items that are collected before the caller has to say what it takes
GRACE = 0.05  # seconds after a request in which its first credit may come
ROOM = 64  # bytes of a message around its items

_end = object()


class Encoded:
    """A result that is encoded already."""

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body


class Stream:
    """The items of one result.

    A caller says by credit, directly behind its request, that it takes items. One that
    gives none gets the list of all of them, GRACE after the request at the earliest.
    """

    def __init__(self, conn: "Connection", context: "Context") -> None:
        self._conn = conn
        self._context = context
        self._credit = 0
        self._begun = False  # the caller has given credit
        self._seq = 0
        self._held: List[bytes] = []
        self._bytes = 0
        self._late = conn.loop.time() + GRACE
        self._waiting: Optional["asyncio.Future[None]"] = None
        self._burst = 0

    def allow(self, n: int) -> None:
        """Takes in credit for n more items."""
        if n > 0:
            self._begun = True
            self._credit = min(self._credit + n, wire.MAX_ID)
        sent = 0
        while sent < len(self._held) and self._credit:
            self._put(self._held[sent])
            sent += 1
        del self._held[:sent]
        self.wake()

    def wake(self) -> None:
        """Lets the sender look again."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _wait(self, until: Optional[float] = None) -> None:
        loop = self._conn.loop
        self._waiting = waiting = loop.create_future()
        timer = None if until is None else loop.call_at(until, self.wake)
        try:
            await waiting
        finally:
            self._waiting = None
            if timer is not None:
                timer.cancel()

    def _undecided(self) -> bool:
        return not self._begun and "stream" in self._conn.caps and self._conn.loop.time() < self._late

    def _put(self, value: bytes) -> None:
        encoder = self._conn.encoder
        head = encoder.value("item", [wire.ITEM, self._context.id, self._seq], None)
        self._conn.send(encoder.frame("item", b"\x94" + head[1:] + value))
        self._seq += 1
        self._credit -= 1

    async def send(self, item: Any) -> None:
        """Sends an item, as soon as the caller allows it."""
        value = self._conn.encoder.value("item", item, item)
        if len(value) > wire.MAX_FRAME - ROOM:
            raise TooLargeError(f"item: {len(value)} bytes, a message has at most {wire.MAX_FRAME}")
        self._burst += 1
        if self._burst % WINDOW == 0:
            await asyncio.sleep(0)  # other handlers have their turn
        await self._conn.room()
        while len(self._held) >= WINDOW and self._undecided():
            await self._wait(self._late)
        if not self._begun:
            self._bytes += len(value)
            if self._bytes > wire.MAX_FRAME - ROOM:
                raise TooLargeError("too many items for a caller that gave no credit")
            self._held.append(value)
            return
        while self._held or not self._credit:
            await self._wait()
        self._put(value)

    async def run(self, handler: "Handler", threads: "Threads") -> Any:
        """Runs a handler that yields items, and returns the result that ends them."""
        if handler.blocking:
            items: AsyncIterator[Any] = _threaded(handler.call(self._context), threads)
        else:
            items = handler.call(self._context)
        try:
            async for item in items:
                await self.send(item)
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
        while self._undecided():
            await self._wait(self._late)
        while self._begun and self._held:
            await self._wait()
        if self._begun:
            return None
        return Encoded(wire.array_header(len(self._held)) + b"".join(self._held))


async def _threaded(items: Iterator[Any], threads: "Threads") -> AsyncIterator[Any]:
    """Takes each item of a generator in a thread."""
    try:
        while True:
            item = await threads.run(next, items, _end)
            if item is _end:
                return
            yield item
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            # Also when this task is being cancelled: a finally of the handler runs in a thread too.
            await asyncio.shield(asyncio.ensure_future(threads.run(close)))
