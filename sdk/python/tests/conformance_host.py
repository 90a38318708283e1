"""The host that ``hostsup conformance --strict`` is run on: see the methods of the kit."""

from __future__ import annotations

import asyncio
import pathlib
import sys
import time
from typing import Any, AsyncIterator, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))

from hostsup_host import Activation, Context, Host, HostError  # noqa: E402

host = Host("python-under-test", "1.0")
released: "List[asyncio.Future[int]]" = []
notes: List[Any] = []
waiters: "List[asyncio.Future[None]]" = []


def get(params: Any, key: str, default: Any = None) -> Any:
    """Returns a member of params, or the default."""
    value = params.get(key) if isinstance(params, dict) else None
    return default if value is None else value


@host.handle("conformance/echo")
async def echo(params: Any, ctx: Context) -> Any:
    return params


@host.handle("conformance/block")
def block(params: Any, ctx: Context) -> None:
    time.sleep(get(params, "ms", 0) / 1000)


@host.handle("conformance/wait")
async def wait(params: Any, ctx: Context) -> str:
    f: "asyncio.Future[int]" = asyncio.get_running_loop().create_future()
    released.append(f)
    try:
        await f
    finally:
        released.remove(f)
    return "released"


@host.handle("conformance/release")
async def release(params: Any, ctx: Context) -> int:
    n = len(released)
    for f in released:
        f.done() or f.set_result(0)  # type: ignore[func-returns-value]
    return n


@host.handle("conformance/count")
async def count(params: Any, ctx: Context) -> AsyncIterator[int]:
    for i in range(get(params, "n", 0)):
        yield i
    if get(params, "wait"):
        await asyncio.get_running_loop().create_future()


@host.handle("conformance/fail")
async def fail(params: Any, ctx: Context) -> None:
    raise HostError(get(params, "message", ""), name=get(params, "name", ""), code=get(params, "code", 0), data=get(params, "data"))


@host.handle("conformance/throw")
async def throw(params: Any, ctx: Context) -> None:
    raise ValueError(get(params, "message", ""))


@host.handle("conformance/call")
async def call(params: Any, ctx: Context) -> Any:
    return await ctx.call(get(params, "method", ""), get(params, "params"))


@host.handle("conformance/collect")
async def collect(params: Any, ctx: Context) -> List[Any]:
    out: List[Any] = []
    async for item in ctx.items(get(params, "method", ""), get(params, "params")):
        out.append(item)
        if len(out) == get(params, "max", 0):
            break
    return out


@host.handle("conformance/notify")
async def notify(params: Any, ctx: Context) -> None:
    await ctx.notify(get(params, "method", ""), get(params, "params"))


@host.on_notify("conformance/note")
async def note(params: Any, ctx: Context) -> None:
    notes.append(params)
    for f in waiters:
        f.done() or f.set_result(None)  # type: ignore[func-returns-value]
    waiters.clear()


@host.handle("conformance/notes")
async def all_notes(params: Any, ctx: Context) -> List[Any]:
    while len(notes) < get(params, "n", 0):
        f: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        waiters.append(f)
        await f
    return notes


@host.handle("conformance/trace")
async def trace(params: Any, ctx: Context) -> Any:
    return ctx.trace


@host.handle("conformance/print")
async def say(params: Any, ctx: Context) -> None:
    print(get(params, "text", ""))


unit = host.extension("conformance.unit", version="1.0", events=["onCommand:conformance/unit", "onConformance"])
broken = host.extension("conformance.broken", version="1.0", events=["onBroken"])


@unit.handle("conformance/unit")
async def unit_method(params: Any, ctx: Context) -> str:
    return "active"


@broken.activate
async def break_it(activation: Activation) -> Dict[str, Any]:
    raise HostError("it is broken", name="Broken")


if __name__ == "__main__":
    host.run()
