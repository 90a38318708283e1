"""Handlers, their answers, and bad use of them."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import threading
import unittest
from typing import Any

from peer import NOTIFICATION, RESPONSE, Case

from hostsup_host import Host, HostError, RegistrationError


class Worse(BaseException):
    pass


class Handlers(Case):
    async def test_each_kind_of_function_answers(self) -> None:
        host = Host("h", "1.2")

        @host.handle("async")
        async def an_async(params: Any, ctx: Any) -> Any:
            return ["async", params]

        @host.handle("plain")
        def plain(params: Any, ctx: Any) -> Any:
            return ["plain", params, threading.current_thread() is threading.main_thread()]

        @host.handle("inline", inline=True)
        def inline(params: Any, ctx: Any) -> Any:
            return ["inline", params, threading.current_thread() is threading.main_thread()]

        class Callable:
            async def __call__(self, params: Any, ctx: Any) -> Any:
                return ["object", params]

            async def method(self, params: Any, ctx: Any) -> Any:
                return ["method", params]

        host.handle("object")(Callable())
        host.handle("method")(Callable().method)
        host.handle("partial")(functools.partial(lambda more, params, ctx: [more, params], "partial"))
        host.handle("coroutine")(lambda params, ctx: an_async(params, ctx))

        peer = await self.connect(host)
        self.assertEqual(peer.answer["name"], "h")
        self.assertEqual(peer.answer["version"], "1.2")
        self.assertEqual(await peer.result("async", 1), ["async", 1])
        self.assertEqual(await peer.result("plain", {"a": 2}), ["plain", {"a": 2}, False])
        self.assertEqual(await peer.result("inline", None), ["inline", None, True])
        self.assertEqual(await peer.result("object", 3), ["object", 3])
        self.assertEqual(await peer.result("method", 4), ["method", 4])
        self.assertEqual(await peer.result("partial", 5), ["partial", 5])
        self.assertEqual(await peer.result("coroutine", 6), ["async", 6])

    async def test_unknown_methods_and_pings(self) -> None:
        peer = await self.connect(Host("h"))
        error = await peer.error("none")
        self.assertEqual(error["name"], "MethodNotFound")
        self.assertIn("none", error["message"])
        self.assertIsNone(await peer.result("$/ping"))

    async def test_values_are_kept(self) -> None:
        host = Host("h")
        host.handle("echo", inline=True)(lambda params, ctx: params)
        peer = await self.connect(host)
        for value in (None, True, -1, 2**64 - 1, -(2**63), 1.5, "", "é\U0001f600", b"\x00\xff", [1, [2, {}]], {"a": None, 3: b"x"}, "x" * 70000):
            self.assertEqual(await peer.result("echo", value), value)

    async def test_results_without_a_form_are_errors_that_name_the_place(self) -> None:
        host = Host("h")
        itself: Any = []
        itself.append(itself)

        @dataclasses.dataclass
        class Hit:
            path: str
            tags: Any

        results = {
            "a set": ({"hits": [1, {2}]}, "result.hits[1]: a value of type set"),
            "a large integer": ([1 << 70], "result[0]: an integer of 71 bits"),
            "an object": (object(), "result: a value of type object"),
            "itself": (itself, "nests deeper than 128, or contains itself"),
            "a lone surrogate": ({"k": "\ud800"}, "result.k: a str that is not UTF-8"),
            "a class": (Hit, "result: a value of type type"),
            "a field": (Hit("p", {1}), "result.tags: a value of type set"),
            "deep": (functools.reduce(lambda inner, _: [inner], range(200), []), "deeper than 128"),
        }

        @host.handle("make")
        async def make(params: Any, ctx: Any) -> Any:
            return results[params][0]

        @host.handle("hit")
        async def hit(params: Any, ctx: Any) -> Any:
            return Hit("p", ["t"])

        peer = await self.connect(host)
        for name, (_, text) in results.items():
            with self.subTest(name):
                error = await peer.error("make", name)
                self.assertEqual(error["name"], "InvalidResult")
                self.assertIn(text, error["message"])
        self.assertEqual(await peer.result("hit"), {"path": "p", "tags": ["t"]})

    async def test_a_result_that_is_too_large(self) -> None:
        host = Host("h")
        host.handle("large", inline=True)(lambda params, ctx: bytes((50 << 20) + 1))
        peer = await self.connect(host)
        self.assertEqual((await peer.error("large"))["name"], "TooLarge")
        self.assertIsNone(await peer.result("$/ping"))

    async def test_whatever_a_handler_raises_is_answered(self) -> None:
        host = Host("h")

        class Odd(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text")

        raised = {
            "Odd": Odd(), "SystemExit": SystemExit(3), "StopIteration": StopIteration(1), "Worse": Worse("w"), "GeneratorExit": GeneratorExit(),
            "StopAsyncIteration": StopAsyncIteration(), "CancelledError": asyncio.CancelledError(), "MemoryError": MemoryError(), "RecursionError": RecursionError(),
        }  # fmt: skip

        @host.handle("plain")
        def plain(params: Any, ctx: Any) -> None:
            raise raised[params]

        @host.handle("async")
        async def an_async(params: Any, ctx: Any) -> None:
            raise raised[params]

        @host.handle("text")
        async def text(params: Any, ctx: Any) -> None:
            raise "a string"  # type: ignore[misc]

        peer = await self.connect(host)
        for name in raised:
            with self.subTest(name):
                for method in ("plain", "async"):
                    error = await peer.error(method, name)
                    # Python itself makes a RuntimeError of one that leaves a coroutine.
                    self.assertEqual(error["name"], "RuntimeError" if name == "StopIteration" else name)
        self.assertEqual((await peer.error("text"))["name"], "TypeError")
        self.assertIsNone(await peer.result("$/ping"))

    async def test_notifications_come_in_order(self) -> None:
        host = Host("h")
        seen = []

        @host.on_notify("note")
        async def note(params: Any, ctx: Any) -> None:
            await asyncio.sleep(0 if params % 3 else 0.001)
            seen.append(params)
            if params in (5, 6):
                raise (ValueError, Worse)[params - 5]("one that fails does not end the others")

        @host.on_notify("blocking")
        def blocking(params: Any, ctx: Any) -> None:
            seen.append(params)

        @host.handle("seen")
        async def get(params: Any, ctx: Any) -> Any:
            while len(seen) < params:
                await asyncio.sleep(0)
            return seen

        peer = await self.connect(host)
        with self.assertLogs("hostsup_host", "ERROR") as logs:
            await peer.send(*([NOTIFICATION, "blocking" if i % 4 == 0 else "note", i] for i in range(50)), [NOTIFICATION, "unknown", None])
            self.assertEqual(await peer.result("seen", 50), list(range(50)))
        self.assertIn("note failed", logs.output[0])

    async def test_many_notifications_wait_in_the_connection(self) -> None:
        host = Host("h")
        seen = []

        @host.on_notify("note")
        async def note(params: Any, ctx: Any) -> None:
            await asyncio.sleep(0)
            seen.append(params)

        @host.handle("seen")
        async def get(params: Any, ctx: Any) -> Any:
            while len(seen) < params:
                await asyncio.sleep(0)
            return seen == list(range(params))

        peer = await self.connect(host)
        for i in range(0, 5000, 500):
            await peer.send(*([NOTIFICATION, "note", n] for n in range(i, i + 500)))
        self.assertTrue(await peer.result("seen", 5000))

    async def test_the_context_tells_of_its_request(self) -> None:
        host = Host("h")

        @host.handle("about")
        async def about(params: Any, ctx: Any) -> Any:
            return [ctx.id, ctx.method, ctx.trace, ctx.cancelled]

        peer = await self.connect(host)
        request = peer.request("about")
        trace = {"traceparent": "00-1-2-01", "tracestate": "a=b"}
        await peer.send(request + [trace])
        self.assertEqual(await peer.next(), [RESPONSE, request[1], None, [request[1], "about", trace, False]])
        self.assertEqual((await peer.result("about"))[2], None)

    async def test_hello_is_told_before_the_answer(self) -> None:
        host = Host("h")
        seen = []
        host.on_initialize(lambda hello: seen.append((hello.supervisor, hello.host, hello.life, hello.init)))
        await self.connect(host, init={"a": 1})
        self.assertEqual(seen, [("test", "h", 3, {"a": 1})])

    async def test_an_initializer_that_fails_ends_the_connection(self) -> None:
        host = Host("h")

        @host.on_initialize
        def refuse(hello: Any) -> None:
            raise HostError("no license", name="License")

        peer = await self.pair(host)
        await peer.send([0, 1, "initialize", {"protocol": 1, "capabilities": []}])
        message = await peer.expect(RESPONSE, 1)
        self.assertEqual((message[2]["name"], message[2]["message"]), ("License", "no license"))
        self.assertIsNone(await peer.read())
        await self.ended(HostError, "no license")

    async def test_progress_is_a_notification_before_the_answer(self) -> None:
        host = Host("h")

        @host.handle("work")
        async def work(params: Any, ctx: Any) -> str:
            await ctx.progress({"done": 1})
            return "ok"

        peer = await self.connect(host)
        request = peer.request("work")
        await peer.send(request)
        self.assertEqual(await peer.next(), [NOTIFICATION, "$/progress", {"id": request[1], "method": "work", "value": {"done": 1}}])
        self.assertEqual(await peer.next(), [RESPONSE, request[1], None, "ok"])

    async def test_a_registration_in_a_handler_that_fails_is_its_answer(self) -> None:
        host = Host("h")

        @host.handle("again")
        async def again(params: Any, ctx: Any) -> None:
            host.handle("again")(again)

        peer = await self.connect(host)
        error = await peer.error("again")
        self.assertEqual(error["name"], "RegistrationError")
        self.assertIn("registered already", error["message"])

    async def test_no_ack_without_the_capability(self) -> None:
        host = Host("h", capabilities=())
        go = threading.Event()

        @host.handle("block")
        def block(params: Any, ctx: Any) -> None:
            go.wait()

        peer = await self.connect(host)
        self.assertEqual(peer.answer["capabilities"], [])
        block_request, ping = peer.request("block"), peer.request("$/ping")
        await peer.send(block_request, ping)
        await peer.expect(RESPONSE, ping[1])
        go.set()
        await peer.expect(RESPONSE, block_request[1])


class Registration(unittest.TestCase):
    def refused(self, text: str, register: Any, fn: Any) -> None:
        with self.assertRaises(RegistrationError) as raised:
            register(fn)
        self.assertIn(text, str(raised.exception))

    def test_twice(self) -> None:
        host = Host("h")

        async def first(params: Any, ctx: Any) -> None:
            pass

        host.handle("m")(first)
        self.refused("'m' is registered already, for Registration.test_twice.<locals>.first", host.handle("m"), first)
        host.on_notify("m")(first)
        self.refused("'m' is registered already", host.on_notify("m"), first)

    def test_names(self) -> None:
        host = Host("h")
        for name in ("initialize", "initialized", "shutdown", "$/ping", "extension/activate"):
            self.refused("belongs to the protocol", host.handle(name), lambda params, ctx: None)
        for bad in ("", "x" * 1025, 3, None):
            self.refused("expected a str of 1 to 1024 bytes", host.handle(bad), lambda params, ctx: None)  # type: ignore[arg-type]

    def test_functions(self) -> None:
        host = Host("h")
        self.refused("cannot be called with (params, ctx)", host.handle("m"), lambda params: None)
        self.refused("is not a function", host.handle("m"), 3)
        self.refused("cannot be called with (hello)", host.on_initialize, lambda: None)

        async def later(hello: Any) -> None:
            pass

        async def items(params: Any, ctx: Any) -> Any:
            yield 1

        self.refused("must be a plain def", host.on_initialize, later)
        self.refused("must be a plain function", host.handle("m", inline=True), items)
        self.refused("cannot yield", host.on_notify("m"), items)
        self.refused("cannot be called with ()", host.on_shutdown, later)

    def test_capabilities(self) -> None:
        with self.assertRaises(ValueError):
            Host("h", capabilities=["acks"])


if __name__ == "__main__":
    unittest.main()


