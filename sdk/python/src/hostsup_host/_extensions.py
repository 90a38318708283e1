"""Extensions: parts of a host that are activated one by one."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Dict, List, Optional, Sequence, Set, Tuple, TypeVar

from ._errors import HostError, NotActiveError, to_wire
from ._handlers import Handler, accepts
from ._requests import Context, current

if TYPE_CHECKING:
    from ._host import Host

F = TypeVar("F", bound=Callable[..., Any])

OFF, STARTING, ON, STOPPING = range(4)
MAX_TRIES = 3  # how often a call has its extension activated


def valid_id(text: Any) -> bool:
    """Reports whether text has the form publisher.name."""
    if not isinstance(text, str) or len(text.encode("utf-8", "replace")) > 256 or text.strip() != text:
        return False
    publisher, _, name = text.partition(".")
    return bool(publisher and name)


class Activation:
    """One run of an extension, from its activation to its deactivation.

    event is what it was activated for, such as "onLanguage:python". startup says that the
    activation belongs to the start of the host. config is the member of the
    configuration's init that has the id of the extension as its name, or None.
    """

    def __init__(self, extension: "Extension", event: str, startup: bool, config: Any) -> None:
        self.event = event
        self.startup = startup
        self.config = config
        self.log = logging.getLogger(f"hostsup_host.{extension.id}")
        self._extension = extension
        self._tasks: "Set[asyncio.Task[Any]]" = set()
        self._ended = False

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Runs a coroutine beside the handlers, until the extension is deactivated: then it is cancelled.

        The deactivation waits for it. An exception in it ends neither the process nor the
        extension; it is logged, and the supervisor is told.
        """
        if self._ended:
            coroutine.close()
            raise NotActiveError(f"{self._extension.id}: it is deactivated, nothing can be started for it")
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.log.error("a task of the extension failed", exc_info=error)
            self._extension._uncaught(error)

    def _cancel(self) -> None:
        self._ended = True
        for task in list(self._tasks):
            task.cancel()

    async def _wait(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))


