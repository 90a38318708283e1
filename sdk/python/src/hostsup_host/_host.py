"""The host: what a program registers, and how it is served."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, TypeVar, Union

from ._calls import Items
from ._connection import CAPABILITIES, Connection
from ._errors import ClosedError, HostError, RegistrationError, ShuttingDownError, StuckError
from ._extensions import Control, Extension, valid_id
from ._handlers import Handler, accepts, is_async
from ._hello import Hello, Options
from ._requests import current
from ._transport import Transport, open_transport
from . import _wire as wire

if TYPE_CHECKING:
    import concurrent.futures

F = TypeVar("F", bound=Callable[..., Any])

SETTLE = 0.5  # seconds that cancelled handlers get to return, and the last bytes to leave


class Host:
    """A process that hostsup starts, talks to, watches and restarts.

    It serves one connection in its life, on one event loop. name and version are told to
    the supervisor. max_concurrent is how many handlers run at once; further requests are
    acknowledged and wait. threads is how many of those run at once that are defined with
    plain def. drain is how many seconds a graceful end waits for handlers before it
    cancels them, and then for the functions of on_shutdown. outgoing is how many bytes
    wait for a supervisor that reads slowly before who sends has to wait. capabilities
    are those that are offered, all of the protocol by default.
    """

    def __init__(
        self,
        name: str,
        version: str = "",
        *,
        max_concurrent: int = 1024,
        threads: int = 32,
        drain: float = 1.5,
        outgoing: int = 1 << 20,
        capabilities: Sequence[str] = CAPABILITIES,
        logger: Optional[logging.Logger] = None,
    ) -> None:
        unknown = [c for c in capabilities if c not in CAPABILITIES]
        if unknown:
            raise ValueError(f"capability {unknown[0]!r}: expected some of {', '.join(CAPABILITIES)}")
        self.name = name
        self.version = version
        self.log = logger or logging.getLogger("hostsup_host")
        self.options = Options(max_concurrent, threads, drain, outgoing)
        self.hello: Optional[Hello] = None
        """What the supervisor has said; None before the handshake."""
        self._capabilities = tuple(capabilities)
        self._methods: Dict[str, Handler] = {}
        self._notified: Dict[str, Handler] = {}
        self._openers: List[Callable[[Hello], Any]] = []
        self._hooks: List[Callable[[], Any]] = []
        self._extensions: Dict[str, Extension] = {}
        self._control = Control(self)
        self._ranks = 0
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._thread = 0
        self._conn: Optional[Connection] = None  # from the end of the handshake
        self._serving: Optional[Connection] = None  # from the start of serve
        self._over = False
        self._stop_requested = False
        self._ready: "Optional[asyncio.Future[None]]" = None
        self._stop: "Optional[asyncio.Future[None]]" = None
        self._tasks: "set[asyncio.Task[Any]]" = set()

    # Registration.

    def handle(self, method: str, *, inline: bool = False) -> Callable[[F], F]:
        """Registers the handler of a method, a decorator. The function takes ``(params, ctx)``.

        What it returns, or the exception that it raises, is the answer. An ``async def``
        runs as a task and is cancelled when the caller no longer wants the result. A plain
        ``def`` may block: it runs in a thread, and is told of a cancellation by
        ctx.cancelled. A function with ``yield``, of both kinds, sends each value as an item
        of a streamed result. With inline a plain def runs on the event loop itself, without
        a thread; it must be quick and must not block.

        RegistrationError is raised for a method that is registered already or belongs to
        the protocol, and for a function that cannot take the arguments.
        """

        def register(fn: F) -> F:
            self._register(method, Handler(fn, f"method {method!r}", inline))
            return fn

        return register

    def _register(self, method: str, handler: Handler) -> None:
        self._check_name(method, "method")
        if method in self._methods:
            first = getattr(self._methods[method].fn, "__qualname__", "a function")
            raise RegistrationError(f"method {method!r} is registered already, for {first}")
        self._methods[method] = handler

    @staticmethod
    def _check_name(method: str, what: str) -> None:
        try:
            wire.check_method(method)
        except ValueError as e:
            raise RegistrationError(str(e)) from None
        if what == "method" and method.startswith(("$/", "extension/")):
            raise RegistrationError(f"method {method!r} belongs to the protocol: a host cannot register it")

    def on_notify(self, method: str) -> Callable[[F], F]:
        """Registers the handler of a notification, a decorator. The function takes ``(params, ctx)``.

        Notifications are handled one after the other, in the order of their arrival. What a
        handler raises is logged.
        """

        def register(fn: F) -> F:
            self._check_name(method, "notification")
            if method in self._notified:
                raise RegistrationError(f"notification {method!r} is registered already")
            handler = Handler(fn, f"notification {method!r}")
            if handler.streams:
                raise RegistrationError(f"notification {method!r}: its handler cannot yield, because a notification has no answer")
            self._notified[method] = handler
            return fn

        return register

    def on_initialize(self, fn: F) -> F:
        """Registers a function that is called with the Hello of the supervisor before the handshake is answered, a decorator.

        It must be a plain def and must be quick. What it raises is the answer, and ends the
        connection.
        """
        if is_async(fn):
            raise RegistrationError("on_initialize: the function must be a plain def, because the handshake waits for it")
        accepts(fn, 1, "on_initialize", "(hello)")
        self._openers.append(fn)
        return fn

    def on_shutdown(self, fn: F) -> F:
        """Registers a function that is called without arguments at the end of the connection, a decorator.

        It runs after the last handler has returned and before a shutdown request is answered,
        the last registered first. What it raises is logged.
        """
        accepts(fn, 0, "on_shutdown", "()")
        self._hooks.append(fn)
        return fn

    def extension(self, id: str, *, version: str = "", events: Sequence[str] = (), depends_on: Sequence[str] = ()) -> Extension:
        """Adds an extension, a part of the host that is activated when it is needed.

        id has the form publisher.name. events are what it is activated for, besides the
        calls of its methods. depends_on are the ids of extensions that are active before it.
        It must be added before the host is served, with its methods. RegistrationError is
        raised for an id that is not valid or is there already.

        A supervisor whose configuration has an extensions block for this host decides when
        one is activated. Else the host does: those with the event "*" or
        "onStartupFinished" after the handshake, others at the first call of a method.
        """
        for i in (id, *depends_on):
            if not valid_id(i):
                raise RegistrationError(f"extension {id!r}: {i!r:.80} is not an id, expected publisher.name")
        if id.lower() in self._extensions:
            raise RegistrationError(f"extension {id!r} is registered already")
        if self.hello is not None:
            raise RegistrationError(f"extension {id!r}: the extensions have been announced, it must be added before the host is served")
        added = Extension(self, id, version, events, depends_on)
        self._extensions[id.lower()] = added
        return added

    # Towards the supervisor.

    async def call(self, method: str, params: Any = None, *, timeout: Optional[float] = None) -> Any:
        """Sends a request to the supervisor and returns its result.

        An error of the supervisor is a HostError. When the caller is cancelled, or timeout
        seconds have passed (asyncio.TimeoutError), the supervisor is told. ClosedError means
        that the connection has ended. Before the handshake is done, call waits for that.
        """
        if timeout is not None:
            return await asyncio.wait_for(self.call(method, params), timeout)
        conn = await self._connected()
        return await conn.calls.wait(conn.calls.begin(method, params, False))

    def items(self, method: str, params: Any = None) -> Items:
        """Sends a request to the supervisor; ``async for`` takes the items of the result as they come.

        The supervisor sends at most 64 items ahead. Errors are those of call.
        """
        return Items(self._connected, method, params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification to the supervisor. It returns when the message is on its way."""
        conn = await self._connected()
        conn.check()
        conn.send(conn.encoder.call([wire.NOTIFICATION], method, params, conn.trace()))
        await conn.room()

    def call_sync(self, method: str, params: Any = None, *, timeout: Optional[float] = None) -> Any:
        """Is call, for handlers that run in a thread. RuntimeError is raised on the thread of the event loop."""
        return self._from_thread("call", self.call(method, params, timeout=timeout))

    def notify_sync(self, method: str, params: Any = None) -> None:
        """Is notify, for handlers that run in a thread."""
        self._from_thread("notify", self.notify(method, params))

    def items_sync(self, method: str, params: Any = None) -> Iterator[Any]:
        """Is items, for handlers that run in a thread."""
        items = self.items(method, params)
        try:
            while True:
                try:
                    yield self._from_thread("items", items.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            if not items._done:
                self._from_thread("items", items.aclose())

    def _from_thread(self, what: str, coroutine: Any) -> Any:
        loop = self._loop
        if loop is None or loop.is_closed() or threading.get_ident() == self._thread:
            coroutine.close()
            if loop is None or loop.is_closed():
                raise ClosedError("there is no connection to a supervisor: the host is not being served")
            raise RuntimeError(f"host.{what}_sync would block the event loop: use await host.{what}, or async for over host.items")
        import concurrent.futures

        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        context = current()
        if context is not None:
            context._inner.add(future)
            if context.cancelled:
                future.cancel()
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError(f"{what} was cancelled") from None
        finally:
            if context is not None:
                context._inner.discard(future)

    async def _connected(self) -> Connection:
        if self._over or self._ready is None:
            raise ClosedError("there is no connection to a supervisor: the host is not being served" if not self._over else "the connection has ended")
        if not self._ready.done():
            await asyncio.shield(self._ready)
        if self._conn is None:
            raise ClosedError("the connection has ended")
        return self._conn

    # What a connection asks.

    def offered(self) -> List[str]:
        """Returns the capabilities of this host."""
        return list(self._capabilities) + (["extensions"] if self._extensions else [])

    def announced(self) -> List[Dict[str, Any]]:
        """Returns what the supervisor is told of the extensions."""
        return [x._announced() for x in self._extensions.values()]

    def opened(self, params: Dict[str, Any], caps: FrozenSet[str]) -> None:
        """Takes in what the supervisor says of itself."""
        self.hello = Hello(params, caps)
        for fn in self._openers:
            fn(self.hello)

    def began(self, conn: Connection) -> None:
        """Takes in the end of the handshake."""
        self._conn = conn
        assert self._ready is not None
        if not self._ready.done():
            self._ready.set_result(None)
        if self._extensions and "extensions" not in conn.caps:
            self._background(self._startup())

    def handler(self, method: str) -> Optional[Handler]:
        """Returns the handler of a method."""
        return self._methods.get(method)

    def control(self, method: str) -> Optional[Handler]:
        """Returns the protocol's own handler of a method."""
        return self._control.handlers.get(method)

    def note_handler(self, method: str) -> Optional[Handler]:
        """Returns the handler of a notification."""
        return self._notified.get(method)

    # Extensions.

    def _extension(self, id: str) -> Optional[Extension]:
        return self._extensions.get(id.lower())

    def _next_rank(self) -> int:
        self._ranks += 1
        return self._ranks

    def _config_of(self, id: str) -> Any:
        init = self.hello.init if self.hello is not None else None
        if isinstance(init, dict):
            for name, part in init.items():
                if isinstance(name, str) and name.lower() == id.lower():
                    return part
        return None

    async def _need(self, extension: Extension, event: str) -> None:
        if self.hello is not None and "extensions" in self.hello.capabilities:
            await self.call("extension/need", {"id": extension.id, "event": event})
        else:
            await extension._by_itself(event, False)

    async def _startup(self) -> None:
        for event in ("*", "onStartupFinished"):
            for x in list(self._extensions.values()):
                if event in x.events:
                    try:
                        await x._by_itself(event, True)
                    except Exception as e:
                        self.log.error("the activation of %s failed: %s", x.id, e, exc_info=e.__cause__)

    def _tell_uncaught(self, params: Dict[str, Any]) -> None:
        if self.hello is None or "extensions" not in self.hello.capabilities or self._conn is None or self._conn.gone is not None:
            return
        try:
            self._conn.send(self._conn.encoder.call([wire.NOTIFICATION], "extension/uncaught", params, None))
        except HostError as e:
            self.log.error("the supervisor cannot be told of an error: %s", e)

    def _background(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call_hook(self, fn: Callable[..., Any], *args: Any) -> None:
        """Calls a function of the user that may be async, and in a thread if it is not."""
        assert self._serving is not None
        result = fn(*args) if is_async(fn) else await self._serving.requests.in_thread(fn, *args)
        if asyncio.iscoroutine(result) or asyncio.isfuture(result):
            await result

    # Serving.

    def run(self) -> None:
        """Serves the connection that the environment names until its end.

        It returns after a graceful end: a shutdown request, SIGTERM or stop. Otherwise it
        prints why to standard error and exits with status 1.
        """
        try:
            asyncio.run(self.serve())
        except ClosedError as e:
            print(f"{self.name}: {e.message}", file=sys.stderr)
            sys.exit(1)

    def stop(self) -> None:
        """Ends gracefully: new requests are refused, running handlers get the time set by drain. Any thread may call it."""
        loop = self._loop
        if loop is None:
            self._stop_requested = True
            return
        if threading.get_ident() != self._thread:
            loop.call_soon_threadsafe(self.stop)
            return
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(None)

    async def stopping(self) -> None:
        """Waits until the connection begins to end, for handlers that would go on for ever."""
        if self._stop is None:
            raise ClosedError("the host is not being served")
        await asyncio.shield(self._stop)

    async def serve(self, connection: Union[None, Transport, socket.socket] = None) -> None:
        """Serves one connection until its end and closes it: a connected socket, or what the environment names.

        PeerGoneError means that the supervisor closed the connection without a shutdown
        request, ProtocolError that it broke a rule of the protocol, NoTransportError that
        the environment names no connection, StuckError that a handler did not return
        although it was cancelled. RuntimeError is raised by the second serve of a host.
        """
        if self._loop is not None:
            raise RuntimeError("a host serves one connection in its life")
        loop = self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._ready, self._stop = loop.create_future(), loop.create_future()
        if self._stop_requested:
            self.stop()
        try:
            if connection is None:
                transport = open_transport()
            else:
                transport = Transport.of_socket(connection) if isinstance(connection, socket.socket) else connection
            conn = self._serving = Connection(self, transport, loop)
        except BaseException:
            self._finished()
            raise
        signals = self._listen(loop)
        conn.start()
        try:
            await asyncio.wait({conn.ended, self._stop}, return_when=asyncio.FIRST_COMPLETED)
            self.stop()
            stuck = await self._drain(conn)
            if conn.parting:
                await asyncio.wait({conn.ended})
            if conn.ended.done():
                conn.ended.result()
            if stuck:
                raise StuckError(f"handlers did not return: {stuck} of them")
        finally:
            if signals:
                loop.remove_signal_handler(signal.SIGTERM)
            for task in list(self._tasks):
                task.cancel()
            conn.close()
            self._finished()

    def _finished(self) -> None:
        self._over = True
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)
        self.stop()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Ends gracefully on SIGTERM. A second one has its usual effect."""

        def on_signal() -> None:
            loop.remove_signal_handler(signal.SIGTERM)
            self.stop()

        try:
            loop.add_signal_handler(signal.SIGTERM, on_signal)
        except (ValueError, RuntimeError, NotImplementedError):
            return False  # not the main thread
        return True

    async def _drain(self, conn: Connection) -> int:
        """Waits for handlers, runs the hooks and answers the shutdown requests. Returns how many handlers are left."""
        requests = conn.requests
        requests.refusing = True
        left = await requests.idle(self.options.drain)
        if left:
            reason = conn.gone or ShuttingDownError("the host is shutting down")
            requests.stop_all(reason)
            conn.stop_notes()
            left = await requests.idle(SETTLE)
        await conn.settle(SETTLE)  # answers leave before a hook can end the process
        await self._run_hooks()
        requests.part()
        await conn.settle(SETTLE)
        return left

    async def _run_hooks(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.options.drain
        hooks: List[Any] = list(reversed(self._hooks))
        units = sorted(self._extensions.values(), key=lambda x: x._rank, reverse=True)
        for x in units:
            try:
                await x._end(max(end - loop.time(), 0))
            except Exception as e:
                self.log.error("the deactivation of %s failed", x.id, exc_info=e)
        for fn in hooks:
            # A function in a thread cannot be interrupted: it is left behind.
            task = loop.create_task(self._call_hook(fn))
            await asyncio.wait({task}, timeout=max(end - loop.time(), 0))
            if not task.done():
                task.cancel()
                self.log.error("the function %s of on_shutdown did not return within %g s", getattr(fn, "__qualname__", fn), self.options.drain)
            elif not task.cancelled() and task.exception() is not None:
                self.log.error("the function %s of on_shutdown failed", getattr(fn, "__qualname__", fn), exc_info=task.exception())
