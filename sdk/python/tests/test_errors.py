"""Errors keep what they are in both directions."""

from __future__ import annotations

import unittest
from typing import Any

from peer import Case

from hostsup_host import Host, HostError, InvalidParamsError
from hostsup_host._errors import from_wire, to_wire


class Quota(HostError, name="Quota.Exceeded"):
    pass


class Wire(unittest.TestCase):
    def test_both_directions(self) -> None:
        outer = Quota("too much", code=7, data={"limit": 3})
        outer.__cause__ = ValueError("inner")
        m = to_wire(outer)
        self.assertEqual({k: m[k] for k in ("name", "message", "code", "data")}, {"name": "Quota.Exceeded", "message": "too much", "code": 7, "data": {"limit": 3}})
        self.assertEqual((m["cause"]["name"], m["cause"]["message"]), ("ValueError", "inner"))
        back = from_wire(m)
        self.assertIsInstance(back, Quota)
        self.assertEqual((back.code, back.data), (7, {"limit": 3}))
        self.assertEqual((back.__cause__.name, back.__cause__.message), ("ValueError", "inner"))  # type: ignore[union-attr]

    def test_stack_and_codes(self) -> None:
        try:
            raise OSError(13, "denied")
        except OSError as e:
            m = to_wire(e)
        self.assertEqual((m["name"], m["code"]), ("PermissionError", 13))
        self.assertIn("test_errors.py", m["stack"])
        self.assertEqual(from_wire(m).stack, m["stack"])
        self.assertEqual(to_wire(from_wire(m))["stack"], m["stack"])
        self.assertNotIn("code", to_wire(SystemExit(1 << 70)))

    def test_chains_end(self) -> None:
        first = ValueError("0")
        at: BaseException = first
        for i in range(40):
            at.__cause__ = ValueError(str(i + 1))
            at = at.__cause__
        at.__cause__ = first
        m: Any = to_wire(first)
        depth = 0
        while m is not None:
            m, depth = m.get("cause"), depth + 1
        self.assertEqual(depth, 16)
        itself = ValueError()
        itself.__context__ = itself
        self.assertNotIn("cause", to_wire(itself))
        endless: Any = {"name": "E"}
        endless["cause"] = endless
        self.assertEqual(from_wire(endless).name, "E")

    def test_context_is_a_cause_unless_it_is_suppressed(self) -> None:
        def fail(suppress: bool) -> BaseException:
            try:
                try:
                    raise KeyError("a")
                except KeyError:
                    if suppress:
                        raise ValueError("b") from None
                    raise ValueError("b")
            except ValueError as e:
                return e

        self.assertEqual(to_wire(fail(False))["cause"]["name"], "KeyError")
        self.assertNotIn("cause", to_wire(fail(True)))

    def test_other_forms(self) -> None:
        for value, name, message, code in (
            ("text", "Error", "text", 0),
            ([5, "text"], "Error", "text", 5),
            (7, "Error", "7", 0),
            ({"name": 3, "message": None, "code": "x", "stack": 1, "more": 1}, "Error", "", 0),
            ({"name": "N", "code": True}, "N", "", 0),
        ):
            e = from_wire(value)
            self.assertEqual((e.name, e.message, e.code), (name, message, code))


class Answers(Case):
    async def test_data_without_a_form_does_not_cost_the_answer(self) -> None:
        host = Host("h")

        @host.handle("fail")
        async def fail(params: Any, ctx: Any) -> None:
            raise HostError("bad \ud800 text", name="Odd", data={1, 2})

        peer = await self.connect(host)
        error = await peer.error("fail")
        self.assertEqual((error["name"], error["message"]), ("Odd", "bad ? text"))

    async def test_an_exception_has_its_stack(self) -> None:
        host = Host("h")

        @host.handle("fail")
        async def fail(params: Any, ctx: Any) -> None:
            raise InvalidParamsError("params.q: expected a str")

        @host.handle("deep")
        def deep(params: Any, ctx: Any) -> None:
            deep(params, ctx)

        peer = await self.connect(host)
        error = await peer.error("fail")
        self.assertEqual((error["name"], error["message"]), ("InvalidParams", "params.q: expected a str"))
        self.assertIn("in fail", error["stack"])
        error = await peer.error("deep")
        self.assertEqual(error["name"], "RecursionError")
        self.assertLessEqual(len(error["stack"]), 16 << 10)
