"""Acks, cancels, and what leaves in which turn of the loop."""

from __future__ import annotations

import asyncio
import random
import select
import threading
from typing import Any, Dict, List

from peer import ACK, CANCEL, REQUEST, RESPONSE, Case

from hostsup_host import Host, ProtocolError


def echo_host(**options: Any) -> Host:
    host = Host("h", **options)

    @host.handle("echo")
    async def echo(params: Any, ctx: Any) -> Any:
        return params

    @host.handle("wait")
    async def wait(params: Any, ctx: Any) -> None:
        await asyncio.get_running_loop().create_future()

    return host


class Turns(Case):
    async def test_answers_of_one_turn_leave_in_one_write_without_acks(self) -> None:
        peer = await self.connect(echo_host())
        await peer.result("echo")
        del peer.reads[:]
        requests = [peer.request("echo", i) for i in range(100)] + [peer.request("none"), peer.request("$/ping")]
        await peer.send(*requests)
        for i, request in enumerate(requests):
            message = await peer.expect(RESPONSE)
            if message[1] == request[1] and i < 100:
                self.assertEqual(message[3], i)
        self.assertEqual(len(peer.reads), 1)

    async def test_blocked_handlers_are_acknowledged_in_their_turn(self) -> None:
        host = echo_host()
        go = threading.Event()

        @host.handle("block")
        def block(params: Any, ctx: Any) -> Any:
            go.wait()
            return params

        peer = await self.connect(host)
        first, echo, second = peer.request("block", 1), peer.request("echo", 2), peer.request("block", 3)
        await peer.send(first, echo, second)
        got = [await peer.next() for _ in range(3)]
        self.assertIn([ACK, first[1]], got)
        self.assertIn([ACK, second[1]], got)
        self.assertIn([RESPONSE, echo[1], None, 2], got)
        self.assertEqual(len(peer.reads[1:]), 1)
        self.assertIsNone(await peer.result("$/ping"))  # the loop goes on meanwhile
        go.set()
        self.assertEqual({(await peer.expect(RESPONSE))[1] for _ in range(2)}, {first[1], second[1]})

    async def test_the_ack_is_written_before_a_thread_begins(self) -> None:
        host = echo_host()
        looked = threading.Event()

        @host.handle("hold")
        def hold(params: Any, ctx: Any) -> bool:
            # The peer, on the loop of this process, reads nothing until this has looked.
            readable = bool(select.select([peer.sock], [], [], 0)[0])
            looked.set()
            return readable

        peer = await self.connect(host)
        request = peer.request("hold")
        await peer.send(request)
        while not looked.is_set():
            await asyncio.sleep(0.001)
        await peer.expect(ACK, request[1])
        self.assertEqual(await peer.next(), [RESPONSE, request[1], None, True])

    async def test_requests_beyond_the_limit_wait_acknowledged(self) -> None:
        host = Host("h", max_concurrent=2)
        started: List[int] = []
        gates: "Dict[int, asyncio.Future[None]]" = {}

        @host.handle("gate")
        async def gate(params: Any, ctx: Any) -> Any:
            started.append(params)
            gates[params] = asyncio.get_running_loop().create_future()
            await gates[params]
            return params

        peer = await self.connect(host)
        requests = [peer.request("gate", i) for i in range(5)]
        await peer.send(*requests)
        self.assertEqual({(await peer.expect(ACK))[1] for _ in requests}, {r[1] for r in requests})
        self.assertEqual(started, [0, 1])
        # One that waits is answered at once when it is cancelled, and never runs.
        await peer.send([CANCEL, requests[3][1]], [CANCEL, requests[3][1]])
        self.assertEqual((await peer.expect(RESPONSE, requests[3][1]))[2]["name"], "Cancelled")
        self.assertEqual(started, [0, 1])
        for i in (0, 1, 2, 4):
            while i not in gates:
                await asyncio.sleep(0)
            gates[i].set_result(None)
            self.assertEqual(await peer.expect(RESPONSE, requests[i][1]), [RESPONSE, requests[i][1], None, i])
        self.assertEqual(started, [0, 1, 2, 4])

    async def test_inline_handlers_do_not_wait_for_others(self) -> None:
        host = echo_host(max_concurrent=1)
        host.handle("inline", inline=True)(lambda params, ctx: params)
        peer = await self.connect(host)
        wait, waits = peer.request("wait"), peer.request("echo", 1)
        requests = [peer.request("inline", i) for i in range(3000)]
        await peer.send(wait, waits, *requests)
        for i, request in enumerate(requests):
            message = await peer.next()
            while message[0] == ACK:
                message = await peer.next()
            self.assertEqual(message, [RESPONSE, request[1], None, i])
        await peer.send([CANCEL, wait[1]])
        self.assertEqual((await peer.response(wait[1]))[2]["name"], "Cancelled")
        self.assertEqual(await peer.response(waits[1]), [RESPONSE, waits[1], None, 1])

    async def test_a_thousand_requests_are_answered_once_each(self) -> None:
        host = Host("h", max_concurrent=300)
        host.handle("inline", inline=True)(lambda params, ctx: params)

        @host.handle("sleep")
        async def sleep(params: Any, ctx: Any) -> Any:
            await asyncio.sleep(random.random() / 200)
            return params

        @host.handle("thread")
        def thread(params: Any, ctx: Any) -> Any:
            return params

        peer = await self.connect(host)
        methods = ["inline", "sleep", "none", "thread"]
        requests = {r[1]: r for r in (peer.request(methods[i % 4], i) for i in range(1000))}
        sending = asyncio.get_running_loop().create_task(peer.send(*requests.values()))
        while requests:
            message = await peer.next()
            if message[0] == ACK:
                continue
            request = requests.pop(message[1])
            if request[2] == "none":
                self.assertEqual(message[2]["name"], "MethodNotFound")
            else:
                self.assertEqual(message[2:], [None, request[3]])
        await sending

    async def test_cancel_ends_a_task(self) -> None:
        host = Host("h")
        seen: List[Any] = []

        @host.handle("wait")
        async def wait(params: Any, ctx: Any) -> Any:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                seen.append(ctx.cancelled)
                if params == "swallow":
                    return "too late"
                if params == "other":
                    raise ValueError("another error") from None
                raise

        peer = await self.connect(host)
        for how in ("raise", "swallow", "other"):
            request = peer.request("wait", how)
            await peer.send(request)
            await peer.expect(ACK, request[1])
            await peer.send([CANCEL, request[1]])
            self.assertEqual((await peer.expect(RESPONSE, request[1]))[2]["name"], "Cancelled")
            await peer.send([CANCEL, request[1]])  # finished: ignored
        self.assertEqual(seen, [True, True, True])
        self.assertIsNone(await peer.result("$/ping"))

    async def test_cancel_behind_its_request_in_one_read(self) -> None:
        host = echo_host()
        began = []

        @host.handle("begin")
        async def begin(params: Any, ctx: Any) -> None:
            began.append("async")

        @host.handle("thread")
        def thread(params: Any, ctx: Any) -> None:
            began.append("thread")

        peer = await self.connect(host)
        for method in ("begin", "thread"):
            request = peer.request(method)
            await peer.send(request, [CANCEL, request[1]])
            self.assertEqual((await peer.expect(RESPONSE, request[1]))[2]["name"], "Cancelled")
        self.assertEqual(began, [])

    async def test_a_thread_sees_its_cancel(self) -> None:
        host = Host("h")

        @host.handle("loop")
        def loop(params: Any, ctx: Any) -> None:
            pause = threading.Event()
            while True:
                ctx.raise_if_cancelled()
                pause.wait(0.001)

        peer = await self.connect(host)
        request = peer.request("loop")
        await peer.send(request)
        await peer.expect(ACK, request[1])
        await peer.send([CANCEL, request[1]])
        self.assertEqual((await peer.expect(RESPONSE, request[1]))[2]["name"], "Cancelled")

    async def test_threads_beyond_their_number_wait(self) -> None:
        host = Host("h", threads=2)
        gate, started, most, lock = threading.Event(), [], [0, 0], threading.Lock()

        @host.handle("block")
        def block(params: Any, ctx: Any) -> Any:
            with lock:
                started.append(params)
                most[0] += 1
                most[1] = max(most)
            gate.wait()
            with lock:
                most[0] -= 1
            return params

        peer = await self.connect(host)
        requests = [peer.request("block", i) for i in range(6)]
        await peer.send(*requests)
        for _ in requests:
            await peer.expect(ACK)
        while len(started) < 2:
            await asyncio.sleep(0.001)
        await peer.send([CANCEL, requests[5][1]])
        self.assertEqual((await peer.expect(RESPONSE, requests[5][1]))[2]["name"], "Cancelled")
        gate.set()
        self.assertEqual({(await peer.expect(RESPONSE))[3] for _ in range(5)}, {0, 1, 2, 3, 4})
        self.assertEqual(most[1], 2)
        self.assertNotIn(5, started)

    async def test_a_timeout_works_in_a_handler(self) -> None:
        host = Host("h")

        @host.handle("timeout")
        async def timeout(params: Any, ctx: Any) -> str:
            try:
                await asyncio.wait_for(asyncio.get_running_loop().create_future(), 0.01)
            except asyncio.TimeoutError:
                return f"timed out in {type(asyncio.current_task()).__name__}"
            return "no"

        peer = await self.connect(host)
        self.assertEqual(await peer.result("timeout"), "timed out in Task")

    async def test_an_id_in_use_ends_the_connection(self) -> None:
        peer = await self.connect(echo_host())
        await peer.send([REQUEST, 9, "wait", None], [REQUEST, 9, "wait", None])
        while await peer.read() is not None:
            pass
        await self.ended(ProtocolError, "id 9 is in use")
