"""Requests and notifications of the host to its supervisor."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, List

from peer import ACK, CANCEL, CREDIT, ITEM, NOTIFICATION, REQUEST, RESPONSE, Case, Peer

from hostsup_host import ClosedError, Host, HostError, NotActiveError, OverloadedError, PeerGoneError, ProtocolError


def calling_host() -> Host:
    host = Host("h")

    @host.handle("call")
    async def call(params: Any, ctx: Any) -> Any:
        return await ctx.call("ask", params)

    @host.handle("call_sync")
    def call_sync(params: Any, ctx: Any) -> Any:
        return host.call_sync("ask", params)

    @host.handle("collect")
    async def collect(params: Any, ctx: Any) -> List[Any]:
        out = []
        async for item in ctx.items("list", params):
            out.append(item)
            if len(out) == params:
                break
        return out

    @host.handle("collect_sync")
    def collect_sync(params: Any, ctx: Any) -> List[Any]:
        out = []
        for item in host.items_sync("list", params):
            out.append(item)
            if len(out) == params:
                break
        return out

    return host


async def asked(peer: Peer, method: str) -> List[Any]:
    """Returns the next request of the host; acks before it are skipped."""
    while True:
        message = await peer.next()
        if message[0] != ACK:
            assert message[0] == REQUEST and message[2] == method, message
            return message


class Calls(Case):
    async def test_results_and_errors_come_back(self) -> None:
        peer = await self.connect(calling_host())
        for method in ("call", "call_sync"):
            request = peer.request(method, {"q": 1})
            await peer.send(request)
            ask = await asked(peer, "ask")
            self.assertEqual(ask[3], {"q": 1})
            await peer.send([RESPONSE, ask[1], None, [2]])
            self.assertEqual(await peer.response(request[1]), [RESPONSE, request[1], None, [2]])

            await peer.send(request)
            ask = await asked(peer, "ask")
            cause = {"name": "Inner", "message": "why"}
            await peer.send([RESPONSE, ask[1], {"name": "Outer", "message": "m", "code": 7, "data": [1], "stack": "at x", "cause": cause}, None])
            error = (await peer.response(request[1]))[2]
            self.assertEqual(error, {"name": "Outer", "message": "m", "code": 7, "data": [1], "stack": "at x", "cause": cause})

    async def test_errors_have_the_class_of_their_name(self) -> None:
        host = Host("h")

        class QuotaError(HostError, name="Quota"):
            def __init__(self) -> None:
                raise AssertionError("not for errors that come from elsewhere")

        peer = await self.connect(host)
        for name, cls in (("Quota", QuotaError), ("NotActive", NotActiveError), ("Overloaded", OverloadedError), ("Other", HostError)):
            call = asyncio.ensure_future(host.call("ask"))
            ask = await asked(peer, "ask")
            await peer.send([RESPONSE, ask[1], {"name": name, "message": "m"}, None])
            with self.assertRaises(cls) as raised:
                await call
            self.assertEqual((raised.exception.name, raised.exception.message), (name, "m"))

    async def test_cancel_tells_the_supervisor_and_drops_the_late_answer(self) -> None:
        peer = await self.connect(calling_host())
        for method in ("call", "call_sync"):
            request = peer.request(method)
            await peer.send(request)
            ask = await asked(peer, "ask")
            if method == "call_sync":
                await asyncio.sleep(0)
            await peer.send([CANCEL, request[1]])
            got = [await peer.next(), await peer.next()]
            got = [m for m in got if m[0] != ACK] + ([await peer.next()] if any(m[0] == ACK for m in got) else [])
            self.assertIn([CANCEL, ask[1]], got)
            self.assertEqual([m[2]["name"] for m in got if m[0] == RESPONSE], ["Cancelled"])
            await peer.send([ACK, ask[1]], [RESPONSE, ask[1], None, "late"])
            self.assertIsNone(await peer.result("$/ping"))

    async def test_a_timeout_is_a_cancel(self) -> None:
        host = calling_host()
        peer = await self.connect(host)
        call = asyncio.ensure_future(host.call("ask", timeout=0.01))
        ask = await asked(peer, "ask")
        await peer.expect(CANCEL, ask[1])
        with self.assertRaises(asyncio.TimeoutError):
            await call
        await peer.send([RESPONSE, ask[1], None, None], [ACK, ask[1]])
        self.assertIsNone(await peer.result("$/ping"))

    async def test_no_cancel_without_the_capability(self) -> None:
        host = calling_host()
        peer = await self.connect(host, capabilities=["ack"])
        call = asyncio.ensure_future(host.call("ask", timeout=0.01))
        ask = await asked(peer, "ask")
        with self.assertRaises(asyncio.TimeoutError):
            await call
        await peer.send([RESPONSE, ask[1], None, None])
        self.assertIsNone(await peer.result("$/ping"))

    async def test_items_with_credit(self) -> None:
        peer = await self.connect(calling_host())
        for method in ("collect", "collect_sync"):
            request = peer.request(method, 0)
            await peer.send(request)
            ask = await asked(peer, "list")
            credit = (await peer.expect(CREDIT, ask[1]))[2]
            self.assertEqual(credit, 64)
            for i in range(300):
                while credit == 0:
                    message = await peer.next()
                    if message[0] == CREDIT:
                        credit += message[2]
                await peer.send([ITEM, ask[1], i, i])
                credit -= 1
            await peer.send([RESPONSE, ask[1], None, "last"])
            while True:
                message = await peer.next()
                if message[0] == RESPONSE:
                    break
            self.assertEqual(message, [RESPONSE, request[1], None, list(range(300)) + ["last"]])

    async def test_a_loop_that_is_left_cancels(self) -> None:
        peer = await self.connect(calling_host())
        for method in ("collect", "collect_sync"):
            request = peer.request(method, 2)
            await peer.send(request)
            ask = await asked(peer, "list")
            await peer.expect(CREDIT, ask[1])
            await peer.send(*([ITEM, ask[1], i, i] for i in range(5)))
            got = []
            while len(got) < 2:
                message = await peer.next()
                if message[0] in (CANCEL, RESPONSE):
                    got.append(message)
            gc.collect()
            self.assertIn([CANCEL, ask[1]], got)
            self.assertIn([RESPONSE, request[1], None, [0, 1]], got)
            await peer.send([ITEM, ask[1], 5, 5], [RESPONSE, ask[1], None, None])
            self.assertIsNone(await peer.result("$/ping"))

    async def test_one_value_is_the_only_item_and_nil_is_none(self) -> None:
        peer = await self.connect(calling_host())
        for result, items in ((5, [5]), (None, [])):
            request = peer.request("collect", 0)
            await peer.send(request)
            ask = await asked(peer, "list")
            await peer.expect(CREDIT, ask[1])
            await peer.send([RESPONSE, ask[1], None, result])
            self.assertEqual((await peer.response(request[1]))[3], items)

    async def test_an_error_ends_the_items(self) -> None:
        peer = await self.connect(calling_host())
        request = peer.request("collect", 0)
        await peer.send(request)
        ask = await asked(peer, "list")
        await peer.expect(CREDIT, ask[1])
        await peer.send([ITEM, ask[1], 0, 0], [RESPONSE, ask[1], {"name": "Bad", "message": "m"}, None])
        self.assertEqual((await peer.response(request[1]))[2]["name"], "Bad")

    async def test_what_breaks_the_protocol_ends_the_connection(self) -> None:
        broken = {
            "an answer to no request": ([RESPONSE, 1, None, None], "request 1 of this host is not open"),
            "an ack of no request": ([ACK, 1], "has made no request 1"),
            "an item of no request": ([ITEM, 1, 0, 0], "has made no request 1"),
            "a cancel of no request": ([CANCEL, 99], "there was no request 99"),
            "credit for no request": ([CREDIT, 99, 1], "there was no request 99"),
        }
        for name, (message, text) in broken.items():
            with self.subTest(name):
                peer = await self.connect(Host("h"))
                await peer.send(message)
                self.assertIsNone(await peer.read())
                await self.ended(ProtocolError, text)

    async def test_items_beyond_the_credit_and_out_of_sequence(self) -> None:
        for seq, count, text in ((0, 65, "there is no credit"), (1, 1, "expected 0")):
            host = calling_host()
            peer = await self.connect(host)
            items = host.items("list")
            waiting = asyncio.ensure_future(items.__anext__())
            ask = await asked(peer, "list")
            await peer.expect(CREDIT, ask[1])
            await peer.send(*([ITEM, ask[1], seq + i, i] for i in range(count)))
            await self.ended(ProtocolError, text)
            await asyncio.wait({waiting})
            waiting.exception()

    async def test_calls_end_with_the_connection(self) -> None:
        host = calling_host()
        peer = await self.connect(host)
        call = asyncio.ensure_future(host.call("ask"))
        items = asyncio.ensure_future(host.items("list").__anext__())
        await asked(peer, "ask")
        await asked(peer, "list")
        peer.close()
        for waiting in (call, items):
            with self.assertRaises(PeerGoneError):
                await self.within(waiting)  # type: ignore[arg-type]
        await self.ended(PeerGoneError)
        for late in (host.call("ask"), host.notify("note"), host.items("list").__anext__()):
            with self.assertRaises(ClosedError):
                await late

    async def test_calls_before_serve_and_on_the_wrong_thread(self) -> None:
        host = Host("h")
        with self.assertRaises(ClosedError):
            await host.call("ask")
        with self.assertRaises(ClosedError):
            host.call_sync("ask")

        @host.handle("wrong")
        async def wrong(params: Any, ctx: Any) -> Any:
            return host.call_sync("ask")

        peer = await self.connect(host)
        error = await peer.error("wrong")
        self.assertEqual(error["name"], "RuntimeError")
        self.assertIn("would block the event loop", error["message"])

    async def test_calls_wait_for_the_handshake(self) -> None:
        host = Host("h")
        peer = await self.pair(host)
        await asyncio.sleep(0)
        call = asyncio.ensure_future(host.call("ask"))
        await asyncio.sleep(0)
        await peer.open()
        ask = await asked(peer, "ask")
        await peer.send([RESPONSE, ask[1], None, 1])
        self.assertEqual(await call, 1)

    async def test_notifications_keep_their_order_with_answers(self) -> None:
        host = Host("h")

        @host.handle("tell")
        async def tell(params: Any, ctx: Any) -> str:
            await ctx.notify("note", params)
            return "told"

        @host.handle("tell_sync")
        def tell_sync(params: Any, ctx: Any) -> str:
            host.notify_sync("note", params)
            return "told"

        peer = await self.connect(host)
        for method in ("tell", "tell_sync"):
            request = peer.request(method, 1)
            await peer.send(request)
            got = [m for m in [await peer.next(), await peer.next()] if m[0] != ACK]
            if len(got) < 2:
                got.append(await peer.next())
            self.assertEqual(got, [[NOTIFICATION, "note", 1], [RESPONSE, request[1], None, "told"]])

    async def test_bad_calls_are_errors_at_their_place(self) -> None:
        host = Host("h")
        peer = await self.connect(host)
        for method in ("", "shutdown", "x" * 1025):
            with self.assertRaises(ValueError):
                await host.call(method)
        with self.assertRaises(HostError) as raised:
            await host.call("m", {"a": {1}})
        self.assertIn("params.a: a value of type set", str(raised.exception))
        with self.assertRaises(HostError):
            await host.notify("m", object())
        self.assertIsNone(await peer.result("$/ping"))

    async def test_the_trace_is_passed_on(self) -> None:
        peer = await self.connect(calling_host())
        trace = {"traceparent": "00-a-b-01"}
        for method in ("call", "call_sync"):
            request = peer.request(method)
            await peer.send(request + [trace])
            ask = await asked(peer, "ask")
            self.assertEqual(ask[4], trace)
            await peer.send([RESPONSE, ask[1], None, None])
            await peer.response(request[1])
        request = peer.request("call")
        await peer.send(request)
        self.assertEqual(len(await asked(peer, "ask")), 4)
