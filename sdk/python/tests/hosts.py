"""Hosts that tests start as processes: ``hosts.py NAME``."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Any, AsyncIterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))

from hostsup_host import Host, HostError  # noqa: E402

host = Host("small", "1.0")


@host.handle("echo")
async def echo(params: Any, ctx: Any) -> Any:
    return params


@host.handle("print")
def say(params: Any, ctx: Any) -> None:
    print("printed")
    sys.stdout.write("written\n")
    os.write(1, b"to the descriptor\n")
    subprocess.run([sys.executable, "-c", "print('by a child')"], check=True)


@host.handle("environment")
async def environment(params: Any, ctx: Any) -> Any:
    return sorted(name for name in os.environ if name.startswith("HOSTSUP_HOST_"))


@host.handle("block")
def block(params: Any, ctx: Any) -> str:
    time.sleep(params)
    return "blocked"


@host.handle("count")
async def count(params: Any, ctx: Any) -> AsyncIterator[int]:
    for i in range(params):
        yield i


@host.handle("fail")
async def fail(params: Any, ctx: Any) -> None:
    raise HostError("it failed", name="Failed", code=7) from KeyError("inner")


@host.handle("hang")
async def hang(params: Any, ctx: Any) -> None:
    while True:
        time.sleep(1)  # the loop does not turn any more


@host.handle("crash")
async def crash(params: Any, ctx: Any) -> None:
    os._exit(3)


if __name__ == "__main__":
    if sys.argv[1:] == ["early"]:
        print("before the host is served")
    host.run()
