"""Requests of the host to its supervisor."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, AsyncIterator, Deque, Dict, Optional

from . import _wire as wire
from ._errors import HostError, InvalidResultError, ProtocolError, again, from_wire

if TYPE_CHECKING:
    from ._connection import Connection

WINDOW = 64  # items that the supervisor may send ahead


class _Call:
    """One request. It stays in the table until its answer comes, also when its caller has left."""

    __slots__ = ("number", "method", "answer", "items", "credit", "seq", "taken", "streams", "waiting", "late")

    def __init__(self, number: int, method: str, answer: "asyncio.Future[Any]", streams: bool) -> None:
        self.number = number
        self.method = method
        self.answer = answer
        self.streams = streams
        self.items: Deque[Any] = deque()
        self.credit = WINDOW if streams else 0
        self.seq = 0
        self.taken = 0
        self.waiting: Optional["asyncio.Future[None]"] = None
        self.late = False

    def wake(self) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(None)


class Calls:
    """The open requests of a connection."""

    def __init__(self, conn: "Connection") -> None:
        self._conn = conn
        self._open: Dict[int, _Call] = {}
        self._last = 0
        self._wrapped = False

    def begin(self, method: str, params: Any, streams: bool) -> _Call:
        """Sends a request."""
        conn = self._conn
        conn.check()
        number = self._next()
        frame = conn.encoder.call([wire.REQUEST, number], method, params, self._conn.trace())
        call = _Call(number, method, conn.loop.create_future(), streams and "stream" in conn.caps)
        self._open[call.number] = call
        conn.send(frame)
        if call.streams:
            conn.send(conn.encoder.message("credit", [wire.CREDIT, call.number, WINDOW]))
        return call

    def _next(self) -> int:
        number = self._last
        while True:
            number += 1
            if number > wire.MAX_ID:
                number, self._wrapped = 1, True
            if number not in self._open:
                self._last = number
                return number

    def leave(self, call: _Call) -> None:
        """Takes in that the caller no longer wants the result."""
        if call.late or self._open.get(call.number) is not call:
            return
        call.late = True
        call.items.clear()
        if "cancel" in self._conn.caps and self._conn.gone is None:
            self._conn.send(self._conn.encoder.message("cancel", [wire.CANCEL, call.number]))

    async def wait(self, call: _Call) -> Any:
        """Waits for the answer."""
        try:
            await self._conn.room()
            return await call.answer
        except asyncio.CancelledError:
            self.leave(call)
            raise

    def answered(self, number: int, error: Any, result: Any) -> None:
        """Takes an answer."""
        call = self._open.pop(number, None)
        if call is None:
            raise ProtocolError(f"response: request {number} of this host is not open")
        if not call.answer.done():
            if error is not None:
                call.answer.set_exception(from_wire(error))
                call.answer.exception()  # looked at, where the caller has left
            elif isinstance(result, wire.Unfit):
                call.answer.set_exception(InvalidResultError(f"the result of {call.method} has no form in Python: {result.reason}"))
                call.answer.exception()
            else:
                call.answer.set_result(result)
        call.wake()

    def known(self, number: int, what: str) -> Optional[_Call]:
        """Returns the call of an id, None if it is finished. Raises ProtocolError if the id was never used."""
        call = self._open.get(number)
        if call is None and number > self._last and not self._wrapped:
            raise ProtocolError(f"{what}: this host has made no request {number}")
        return call

    def item(self, number: int, seq: int, value: Any) -> None:
        """Takes an item of a result."""
        call = self.known(number, "item")
        if call is None:
            return
        if call.credit == 0:
            raise ProtocolError(f"item {seq} of request {number}, for which there is no credit")
        if seq != call.seq:
            raise ProtocolError(f"item {seq} of request {number}, expected {call.seq}")
        call.credit -= 1
        call.seq += 1
        if not call.late:
            call.items.append(value)
            call.wake()

    def take(self, call: _Call) -> Any:
        """Takes an item from the queue, and allows more of them."""
        value = call.items.popleft()
        call.taken += 1
        if call.taken >= WINDOW // 2 and self._open.get(call.number) is call:
            self._conn.send(self._conn.encoder.message("credit", [wire.CREDIT, call.number, call.taken]))
            call.credit += call.taken
            call.taken = 0
        return value

    def lose(self, reason: HostError) -> None:
        """Ends all calls."""
        calls, self._open = list(self._open.values()), {}
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(again(reason))
                call.answer.exception()
            call.wake()


class Items(AsyncIterator[Any]):
    """The items of a result, as they come. Made by Host.items; for ``async for``, once.

    A result that comes as one value is the only item, unless it is None. When the loop
    is left early the supervisor is told; aclose does so at a place of one's choice.
    """

    def __init__(self, connected: Any, method: str, params: Any) -> None:
        self._connected = connected
        self._method = method
        self._params = params
        self._conn: Optional["Connection"] = None
        self._call: Optional[_Call] = None
        self._done = False

    def __aiter__(self) -> "Items":
        return self

    async def __anext__(self) -> Any:
        if self._done:
            raise StopAsyncIteration
        if self._call is None:
            self._conn = await self._connected()
            assert self._conn is not None
            self._call = self._conn.calls.begin(self._method, self._params, True)
        assert self._conn is not None
        conn, call = self._conn, self._call
        try:
            await conn.room()
            while not call.items and not call.answer.done():
                call.waiting = conn.loop.create_future()
                await call.waiting
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if call.items:
            value = conn.calls.take(call)
            if isinstance(value, wire.Unfit):
                await self.aclose()
                raise InvalidResultError(f"an item of {self._method} has no form in Python: {value.reason}")
            return value
        self._done = True
        result = call.answer.result()
        if result is None:
            raise StopAsyncIteration
        return result

    async def aclose(self) -> None:
        """Ends the request, if it has not ended."""
        self._leave()

    def _leave(self) -> None:
        self._done = True
        if self._call is not None and self._conn is not None:
            self._conn.calls.leave(self._call)

    def __del__(self) -> None:
        if self._done or self._call is None or self._conn is None:
            return
        conn, call = self._conn, self._call
        try:
            conn.loop.call_soon_threadsafe(conn.calls.leave, call)
        except RuntimeError:
            pass  # the loop has ended
