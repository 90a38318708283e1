"""One connection in service: the receive loop, what leaves it, and the handshake."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, FrozenSet, List, Optional

from . import _wire as wire
from ._calls import Calls
from ._errors import ClosedError, HostError, PeerGoneError, ProtocolError, VersionNotSupportedError, again, plain, to_wire
from ._requests import Context, Requests, current
from ._transport import Transport

if TYPE_CHECKING:
    from ._host import Host

READ_SIZE = 256 << 10
NOTES_WAITING = 1024
CAPABILITIES = ("ack", "cancel", "stream", "trace", "ping")

_needs = {wire.ACK: "ack", wire.CANCEL: "cancel", wire.ITEM: "stream", wire.CREDIT: "stream"}
_sizes = {
    wire.REQUEST: 4, wire.RESPONSE: 4, wire.NOTIFICATION: 3, wire.ACK: 2, wire.CANCEL: 2, wire.ITEM: 4, wire.CREDIT: 3,
}  # fmt: skip


class Connection:
    """The state of one connection. All methods must be called on the event loop's thread.

    A turn is one call of _readable. What it starts runs its first step before
    _end_turn, which the loop calls next; that acknowledges every request that has no
    answer by then, and all of it leaves in one write.
    """

    def __init__(self, host: "Host", transport: Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.host = host
        self.loop = loop
        self.caps: FrozenSet[str] = frozenset()
        self.encoder = wire.Encoder()
        self.requests = Requests(self)
        self.calls = Calls(self)
        self.ended: "asyncio.Future[None]" = loop.create_future()  # by the end of what can be read
        self.parting = False  # a shutdown was asked for
        self.gone: Optional[HostError] = None  # why nothing can be sent any more
        self._transport = transport
        self._frames = wire.Frames()
        self._step: Callable[[List[Any]], None] = self._opening
        self._out: List[bytes] = []
        self._rest = memoryview(b"")  # what could not be written, in front of _out
        self._out_bytes = 0
        self._flushing = False  # _flush is scheduled
        self._writing = False  # the peer does not read: the loop watches for room
        self._reading = False
        self._room: List["asyncio.Future[None]"] = []
        self._notes: Deque[Context] = deque()
        self._delivering: Optional["asyncio.Task[None]"] = None
        self._turn_open = False

    def start(self) -> None:
        """Begins to read."""
        self._resume()

    # What comes in.

    def _resume(self) -> None:
        if not self._reading and not self.ended.done():
            self._reading = True
            self.loop.add_reader(self._transport.read_fd, self._readable)

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self.loop.remove_reader(self._transport.read_fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._transport.read_fd, READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as e:
            self._end(PeerGoneError(f"the connection to the supervisor broke: {e}"))
            return
        try:
            if not data:
                self._frames.end()
                self._end(None if self.parting else PeerGoneError("the supervisor closed the connection without a shutdown request"))
                return
            for body in self._frames.feed(data):
                self._step(wire.decode(body))
        except HostError as e:
            self._end(e)
        except Exception as e:  # of this package: the supervisor is told by the end of the connection
            self.host.log.exception("receiving from the supervisor failed")
            self._end(ProtocolError(f"receiving failed: {type(e).__name__}: {e}"))
        if self._out_bytes > self.host.options.outgoing or len(self._notes) > NOTES_WAITING:
            self._pause()  # the supervisor is slowed down
        # Handlers that have begun take their first step before this.
        if self.requests.new and not self._turn_open:
            self._turn_open = True
            self.loop.call_soon(self._end_turn)
        elif not self._turn_open:
            self._flush()

    def _end_turn(self) -> None:
        self._turn_open = False
        self.requests.acknowledge()
        self._flush()
        self.requests.start_threads()

    def _end(self, reason: Optional[HostError]) -> None:
        """Takes in that nothing more is read. None: that was agreed."""
        self._pause()
        if self.ended.done():
            return
        if reason is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(reason)
            self.ended.exception()  # looked at, if serve is not waiting for it
        self.lose(reason or ClosedError("the connection has ended"))

    def lose(self, reason: HostError) -> None:
        """Ends what depends on the supervisor: calls fail, and so do senders that wait."""
        if self.gone is None:
            self.gone = reason
        self.calls.lose(self.gone)
        self.requests.stop_all(self.gone)
        self.stop_notes()
        self._wake()

    def _opening(self, m: List[Any]) -> None:
        """Takes the first message."""
        if m[0] != wire.REQUEST or type(m[0]) is not int or len(m) != 4 or m[2] != "initialize":
            raise ProtocolError(f"expected the request initialize first, got {m!r:.200}")
        number = self._id(m)
        try:
            self._answer_opening(number, m[3] if m[3] is not None else {})
        except HostError as e:
            self.requests.seen(number)
            self.send(self.encoder.message("error", [wire.RESPONSE, number, to_wire(e), None]))
            self._flush()
            raise
        except Exception as e:
            self.send(self.encoder.message("error", [wire.RESPONSE, number, to_wire(e), None]))
            self._flush()
            raise ClosedError(f"initialize: {type(e).__name__}: {e}") from e

    def _answer_opening(self, number: int, params: Any) -> None:
        if not isinstance(params, dict):
            raise HostError("initialize: params are not a map", name="InvalidParams")
        if type(params.get("protocol")) is not int or params["protocol"] != 1:
            raise VersionNotSupportedError(f"the supervisor speaks protocol {params.get('protocol')!r}, this host speaks 1")
        offered, units = self.host.offered(), self.host.announced()
        theirs = params.get("capabilities") or []
        caps = frozenset(c for c in theirs if isinstance(c, str)) & frozenset(offered) if isinstance(theirs, list) else frozenset()
        self.host.opened(params, caps)
        answer: Dict[str, Any] = {"protocol": 1, "name": self.host.name, "version": self.host.version, "capabilities": offered}
        if "extensions" in caps:
            answer["extensions"] = units
        self.send(self.encoder.message("initialize", [wire.RESPONSE, number, None, answer]))
        self.requests.seen(number)
        self.caps = caps
        self._step = self._initialized

    def _initialized(self, m: List[Any]) -> None:
        """Takes the second message."""
        if m[0] != wire.NOTIFICATION or type(m[0]) is not int or len(m) < 3 or m[1] != "initialized":
            raise ProtocolError(f"expected the notification initialized, got {m!r:.200}")
        self._step = self._message
        self.host.began(self)

    def _message(self, m: List[Any]) -> None:
        """Takes any later message."""
        kind = m[0]
        size = _sizes.get(kind) if type(kind) is int else None
        if size is None:
            raise ProtocolError(f"message: kind {kind!r:.50}, expected 0 to 6")
        trace: Any = None
        if len(m) != size:
            if len(m) != size + 1 or kind not in (wire.REQUEST, wire.NOTIFICATION) or "trace" not in self.caps:
                raise ProtocolError(f"message: {len(m)} elements in a message of kind {kind}, expected {size}")
            trace = self._trace(m.pop())
        if kind == wire.NOTIFICATION:
            self._notified(self._method(m[1]), m[2], trace)
            return
        number = self._id(m)
        if kind == wire.REQUEST:
            self.requests.asked(number, self._method(m[2]), m[3], trace)
            return
        if kind == wire.RESPONSE:
            if m[2] is not None and m[3] is not None:
                raise ProtocolError(f"response: an error and a result for request {number}")
            self.calls.answered(number, m[2], m[3])
            return
        if _needs[kind] not in self.caps:
            raise ProtocolError(f"message: kind {kind} needs the capability {_needs[kind]}, which is not in force")
        if kind == wire.ACK:
            self.calls.known(number, "ack")
        elif kind == wire.CANCEL:
            self.requests.cancelled(number)
        elif kind == wire.ITEM:
            self.calls.item(number, self._u32(m[2], "seq"), m[3])
        else:
            self.requests.credited(number, self._u32(m[2], "credit"))

    @staticmethod
    def _u32(value: Any, what: str) -> int:
        if type(value) is not int or not 0 <= value <= wire.MAX_ID:
            raise ProtocolError(f"message: {what} is {value!r:.50}, expected 0 to 4294967295")
        return value

    def _id(self, m: List[Any]) -> int:
        number = self._u32(m[1], "id")
        if number == 0:
            raise ProtocolError("message: id 0, ids start at 1")
        return number

    @staticmethod
    def _method(value: Any) -> str:
        if type(value) is str and value:
            if value.isascii() and len(value) <= wire.MAX_METHOD:
                return value
            try:
                if len(value.encode()) <= wire.MAX_METHOD:
                    return value
            except UnicodeEncodeError:
                pass
        raise ProtocolError(f"message: the method is {value!r:.80}, expected 1 to 1024 bytes of UTF-8")

    @staticmethod
    def _trace(value: Any) -> Optional[Dict[str, str]]:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ProtocolError(f"message: the trace is {value!r:.80}, expected a map")
        out: Dict[str, str] = {}
        for key in ("traceparent", "tracestate"):
            if key in value:
                text = value[key]
                try:
                    size = len(text.encode()) if type(text) is str else -1
                except UnicodeEncodeError:
                    size = -1
                if not 0 <= size <= wire.MAX_METHOD:
                    raise ProtocolError(f"message: {key} is not a str of at most 1024 bytes of UTF-8")
                out[key] = text
        return out

    # Notifications: one after the other, in the order of arrival.

    def _notified(self, method: str, params: Any, trace: Optional[Dict[str, str]]) -> None:
        handler = self.host.note_handler(method)
        if handler is None or self.requests.refusing:
            return
        note = Context(self, 0, method, params, trace)
        note._handler = handler
        self._notes.append(note)
        self.requests.add_busy()
        if self._delivering is None:
            self._delivering = self.loop.create_task(self._deliver())

    async def _deliver(self) -> None:
        """Runs the handlers of notifications that wait."""
        try:
            while self._notes:
                note = self._notes.popleft()
                if len(self._notes) == NOTES_WAITING // 2:
                    self._resume()
                try:
                    await self.requests.run(note)
                except asyncio.CancelledError:
                    if self.requests.refusing:
                        raise
                    self.host.log.error("the handler of the notification %s was cancelled", note.method)
                except (KeyboardInterrupt, GeneratorExit):
                    raise
                except BaseException:  # the notifications behind it are handled all the same
                    self.host.log.exception("the handler of the notification %s failed", note.method)
                finally:
                    self.requests.done_busy()
        finally:
            self._delivering = None
            while self._notes:
                self._notes.popleft()
                self.requests.done_busy()

    def stop_notes(self) -> None:
        """Cancels the handler of a notification that runs."""
        if self._delivering is not None:
            self._delivering.cancel()

    # What goes out.

    def send(self, frame: bytes) -> None:
        """Puts a frame behind those that wait to leave; it leaves at the end of the turn."""
        if self._transport_broken:
            return
        self._out.append(frame)
        self._out_bytes += len(frame)
        if not self._flushing and not self._writing and not self._turn_open:
            self._flushing = True
            self.loop.call_soon(self._flush)

    _transport_broken = False

    def _flush(self) -> None:
        self._flushing = False
        if self._out and not self._writing:
            self._write()

    def _write(self) -> None:
        """Writes what waits, as far as the supervisor reads."""
        while self._rest or self._out:
            if not self._rest:
                self._rest = memoryview(self._out[0] if len(self._out) == 1 else b"".join(self._out))
                self._out = []
            try:
                n = os.write(self._transport.write_fd, self._rest)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                # The end of what can be read tells why.
                self._transport_broken = True
                self._rest, self._out, self._out_bytes = memoryview(b""), [], 0
                break
            # A view of what is left: copies of a large frame would take a time that grows with its square.
            self._rest = self._rest[n:]
            self._out_bytes -= n
            if self._rest:
                break
        if bool(self._rest) != self._writing:
            self._writing = not self._writing
            if self._writing:
                self.loop.add_writer(self._transport.write_fd, self._write)
            else:
                self.loop.remove_writer(self._transport.write_fd)
        if self._room and self._out_bytes <= self.host.options.outgoing or not self._reading:
            self._wake()

    def _wake(self) -> None:
        """Lets those go on who wait for room."""
        if len(self._notes) <= NOTES_WAITING and self._out_bytes <= self.host.options.outgoing:
            self._resume()
        waiting, self._room = self._room, []
        for f in waiting:
            self.release(f)

    async def room(self) -> None:
        """Waits while the supervisor does not read what has been sent."""
        while self._out_bytes > self.host.options.outgoing and self.gone is None and not self._transport_broken:
            f: "asyncio.Future[None]" = self.loop.create_future()
            self._room.append(f)
            await f

    async def settle(self, seconds: float) -> None:
        """Waits until all is written, for a bounded time."""
        end = self.loop.time() + seconds
        self._flush()
        while self._out_bytes and not self._transport_broken and self.loop.time() < end:
            f: "asyncio.Future[None]" = self.loop.create_future()
            self._room.append(f)
            timer = self.loop.call_at(end, self.release, f)
            try:
                await f
            finally:
                timer.cancel()

    @staticmethod
    def release(f: "asyncio.Future[None]") -> None:
        """Ends the waiting for a future."""
        if not f.done():
            f.set_result(None)

    def check(self) -> None:
        """Raises the error of the end, if nothing can be sent any more."""
        if self.gone is not None:
            raise again(self.gone)

    def close(self) -> None:
        """Closes the stream."""
        if not self.ended.done():
            self.ended.cancel()  # reading does not begin again
        self._pause()
        self.lose(ClosedError("the connection has ended"))
        if self._writing:
            self._writing = False
            self.loop.remove_writer(self._transport.write_fd)
        self._transport_broken = True
        self._transport.close()
        self.requests.end_threads()

    def trace(self) -> Optional[Dict[str, str]]:
        """Returns the trace of the message that is being handled, None where it cannot be sent."""
        context = current()
        return context.trace if context is not None and "trace" in self.caps else None

    def refusal(self, number: int, error: BaseException) -> bytes:
        """Returns the frame that answers a request with an error, whatever the error contains."""
        try:
            return self.encoder.message("error", [wire.RESPONSE, number, to_wire(error), None])
        except Exception:
            return self._plainly(number, error)

    def _plainly(self, number: int, error: BaseException) -> bytes:
        m = {k: v.encode("utf-8", "replace").decode()[:4096] for k, v in plain(error).items()}
        return self.encoder.message("error", [wire.RESPONSE, number, m, None])