class Extension:
    """A part of a host that is activated when it is needed and can be deactivated alone. Made by Host.extension."""

    def __init__(self, host: "Host", id: str, version: str, events: Sequence[str], depends_on: Sequence[str]) -> None:
        self.id = id
        self.version = version
        self.events = list(events)
        self.depends_on = list(depends_on)
        self._host = host
        self._methods: List[str] = []
        self._on_activate: Optional[Callable[..., Any]] = None
        self._on_deactivate: Optional[Callable[..., Any]] = None
        self._state = OFF
        self._changes: "List[asyncio.Future[None]]" = []
        self._active: Optional[Activation] = None
        self._starter: "Optional[Tuple[asyncio.Task[Any], Optional[Context]]]" = None
        self._calls: Set[Context] = set()
        self._failed: Optional[HostError] = None
        self._rank = 0

    def handle(self, method: str, *, inline: bool = False) -> Callable[[F], F]:
        """Is Host.handle, for a method of the extension: it is active while a handler of it runs."""

        def register(fn: F) -> F:
            self._host._register(method, Handler(fn, f"method {method!r}", inline, self))
            self._methods.append(method)
            return fn

        return register

    def activate(self, fn: F) -> F:
        """Registers the function that makes the extension ready, a decorator. Its argument is an Activation.

        When it raises, the supervisor is told and the extension is not active.
        """
        accepts(fn, 1, f"activate of {self.id}", "(activation)")
        self._on_activate = fn
        return fn

    def deactivate(self, fn: F) -> F:
        """Registers the function that undoes activate, a decorator; it takes no argument.

        It is called once for each activation that has succeeded, after the last handler of
        the extension has returned. If it raises, or does not return in time, the supervisor
        ends the process.
        """
        accepts(fn, 0, f"deactivate of {self.id}", "()")
        self._on_deactivate = fn
        return fn

    # States.

    def _to(self, state: int) -> None:
        self._state = state
        self._changed()

    def _changed(self) -> None:
        changes, self._changes = self._changes, []
        for f in changes:
            if not f.done():
                f.set_result(None)

    async def _change(self) -> None:
        f: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        self._changes.append(f)
        await f

    async def _settled(self) -> None:
        while self._state in (STARTING, STOPPING):
            await self._change()

    async def _enter(self, context: Context) -> None:
        """Waits until the extension is active, and keeps it so until the request is answered."""
        tries = 0
        while self._state != ON:
            if self._state != OFF:
                await self._change()
                continue
            if tries == MAX_TRIES:
                raise NotActiveError(f"{self.id}: it has just been deactivated")
            tries += 1
            await self._host._need(self, f"onCommand:{context.method}")
        self._calls.add(context)
        context._done.append(lambda: self._left(context))

    def _left(self, context: Context) -> None:
        self._calls.discard(context)
        if not self._calls:
            self._changed()

    async def _start(self, event: str, startup: bool) -> None:
        await self._settled()
        if self._state == ON:
            return
        task = asyncio.current_task()
        assert task is not None
        context = current()
        active = Activation(self, event, startup, self._host._config_of(self.id))
        self._active, self._starter = active, (task, context)
        self._to(STARTING)
        ok = False
        try:
            if self._on_activate is not None:
                await self._host._call_hook(self._on_activate, active)
            if context is not None and context.cancelled:
                active._cancel()
                await self._undo()
                raise asyncio.CancelledError
            ok = True
        finally:
            self._starter = None
            if not ok:
                active._cancel()
                await active._wait()  # as long as it goes on, the extension is not off
                self._active = None
            self._rank = self._host._next_rank()
            self._to(ON if ok else OFF)

    async def _undo(self) -> None:
        if self._on_deactivate is not None:
            await self._host._call_hook(self._on_deactivate)

    async def _end(self, seconds: float) -> None:
        """Deactivates: handlers get half of the time, then they are cancelled; after them deactivate is called."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        if self._starter is not None:
            task, context = self._starter
            if context is not None:
                context._stop(NotActiveError(f"{self.id}: it is deactivated"))
            else:
                task.cancel()
        step = ["its activate does" if self._state == STARTING else "its deactivate does"]
        ending = loop.create_task(self._finish(end, seconds, step))
        try:
            done, _ = await asyncio.wait({ending}, timeout=max(end - loop.time(), 0))
        except asyncio.CancelledError:
            ending.add_done_callback(_look)
            raise
        if not done:
            ending.add_done_callback(_look)
            raise HostError(f"{self.id}: {step[0]} not return within {seconds:g} s", name="DeadlineExceeded")
        ending.result()

    async def _finish(self, end: float, seconds: float, step: List[str]) -> None:
        loop = asyncio.get_running_loop()
        await self._settled()
        if self._state == OFF:
            return
        active = self._active
        assert active is not None
        self._to(STOPPING)
        try:
            step[0] = "its handlers do"
            timer = loop.call_later(max(end - loop.time(), 0) / 2, self._hurry)
            try:
                while self._calls:
                    await self._change()
            finally:
                timer.cancel()
            active._cancel()
            step[0] = "its deactivate does"
            await self._undo()
            step[0] = "what it has spawned does"
            await active._wait()
        finally:
            active._cancel()
            self._active = None
            self._to(OFF)

    def _hurry(self) -> None:
        for context in list(self._calls):
            context._conn.requests.stop(context, NotActiveError(f"{self.id}: the extension is deactivated"))

    async def _by_itself(self, event: str, startup: bool, chain: "Tuple[Extension, ...]" = ()) -> None:
        """Activates the extension and before it what it depends on, where the supervisor leaves that to the host."""
        if self._state == ON:
            return
        if self in chain:
            raise NotActiveError(f"{self.id}: it depends on itself")
        if self._failed is not None:
            raise NotActiveError(self._failed.message) from self._failed.__cause__
        for id in self.depends_on:
            other = self._host._extension(id)
            if other is None:
                raise NotActiveError(f"{self.id}: it depends on {id}, and there is no such extension")
            try:
                await other._by_itself(event, startup, chain + (self,))
            except HostError as e:
                raise NotActiveError(f"{self.id}: it depends on {id}") from e
        try:
            await self._start(event, startup)
        except Exception as e:
            self._failed = NotActiveError(f"{self.id}: its activation has failed")
            self._failed.__cause__ = e
            raise self._failed from e

    def _uncaught(self, error: BaseException) -> None:
        m = {k: v for k, v in to_wire(error).items() if k in ("name", "message", "stack")}
        self._host._tell_uncaught({"id": self.id, "error": m})

    def _announced(self) -> Dict[str, Any]:
        events = self.events + [e for e in (f"onCommand:{m}" for m in self._methods) if e not in self.events]
        return {"id": self.id, "version": self.version, "events": events, "depends_on": self.depends_on, "methods": list(self._methods)}


def _look(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        task.exception()


class Control:
    """Answers what a supervisor asks of extensions."""

    def __init__(self, host: "Host") -> None:
        self._host = host
        self.handlers = {
            "extension/activate": Handler(self._activate, "extension/activate"),
            "extension/deactivate": Handler(self._deactivate, "extension/deactivate"),
        }

    def _find(self, params: Any) -> Extension:
        id = params.get("id") if isinstance(params, dict) else None
        found = self._host._extension(id) if isinstance(id, str) else None
        if found is None:
            raise NotActiveError(f"{id}: there is no such extension in this host")
        return found

    async def _activate(self, params: Any, ctx: Context) -> Any:
        extension = self._find(params)
        began = time.monotonic()
        event = params.get("event")
        await extension._start(event if isinstance(event, str) else "", params.get("startup") is True)
        return {"took_ms": (time.monotonic() - began) * 1000}

    async def _deactivate(self, params: Any, ctx: Context) -> Any:
        extension = self._find(params)
        ms = params.get("timeout_ms")
        await extension._end(max(ms, 0) / 1000 if isinstance(ms, (int, float)) else 0)
