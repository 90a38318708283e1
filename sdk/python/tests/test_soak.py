"""A hundred thousand calls with cancels and streams in both directions: one outcome each, and memory that stays flat."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
from typing import Any, AsyncIterator, Dict, List, Set

from peer import ACK, CANCEL, CREDIT, ITEM, NOTIFICATION, REQUEST, RESPONSE, Case, Peer, frame

from hostsup_host import Host

CALLS = 100_000
IN_FLIGHT = 64


class Soak(Case):
    async def test_every_call_has_one_outcome(self) -> None:
        asyncio.get_running_loop().set_debug(False)  # which keeps a traceback with each future
        host = Host("h")

        @host.handle("echo")
        async def echo(params: Any, ctx: Any) -> Any:
            return params

        @host.handle("sleep")
        async def sleep(params: Any, ctx: Any) -> Any:
            await asyncio.sleep(0.001)
            return params

        @host.handle("thread")
        def thread(params: Any, ctx: Any) -> Any:
            return params

        @host.handle("count")
        async def count(params: Any, ctx: Any) -> AsyncIterator[int]:
            for i in range(params):
                yield i

        @host.handle("back")
        async def back(params: Any, ctx: Any) -> Any:
            return await ctx.call("ask", params)

        @host.handle("collect")
        async def collect(params: Any, ctx: Any) -> List[Any]:
            return [item async for item in ctx.items("list", params)]

        peer = await self.connect(host)
        await Driver(peer, random.Random(17)).run(CALLS // 10)
        gc.collect()
        before = sys.getallocatedblocks()
        driver = Driver(peer, random.Random(18))
        await driver.run(CALLS)
        gc.collect()
        # An object that a call leaves behind would be 100,000 blocks.
        self.assertLess(sys.getallocatedblocks() - before, 10_000)
        self.assertEqual(driver.outcomes["done"] + driver.outcomes["Cancelled"], CALLS)
        self.assertGreater(driver.outcomes["Cancelled"], 100)
        self.assertIsNone(await peer.result("$/ping"))
        self.assertEqual(await peer.result("shutdown"), None)


class Driver:
    """Keeps requests in flight, and looks at each outcome."""

    def __init__(self, peer: Peer, source: random.Random) -> None:
        self._peer = peer
        self._random = source
        self._open: Dict[int, List[Any]] = {}
        self._cancelled: Set[int] = set()
        self._items: Dict[int, int] = {}
        self.outcomes = {"done": 0, "Cancelled": 0}
        self._out: List[bytes] = []

    def _send(self, *message: Any) -> None:
        self._out.append(frame(list(message)))

    def _begin(self, i: int) -> None:
        method = self._random.choice(("echo", "echo", "echo", "sleep", "thread", "count", "back", "collect"))
        request = self._peer.request(method, self._random.randrange(5) if method in ("count", "collect") else i)
        self._open[request[1]] = request
        self._send(*request)
        if method == "count":
            self._items[request[1]] = 0
            self._send(CREDIT, request[1], self._random.randrange(1, 3))
        if self._random.random() < 0.1:
            self._cancelled.add(request[1])
            self._send(CANCEL, request[1])

    async def run(self, calls: int) -> None:
        begun = 0
        while begun < calls or self._open:
            while begun < calls and len(self._open) < IN_FLIGHT:
                self._begin(begun)
                begun += 1
            if self._out:
                data, self._out = b"".join(self._out), []
                await self._peer.write(data)
            message = await self._peer.next()
            kind, number = message[:2]
            if kind == RESPONSE:
                self._answered(self._open.pop(number), message)
            elif kind == ITEM:
                assert message[2:] == [self._items[number], self._items[number]], message
                self._items[number] += 1
                self._send(CREDIT, number, 1)
            elif kind == REQUEST and message[2] == "ask":
                self._send(RESPONSE, number, None, message[3])
            elif kind == REQUEST:
                for i in range(message[3]):
                    self._send(ITEM, number, i, i)
                self._send(RESPONSE, number, None, None)
            else:
                assert kind in (ACK, CREDIT, CANCEL, NOTIFICATION), message

    def _answered(self, request: List[Any], message: List[Any]) -> None:
        _, number, method, params = request
        items = self._items.pop(number, 0)
        if message[2] is not None:
            assert message[2]["name"] == "Cancelled" and number in self._cancelled, message
            self.outcomes["Cancelled"] += 1
        else:
            if method == "count":
                assert items == params and message[3] is None, (request, message, items)
            elif method == "collect":
                assert message[3] == list(range(params)), (request, message)
            else:
                assert message[3] == params, (request, message)
            self.outcomes["done"] += 1
        self._cancelled.discard(number)
