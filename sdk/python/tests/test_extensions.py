"""Extensions: announced, activated, deactivated, with and without a supervisor that decides."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, List

from peer import ACK, ALL, CANCEL, NOTIFICATION, REQUEST, RESPONSE, Case, Peer

from hostsup_host import Activation, Host, HostError, RegistrationError

WITH = (*ALL, "extensions")


class Noted:
    """An extension that writes down what happens."""

    def __init__(self, host: Host, id: str = "acme.one", **more: Any) -> None:
        self.order: List[str] = []
        self.activation: Any = None
        self.fail: Any = None
        self.unit = host.extension(id, version="1.0", **more)
        self.gate: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()

        @self.unit.activate
        async def activate(activation: Activation) -> None:
            self.order.append("activate " + activation.event)
            self.activation = activation
            if self.fail is not None:
                raise self.fail

        @self.unit.deactivate
        async def deactivate() -> None:
            self.order.append("deactivate")

        @self.unit.handle(id + "/run")
        async def run(params: Any, ctx: Any) -> Any:
            self.order.append("run")
            if params == "wait":
                await self.gate
            return "ran"


async def settled(peer: Peer) -> List[Any]:
    while True:
        message = await peer.next()
        if message[0] != ACK:
            return message


class Supervised(Case):
    async def test_they_are_announced(self) -> None:
        host = Host("h")
        one = Noted(host, events=["onStart", "onCommand:acme.one/run"], depends_on=["acme.two"])
        one.unit.handle("more", inline=True)(lambda params, ctx: "more")
        peer = await self.connect(host, WITH, extensions=["acme.one"])
        self.assertIn("extensions", peer.answer["capabilities"])
        self.assertEqual(
            peer.answer["extensions"],
            [{"id": "acme.one", "version": "1.0", "events": ["onStart", "onCommand:acme.one/run", "onCommand:more"], "depends_on": ["acme.two"], "methods": ["acme.one/run", "more"]}],
        )
        assert host.hello is not None
        self.assertEqual(host.hello.extensions, ["acme.one"])
        with self.assertRaises(RegistrationError):
            host.extension("acme.late")

    async def test_activate_call_deactivate(self) -> None:
        host = Host("h")
        one = Noted(host)
        peer = await self.connect(host, WITH, init={"Acme.One": {"k": 1}})
        self.assertEqual(one.order, [])
        answer = await peer.result("extension/activate", {"id": "ACME.one", "event": "onStart", "startup": True})
        self.assertGreaterEqual(answer["took_ms"], 0)
        self.assertEqual((one.activation.startup, one.activation.config), (True, {"k": 1}))
        await peer.result("extension/activate", {"id": "acme.one", "event": "again"})
        self.assertEqual(await peer.result("acme.one/run"), "ran")
        self.assertIsNone(await peer.result("extension/deactivate", {"id": "acme.one", "timeout_ms": 1000}))
        await peer.result("extension/deactivate", {"id": "acme.one", "timeout_ms": 1000})
        self.assertEqual(one.order, ["activate onStart", "run", "deactivate"])
        for method in ("activate", "deactivate"):
            self.assertEqual((await peer.error("extension/" + method, {"id": "acme.none"}))["name"], "NotActive")

    async def test_a_call_needs_its_extension(self) -> None:
        host = Host("h", max_concurrent=1)
        one = Noted(host)
        peer = await self.connect(host, WITH)
        request = peer.request("acme.one/run")
        await peer.send(request)
        need = await settled(peer)
        self.assertEqual(need[0:1] + need[2:], [REQUEST, "extension/need", {"id": "acme.one", "event": "onCommand:acme.one/run"}])
        await peer.result("extension/activate", {"id": "acme.one", "event": "onCommand:acme.one/run"})
        await peer.send([RESPONSE, need[1], None, None])
        self.assertEqual(await settled(peer), [RESPONSE, request[1], None, "ran"])
        self.assertEqual(one.order, ["activate onCommand:acme.one/run", "run"])

    async def test_a_need_that_is_refused_is_the_answer(self) -> None:
        host = Host("h")
        Noted(host)
        peer = await self.connect(host, WITH)
        request = peer.request("acme.one/run")
        await peer.send(request)
        need = await settled(peer)
        await peer.send([RESPONSE, need[1], {"name": "NotActive", "message": "it is disabled"}, None])
        error = (await settled(peer))[2]
        self.assertEqual((error["name"], error["message"]), ("NotActive", "it is disabled"))

    async def test_an_activation_that_fails(self) -> None:
        host = Host("h")
        one = Noted(host)
        one.fail = HostError("no licence", name="Broken", code=4)
        peer = await self.connect(host, WITH)
        error = await peer.error("extension/activate", {"id": "acme.one"})
        self.assertEqual((error["name"], error["message"], error["code"]), ("Broken", "no licence", 4))
        one.fail = None
        await peer.result("extension/activate", {"id": "acme.one"})
        self.assertEqual(one.order, ["activate ", "activate "])

    async def test_an_activation_that_is_cancelled_is_undone(self) -> None:
        for swallow in (False, True):
            host, order = Host("h"), []  # type: ignore[var-annotated]
            unit = host.extension("acme.one")

            @unit.activate
            async def activate(activation: Activation) -> None:
                try:
                    await asyncio.get_running_loop().create_future()
                except asyncio.CancelledError:
                    if not swallow:
                        raise

            @unit.deactivate
            def deactivate() -> None:
                order.append("deactivate")

            peer = await self.connect(host, WITH)
            request = peer.request("extension/activate", {"id": "acme.one"})
            await peer.send(request)
            await peer.expect(ACK, request[1])
            await peer.send([CANCEL, request[1]])
            self.assertEqual((await settled(peer))[2]["name"], "Cancelled")
            self.assertEqual(order, ["deactivate"] if swallow else [])
            await peer.result("extension/deactivate", {"id": "acme.one", "timeout_ms": 1000})

    async def test_deactivate_during_an_activation_ends_it(self) -> None:
        host = Host("h")
        unit = host.extension("acme.one")

        @unit.activate
        async def activate(activation: Activation) -> None:
            await asyncio.get_running_loop().create_future()

        peer = await self.connect(host, WITH)
        request = peer.request("extension/activate", {"id": "acme.one"})
        await peer.send(request)
        await peer.expect(ACK, request[1])
        end = peer.request("extension/deactivate", {"id": "acme.one", "timeout_ms": 5000})
        await peer.send(end)
        answers = {m[1]: m for m in (await settled(peer), await settled(peer))}
        self.assertEqual(answers[request[1]][2]["name"], "NotActive")
        self.assertIsNone(answers[end[1]][2])

    async def test_deactivation_waits_for_handlers_then_cancels_them(self) -> None:
        host = Host("h")
        one = Noted(host)
        spawned = []
        peer = await self.connect(host, WITH)
        await peer.result("extension/activate", {"id": "acme.one"})

        async def beside() -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                spawned.append(list(one.order))

        one.activation.spawn(beside())
        request = peer.request("acme.one/run", "wait")
        await peer.send(request)
        await peer.expect(ACK, request[1])
        end = peer.request("extension/deactivate", {"id": "acme.one", "timeout_ms": 100})
        await peer.send(end)
        self.assertEqual((await settled(peer))[1:3:1][0], request[1])  # cancelled at half of the time
        self.assertEqual(await settled(peer), [RESPONSE, end[1], None, None])
        self.assertEqual(one.order, ["activate ", "run", "deactivate"])
        self.assertEqual(len(spawned), 1)
        with self.assertRaises(HostError):
            one.activation.spawn(beside())

    async def test_a_deactivation_that_hangs_is_an_error(self) -> None:
        host = Host("h")
        unit = host.extension("acme.one")

        @unit.deactivate
        async def deactivate() -> None:
            await asyncio.get_running_loop().create_future()

        peer = await self.connect(host, WITH)
        await peer.result("extension/activate", {"id": "acme.one"})
        error = await peer.error("extension/deactivate", {"id": "acme.one", "timeout_ms": 20})
        self.assertIn("its deactivate does not return within 0.02 s", error["message"])

    async def test_an_error_outside_of_any_request_is_told(self) -> None:
        host = Host("h")
        one = Noted(host)
        peer = await self.connect(host, WITH)
        await peer.result("extension/activate", {"id": "acme.one"})

        async def fails() -> None:
            raise ValueError("beside")

        with self.assertLogs("hostsup_host.acme.one", "ERROR"):
            one.activation.spawn(fails())
            message = await peer.expect(NOTIFICATION)
        self.assertEqual(message[1], "extension/uncaught")
        self.assertEqual((message[2]["id"], message[2]["error"]["name"], message[2]["error"]["message"]), ("acme.one", "ValueError", "beside"))


class ByItself(Case):
    async def test_at_the_first_call_and_what_it_depends_on(self) -> None:
        host = Host("h")
        one, two = Noted(host, depends_on=["acme.two"]), Noted(host, "acme.two")
        peer = await self.connect(host)
        self.assertNotIn("extensions", peer.answer)
        self.assertEqual(await peer.result("acme.one/run"), "ran")
        self.assertEqual(two.order, ["activate onCommand:acme.one/run"])
        self.assertEqual(one.order, ["activate onCommand:acme.one/run", "run"])
        await peer.result("shutdown")
        self.assertEqual((one.order[-1], two.order[-1]), ("deactivate", "deactivate"))

    async def test_what_belongs_to_the_start(self) -> None:
        host = Host("h")
        Noted(host, "acme.idle")
        one = Noted(host, events=["*"])
        peer = await self.connect(host)
        while not one.order:
            await peer.result("$/ping")
        self.assertEqual(one.order, ["activate *"])

    async def test_one_that_has_failed_is_not_tried_again(self) -> None:
        host = Host("h")
        one, two = Noted(host, depends_on=["acme.two"]), Noted(host, "acme.two")
        two.fail = ValueError("broken")
        peer = await self.connect(host)
        for _ in range(2):
            error = await peer.error("acme.one/run")
            self.assertEqual((error["name"], error["cause"]["name"], error["cause"]["cause"]["name"]), ("NotActive", "NotActive", "ValueError"))
        self.assertEqual((one.order, two.order), ([], ["activate onCommand:acme.one/run"]))

    async def test_circles_and_what_is_not_there(self) -> None:
        host = Host("h")
        Noted(host, "a.a", depends_on=["a.b"])
        Noted(host, "a.b", depends_on=["a.a"])
        Noted(host, "a.c", depends_on=["a.none"])
        peer = await self.connect(host)
        for id in ("a.a", "a.c"):
            self.assertEqual((await peer.error(id + "/run"))["name"], "NotActive")


class Ids(unittest.TestCase):
    def test_ids(self) -> None:
        host = Host("h")
        for id in ("", "one", "one.", ".one", " a.b", "x" * 300 + ".a"):
            with self.assertRaises(RegistrationError):
                host.extension(id)
        with self.assertRaises(RegistrationError):
            host.extension("a.b", depends_on=["c"])
        host.extension("a.b")
        with self.assertRaises(RegistrationError):
            host.extension("A.B")
