"""A host of hostsup. It is started by ``hostsup run``, never by hand."""

import asyncio
import os
import time

from hostsup_host import Host

host = Host("greeter", "1.0")


@host.handle("greet")
async def greet(name, ctx):
    return f"hello {name}"


@host.handle("count")
async def count(n, ctx):
    """Each value is one item of the result, sent as soon as the caller has asked for it."""
    for i in range(n):
        yield i
        await asyncio.sleep(0.1)


@host.handle("work")
def work(seconds, ctx):
    """A plain def may block: it runs in a thread, and the host stays responsive."""
    time.sleep(seconds)
    return "done"


@host.handle("hang")
async def hang(params, ctx):
    """What a host must not do: an async def that blocks stops everything in it."""
    time.sleep(3600)


@host.handle("crash")
async def crash(params, ctx):
    os._exit(3)


if __name__ == "__main__":
    host.run()
