"""Requests of the supervisor, from their arrival to the one answer of each."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Deque, Dict, List, Optional, Set

from . import _wire as wire
from ._errors import CancelledByCaller, HostError, InvalidParamsError, MethodNotFoundError, ProtocolError, ShuttingDownError
from ._streams import Encoded, Stream
from ._threads import Threads

if TYPE_CHECKING:
    from ._connection import Connection
    from ._handlers import Handler

_current: "contextvars.ContextVar[Optional[Context]]" = contextvars.ContextVar("hostsup_host", default=None)


def current() -> "Optional[Context]":
    """Returns the message that the running code handles, None elsewhere."""
    return _current.get()


class Context:
    """The request or notification that a handler works on.

    id is the number of a request, good for log lines, and 0 for a notification. trace is
    the W3C trace context that came with the message, with the keys traceparent and
    tracestate, or None. Calls that the handler makes carry it by themselves.
    """

    __slots__ = (
        "id", "method", "params", "trace", "reason", "_conn", "_handler", "_task", "_answered", "_acked", "_started", "_stream", "_done", "_inner", "__weakref__",
    )  # fmt: skip

    def __init__(self, conn: "Connection", number: int, method: str, params: Any, trace: Optional[Dict[str, str]]) -> None:
        self.id = number
        self.method = method
        self.params = params
        self.trace = trace
        self.reason: Optional[HostError] = None
        """Why the handler is to end: the error that its answer will be. None while the result is wanted."""
        self._conn = conn
        self._handler: Optional[Handler] = None
        self._task: "Optional[asyncio.Task[None]]" = None
        self._answered = False
        self._acked = False
        self._started = False  # the handler has taken its first step
        self._stream: Optional[Stream] = None
        self._done: List[Callable[[], None]] = []
        self._inner: "Set[Any]" = set()  # futures that a thread of the handler waits for

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer wanted. A handler in a thread should look from time to time; any thread may."""
        return self.reason is not None

    def raise_if_cancelled(self) -> None:
        """Raises asyncio.CancelledError if the result is no longer wanted."""
        if self.reason is not None:
            raise asyncio.CancelledError(self.reason.message)

    async def call(self, method: str, params: Any = None, *, timeout: Optional[float] = None) -> Any:
        """Is Host.call."""
        return await self._conn.host.call(method, params, timeout=timeout)

    def items(self, method: str, params: Any = None) -> AsyncIterator[Any]:
        """Is Host.items."""
        return self._conn.host.items(method, params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Is Host.notify."""
        await self._conn.host.notify(method, params)

    async def progress(self, value: Any) -> None:
        """Sends the notification ``$/progress`` with ``{id, method, value}``: how far this request is."""
        await self._conn.host.notify("$/progress", {"id": self.id, "method": self.method, "value": value})

    def _stop(self, reason: HostError) -> None:
        if self._answered or self.reason is not None:
            return
        self.reason = reason
        if self._task is not None:
            self._task.cancel()
        if self._stream is not None:
            self._stream.wake()
        for f in list(self._inner):
            f.cancel()


class Requests:
    """The open requests of the supervisor on one connection."""

    def __init__(self, conn: "Connection") -> None:
        self._conn = conn
        self._open: Dict[int, Context] = {}
        self._last = 0
        self._running = 0
        self._waiting: Deque[Context] = deque()  # for another handler to end
        self._threads = Threads(conn.loop, conn.host.options.threads)
        self._blocking: List[Context] = []  # that begin in a thread behind the acks of the turn
        self._busy = 0
        self._quiet: List["asyncio.Future[None]"] = []
        self._goodbyes: List[Context] = []
        self._over = False
        self.new: List[Context] = []  # that have come in this turn
        self.refusing = False  # nothing new is accepted

    # What comes in.

    def seen(self, number: int) -> None:
        """Takes in an id that the supervisor has used."""
        if number > self._last:
            self._last = number

    def asked(self, number: int, method: str, params: Any, trace: Optional[Dict[str, str]]) -> None:
        """Takes a request: it is answered at once, or its handler begins."""
        if number in self._open:
            raise ProtocolError(f"request: id {number} is in use")
        if number > self._last:
            self._last = number
        conn = self._conn
        if method == "$/ping":
            conn.send(conn.encoder.message("ping", [wire.RESPONSE, number, None, None]))
            return
        context = Context(conn, number, method, params, trace)
        if method == "shutdown":
            self._goodbye(context)
            return
        handler = conn.host.control(method) if "extensions" in conn.caps else None
        urgent = handler is not None
        if handler is None:
            handler = conn.host.handler(method)
        if self.refusing:
            self._refuse(context, ShuttingDownError("the host is shutting down"))
        elif handler is None:
            self._refuse(context, MethodNotFoundError(f'no method "{method}"'))
        elif type(params) is wire.Unfit:
            self._refuse(context, InvalidParamsError(f"params: they have no form in Python: {params.reason}"))
        else:
            context._handler = handler
            self._open[number] = context
            self._busy += 1
            # One that is inline has ended before another begins: no limit holds for it.
            if not urgent and not (handler.inline and handler.unit is None):
                if self._running >= conn.host.options.concurrent:
                    self.new.append(context)
                    self._waiting.append(context)
                    return
                self._running += 1
                context._done.append(self._freed)
            self._begin(context)

    def _goodbye(self, context: Context) -> None:
        self._conn.parting = True
        self._open[context.id] = context
        self._busy += 1
        if self._over:
            self.answer(context, None)
            return
        self._goodbyes.append(context)
        self.new.append(context)
        self._conn.host.stop()

    def _refuse(self, context: Context, error: HostError) -> None:
        self._conn.send(self._conn.refusal(context.id, error))

    def _begin(self, context: Context) -> None:
        handler = context._handler
        assert handler is not None
        if handler.inline and handler.unit is None:
            try:
                result = handler.call(context)
            except (Exception, SystemExit, asyncio.CancelledError) as e:
                self.fail(context, e)
            else:
                self.answer(context, result)
            return
        self.new.append(context)
        if handler.blocking:
            self._blocking.append(context)
            if context._acked:
                self.start_threads()
            return
        context._task = self._conn.loop.create_task(self._serve(context))

    def _freed(self) -> None:
        self._running -= 1
        while self._waiting and self._running < self._conn.host.options.concurrent:
            context = self._waiting.popleft()
            if context._answered:
                continue
            self._running += 1
            context._done.append(self._freed)
            self._begin(context)

    def acknowledge(self) -> None:
        """Acknowledges the requests of the turn that have no answer yet."""
        new, self.new = self.new, []
        if "ack" in self._conn.caps:
            for context in new:
                if not context._answered and not context._acked:
                    context._acked = True
                    self._conn.send(self._conn.encoder.message("ack", [wire.ACK, context.id]))
        for context in new:
            context._acked = True

    def start_threads(self) -> None:
        """Begins the handlers that block. Their acks have been written, whatever they do to the interpreter."""
        blocking, self._blocking = self._blocking, []
        for context in blocking:
            if not context._answered:
                context._task = self._conn.loop.create_task(self._serve(context))

    async def _serve(self, context: Context) -> None:
        context._started = True
        try:
            result = await self.run(context)
        except BaseException as e:  # what a handler raises is answered, SystemExit too
            if isinstance(e, GeneratorExit) and self._conn.gone is not None:
                raise  # the coroutine is being removed
            self.fail(context, e)
        else:
            self.answer(context, result)

    async def run(self, context: Context) -> Any:
        """Runs a handler, with its extension active, and returns its result."""
        _current.set(context)
        handler = context._handler
        assert handler is not None
        if handler.unit is not None:
            await handler.unit._enter(context)
        if handler.streams:
            if context._stream is None:
                context._stream = Stream(self._conn, context)
            return await context._stream.run(handler, self._threads)
        if handler.inline:
            return handler.call(context)
        if not handler.blocking:
            return await handler.call(context)
        result = await self._threads.run(handler.call, context)
        if asyncio.iscoroutine(result) or asyncio.isfuture(result):
            result = await result
        return result

    def cancelled(self, number: int) -> None:
        """Takes a cancel."""
        context = self._find(number, "cancel")
        if context is None or context in self._goodbyes:
            return
        self.stop(context, CancelledByCaller("cancelled by the caller"))

    def stop(self, context: Context, reason: HostError) -> None:
        """Cancels a handler; reason will be its answer. One that has not begun never does."""
        if context._answered:
            return
        context._stop(reason)
        if not context._started:
            self.fail(context, asyncio.CancelledError())

    def credited(self, number: int, n: int) -> None:
        """Takes credit for items."""
        context = self._find(number, "credit")
        if context is None:
            return
        if context._stream is None:
            context._stream = Stream(self._conn, context)  # its handler takes it over
        context._stream.allow(n)

    def _find(self, number: int, what: str) -> Optional[Context]:
        context = self._open.get(number)
        if context is None and number > self._last:
            raise ProtocolError(f"{what}: there was no request {number}")
        return context

    # Answers.

    def answer(self, context: Context, result: Any) -> None:
        """Answers a request with what its handler returned."""
        if context._answered:
            return
        if context.reason is not None:
            self.fail(context, asyncio.CancelledError())
            return
        encoder = self._conn.encoder
        try:
            if type(result) is Encoded:
                head = encoder.value("result", [wire.RESPONSE, context.id, None], None)
                frame = encoder.frame("result", b"\x94" + head[1:] + result.body)
            else:
                frame = encoder.message("result", [wire.RESPONSE, context.id, None, result])
        except HostError as e:
            self._finish(context, self._conn.refusal(context.id, e))
        else:
            self._finish(context, frame)

    def fail(self, context: Context, error: BaseException) -> None:
        """Answers a request with what its handler raised."""
        if context._answered:
            return
        if context.reason is not None:
            error = context.reason
        elif isinstance(error, asyncio.CancelledError):
            error = HostError("the handler was cancelled, by the host itself", name="CancelledError")
        self._finish(context, self._conn.refusal(context.id, error))
        if isinstance(error, KeyboardInterrupt):
            self._conn.host.stop()

    def _finish(self, context: Context, frame: bytes) -> None:
        context._answered = True
        context._task = None
        self._open.pop(context.id, None)
        self._conn.send(frame)
        done, context._done = context._done, []
        for f in done:
            f()
        self.done_busy()

    # The end.

    def add_busy(self) -> None:
        """Counts something that the end waits for."""
        self._busy += 1

    def done_busy(self) -> None:
        """Takes in that something has ended which the end waits for."""
        self._busy -= 1
        if self._busy - len(self._goodbyes) <= 0:
            quiet, self._quiet = self._quiet, []
            for f in quiet:
                self._conn.release(f)

    async def idle(self, seconds: float) -> int:
        """Waits until no handler runs, for a bounded time. Returns how many run then."""
        if self._busy - len(self._goodbyes) > 0:
            f: "asyncio.Future[None]" = self._conn.loop.create_future()
            self._quiet.append(f)
            timer = self._conn.loop.call_later(seconds, self._conn.release, f)
            try:
                await f
            finally:
                timer.cancel()
        return self._busy - len(self._goodbyes)

    def stop_all(self, reason: HostError) -> None:
        """Cancels all handlers."""
        for context in list(self._open.values()):
            if context in self._goodbyes:
                continue
            self.stop(context, reason)

    def part(self) -> None:
        """Answers the shutdown requests, and from now on at once."""
        self._over = True
        goodbyes, self._goodbyes = self._goodbyes, []
        for context in goodbyes:
            self.answer(context, None)

    async def in_thread(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Runs a function in a thread."""
        return await self._threads.run(fn, *args)

    def end_threads(self) -> None:
        """Ends the threads that are idle."""
        self._threads.end()
