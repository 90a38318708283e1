"""How a connection opens and ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, List

from peer import ACK, NOTIFICATION, REQUEST, RESPONSE, Case, frame

from hostsup_host import ClosedError, Host, PeerGoneError, ProtocolError, StuckError, VersionNotSupportedError

INITIALIZE = {"protocol": 1, "capabilities": ["ack", "cancel", "stream", "trace", "ping"]}


class Opening(Case):
    async def test_handshake(self) -> None:
        peer = await self.connect(Host("h"), capabilities=["ack", "more"], unknown=1)
        self.assertEqual(peer.answer, {"protocol": 1, "name": "h", "version": "", "capabilities": ["ack", "cancel", "stream", "trace", "ping"]})

    async def test_another_version_is_refused(self) -> None:
        for protocol in (2, None, "1", True):
            peer = await self.pair(Host("h"))
            await peer.send([REQUEST, 1, "initialize", {"protocol": protocol}])
            self.assertEqual((await peer.expect(RESPONSE, 1))[2]["name"], "VersionNotSupported")
            self.assertIsNone(await peer.read())
            await self.ended(VersionNotSupportedError)

    async def test_params_that_do_not_fit(self) -> None:
        peer = await self.pair(Host("h"))
        await peer.send([REQUEST, 1, "initialize", [1]])
        self.assertEqual((await peer.expect(RESPONSE, 1))[2]["name"], "InvalidParams")

    async def test_anything_else_first_ends_the_connection(self) -> None:
        for message in ([REQUEST, 1, "echo", None], [NOTIFICATION, "initialized", None], [ACK, 1], [RESPONSE, 1, None, None], [False, 1, "initialize", INITIALIZE]):
            peer = await self.pair(Host("h"))
            await peer.send(message)
            self.assertIsNone(await peer.read())
            await self.ended(ProtocolError, "expected the request initialize")

    async def test_a_request_before_initialized_ends_the_connection(self) -> None:
        peer = await self.pair(Host("h"))
        await peer.send([REQUEST, 1, "initialize", INITIALIZE], [REQUEST, 2, "$/ping", None])
        await peer.expect(RESPONSE, 1)
        self.assertIsNone(await peer.read())
        await self.ended(ProtocolError, "expected the notification initialized")

    async def test_all_in_one_write_and_byte_by_byte(self) -> None:
        data = frame([REQUEST, 1, "initialize", INITIALIZE]) + frame([NOTIFICATION, "initialized", None]) + frame([REQUEST, 2, "$/ping", None])
        for size in (len(data), 1, 7):
            peer = await self.pair(Host("h"))
            for i in range(0, len(data), size):
                await peer.write(data[i : i + size])
                await asyncio.sleep(0)
            await peer.expect(RESPONSE, 1)
            await peer.expect(RESPONSE, 2)


class End(Case):
    async def test_goodbye_waits_for_handlers_then_hooks(self) -> None:
        host, order = Host("h"), []  # type: ignore[var-annotated]
        gate = asyncio.get_running_loop().create_future()

        @host.handle("wait")
        async def wait(params: Any, ctx: Any) -> str:
            await gate
            order.append("handler")
            return "done"

        @host.on_shutdown
        async def first() -> None:
            order.append("first")

        @host.on_shutdown
        def second() -> None:
            order.append("second")
            raise ValueError("a hook that fails does not stop the others")

        peer = await self.connect(host)
        request, goodbye, late = peer.request("wait"), peer.request("shutdown"), peer.request("wait")
        await peer.send(request)
        await peer.expect(ACK, request[1])
        await peer.send(goodbye)
        await peer.expect(ACK, goodbye[1])
        await peer.send(late)
        self.assertEqual((await peer.expect(RESPONSE, late[1]))[2]["name"], "ShuttingDown")
        self.assertIsNone(await peer.result("$/ping"))
        with self.assertLogs("hostsup_host", "ERROR"):
            gate.set_result(None)
            self.assertEqual(await peer.expect(RESPONSE), [RESPONSE, request[1], None, "done"])
            self.assertEqual(await peer.expect(RESPONSE), [RESPONSE, goodbye[1], None, None])
        self.assertEqual(order, ["handler", "second", "first"])
        again = peer.request("shutdown")
        await peer.send(again)
        await peer.expect(RESPONSE, again[1])
        peer.close()
        await self.ended()

    async def test_goodbye_does_not_wait_for_ever(self) -> None:
        host = Host("h", drain=0.05)

        @host.handle("wait")
        async def wait(params: Any, ctx: Any) -> None:
            await asyncio.get_running_loop().create_future()

        peer = await self.connect(host)
        request, goodbye = peer.request("wait"), peer.request("shutdown")
        await peer.send(request, goodbye)
        self.assertEqual((await peer.response(request[1]))[2]["name"], "ShuttingDown")
        await peer.response(goodbye[1])
        peer.close()
        await self.ended()

    async def test_handlers_learn_of_the_end_at_once(self) -> None:
        host = Host("h", drain=30)

        @host.handle("until")
        async def until(params: Any, ctx: Any) -> str:
            await host.stopping()
            return "stopped"

        peer = await self.connect(host)
        request, goodbye = peer.request("until"), peer.request("shutdown")
        await peer.send(request, goodbye)
        self.assertEqual((await peer.response(request[1]))[3], "stopped")
        await peer.response(goodbye[1])

    async def test_stop_is_graceful(self) -> None:
        for thread in (False, True):
            host = Host("h")
            peer = await self.connect(host)
            await peer.result("$/ping")
            if thread:
                threading.Thread(target=host.stop).start()
            else:
                host.stop()
            self.assertIsNone(await peer.read())
            await self.ended()
            with self.assertRaises(RuntimeError):
                await host.serve()

    async def test_loss_of_the_supervisor_cancels_handlers(self) -> None:
        host, seen = Host("h"), []  # type: ignore[var-annotated]

        @host.handle("wait")
        async def wait(params: Any, ctx: Any) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                seen.append(ctx.reason)

        peer = await self.connect(host)
        request = peer.request("wait")
        await peer.send(request)
        await peer.expect(ACK, request[1])
        peer.close()
        await self.ended(PeerGoneError, "without a shutdown request")
        self.assertIsInstance(seen[0], PeerGoneError)

    async def test_stuck_handlers_are_left_behind(self) -> None:
        host, began, gate = Host("h", drain=0.02), threading.Event(), threading.Event()

        @host.handle("stuck")
        def stuck(params: Any, ctx: Any) -> None:
            began.set()
            gate.wait()

        peer = await self.connect(host)
        request, goodbye = peer.request("stuck"), peer.request("shutdown")
        await peer.send(request)
        while not began.is_set():
            await asyncio.sleep(0.001)
        await peer.send(goodbye)
        await peer.response(goodbye[1])
        peer.close()
        await self.ended(StuckError, "1 of them")
        gate.set()

    async def test_a_notification_that_runs_is_cancelled_at_the_end(self) -> None:
        host, seen = Host("h", drain=0.02), []  # type: ignore[var-annotated]

        @host.on_notify("note")
        async def note(params: Any, ctx: Any) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                seen.append("cancelled")

        peer = await self.connect(host)
        await peer.send([NOTIFICATION, "note", 1], [NOTIFICATION, "note", 2], peer.request("shutdown"))
        await peer.response(2)
        self.assertEqual(seen, ["cancelled"])

    async def test_hooks_that_hang_are_left(self) -> None:
        for blocking in (False, True):
            host, gate = Host("h", drain=0.02), threading.Event()

            async def hang() -> None:
                await asyncio.get_running_loop().create_future()

            def hang_sync() -> None:
                gate.wait()

            host.on_shutdown(hang_sync if blocking else hang)
            peer = await self.connect(host)
            with self.assertLogs("hostsup_host", "ERROR") as logs:
                self.assertIsNone(await peer.result("shutdown"))
            self.assertIn("did not return within 0.02 s", logs.output[0])
            peer.close()
            await self.ended()
            gate.set()

    async def test_an_end_within_a_frame(self) -> None:
        peer = await self.connect(Host("h"))
        await peer.write(b"\0\0\0\x10\x93")
        peer.close()
        await self.ended(ProtocolError, "within a frame")

    async def test_a_supervisor_that_does_not_read_does_not_keep_the_host(self) -> None:
        host = Host("h", drain=0.02)
        host.handle("large", inline=True)(lambda params, ctx: bytes(8 << 20))
        peer = await self.connect(host)
        await peer.send(peer.request("large"))
        host.stop()
        await self.ended()

    async def test_calls_after_the_end(self) -> None:
        host = Host("h")
        errors: List[ClosedError] = []

        async def late() -> None:
            for call in (host.call("m"), host.notify("m"), host.stopping()):
                try:
                    await call
                except ClosedError as e:
                    errors.append(e)

        peer = await self.connect(host)
        await peer.result("shutdown")
        peer.close()
        await self.ended()
        await late()
        self.assertEqual([e.name for e in errors], ["Closed", "Closed"])
