"""Results that are sent item by item."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, AsyncIterator, Iterator, List

from peer import ACK, CANCEL, CREDIT, ITEM, RESPONSE, Case, Peer

from hostsup_host import Host


def counting_host() -> Host:
    host = Host("h")
    host.ended = []  # type: ignore[attr-defined]

    @host.handle("count")
    async def count(params: Any, ctx: Any) -> AsyncIterator[int]:
        try:
            for i in range(params):
                yield i
        finally:
            host.ended.append("count")  # type: ignore[attr-defined]

    @host.handle("count_sync")
    def count_sync(params: Any, ctx: Any) -> Iterator[int]:
        assert threading.current_thread() is not threading.main_thread()
        try:
            yield from range(params)
        finally:
            host.ended.append("count_sync")  # type: ignore[attr-defined]

    @host.handle("bad")
    async def bad(params: Any, ctx: Any) -> AsyncIterator[Any]:
        yield 1
        if params == "raise":
            raise ValueError("in the middle")
        yield {2}

    return host


async def item(peer: Peer) -> List[Any]:
    """Returns the next message that is not an ack."""
    while True:
        message = await peer.next()
        if message[0] != ACK:
            return message


class Streams(Case):
    async def test_items_follow_the_credit(self) -> None:
        peer = await self.connect(counting_host())
        for method in ("count", "count_sync"):
            request = peer.request(method, 5)
            n = request[1]
            await peer.send(request, [CREDIT, n, 2])
            self.assertEqual([await item(peer) for _ in range(2)], [[ITEM, n, 0, 0], [ITEM, n, 1, 1]])
            self.assertIsNone(await peer.result("$/ping"))  # no third item before it
            await peer.send([CREDIT, n, 1], [CREDIT, n, 100])
            self.assertEqual([await item(peer) for _ in range(4)], [[ITEM, n, 2, 2], [ITEM, n, 3, 3], [ITEM, n, 4, 4], [RESPONSE, n, None, None]])
            await peer.send([CREDIT, n, 1])  # finished: ignored
            self.assertIsNone(await peer.result("$/ping"))

    async def test_without_credit_the_result_is_a_list(self) -> None:
        peer = await self.connect(counting_host())
        for method in ("count", "count_sync"):
            self.assertEqual(await peer.result(method, 200), list(range(200)))
            self.assertEqual(await peer.result(method, 0), [])

    async def test_without_the_capability_the_list_comes_at_once(self) -> None:
        peer = await self.connect(counting_host(), capabilities=["ack"])
        request = peer.request("count", 3)
        await peer.send(request)
        self.assertEqual(await peer.next(), [RESPONSE, request[1], None, [0, 1, 2]])

    async def test_credit_that_comes_in_another_read(self) -> None:
        peer = await self.connect(counting_host())
        request = peer.request("count", 2)
        await peer.send(request)
        await peer.expect(ACK, request[1])  # the handler has ended, and its answer waits for the credit
        await peer.send([CREDIT, request[1], 1])
        self.assertEqual(await item(peer), [ITEM, request[1], 0, 0])
        await peer.send([CREDIT, request[1], 1])
        self.assertEqual(await item(peer), [ITEM, request[1], 1, 1])
        self.assertEqual(await item(peer), [RESPONSE, request[1], None, None])

    async def test_cancel_wakes_a_stream_without_credit(self) -> None:
        host = counting_host()
        peer = await self.connect(host)
        for method in ("count", "count_sync"):
            request = peer.request(method, 1000)
            await peer.send(request, [CREDIT, request[1], 1])
            self.assertEqual(await item(peer), [ITEM, request[1], 0, 0])
            await peer.send([CANCEL, request[1]])
            self.assertEqual((await item(peer))[2]["name"], "Cancelled")
            self.assertEqual(host.ended[-1], method)  # type: ignore[attr-defined]

    async def test_errors_end_a_stream(self) -> None:
        peer = await self.connect(counting_host())
        for how, name in (("raise", "ValueError"), ("set", "InvalidResult")):
            request = peer.request("bad", how)
            await peer.send(request, [CREDIT, request[1], 10])
            self.assertEqual(await item(peer), [ITEM, request[1], 0, 1])
            self.assertEqual((await item(peer))[2]["name"], name)
            self.assertEqual((await peer.error("bad", how))["name"], name)

    async def test_credit_for_a_handler_without_items(self) -> None:
        host = counting_host()
        host.handle("one", inline=True)(lambda params, ctx: 1)

        @host.handle("later")
        async def later(params: Any, ctx: Any) -> int:
            await asyncio.sleep(0.001)
            return 2

        peer = await self.connect(host)
        for method, result in (("one", 1), ("later", 2)):
            request = peer.request(method)
            await peer.send(request, [CREDIT, request[1], 5])
            self.assertEqual(await peer.response(request[1]), [RESPONSE, request[1], None, result])

    async def test_a_long_stream_leaves_the_loop_to_others(self) -> None:
        peer = await self.connect(counting_host())
        request = peer.request("count", 100_000)
        await peer.send(request, [CREDIT, request[1], 1 << 31], [CREDIT, request[1], (1 << 32) - 1])
        ping = peer.request("$/ping")
        await peer.send(ping)
        seq, at = 0, None
        while True:
            message = await peer.next()
            if message == [RESPONSE, ping[1], None, None]:
                at = seq
            elif message[0] == ITEM:
                self.assertEqual(message[2:], [seq, seq])
                seq += 1
            elif message[0] == RESPONSE:
                break
        self.assertEqual(seq, 100_000)
        assert at is not None
        self.assertLess(at, 100_000)

    async def test_a_reader_that_is_slow_stops_the_sender(self) -> None:
        host = Host("h", outgoing=1 << 16)
        made = []

        @host.handle("large")
        async def large(params: Any, ctx: Any) -> AsyncIterator[bytes]:
            for i in range(200):
                made.append(i)
                yield bytes(1 << 16)

        peer = await self.connect(host)
        request = peer.request("large")
        await peer.send(request, [CREDIT, request[1], 1000])
        before = -1
        while len(made) != before:  # until nothing more is made
            before = len(made)
            await asyncio.sleep(0.05)
        self.assertLess(len(made), 100)
        n = 0
        while (await item(peer))[0] == ITEM:
            n += 1
        self.assertEqual(n, 200)
