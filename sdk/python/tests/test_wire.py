"""Frames and messages: limits, hostile bytes, and the golden frames of the protocol."""

from __future__ import annotations

import pathlib
import random
import socket
import struct
import tracemalloc
import unittest
from typing import Any, List, Tuple

from peer import ALL, NOTIFICATION, REQUEST, RESPONSE, Case, frame

import msgpack
from hostsup_host import Host, ProtocolError
from hostsup_host import _wire as wire

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "codec" / "native" / "testdata" / "frames"


def nested(depth: int) -> bytes:
    """Returns the body of a notification that nests so deep, its own array included."""
    return b"\x93\x02\xa1n" + b"\x91" * (depth - 1) + b"\xc0"


class Decoding(unittest.TestCase):
    def broken(self, body: bytes, text: str = "frame:") -> None:
        with self.assertRaises(ProtocolError) as raised:
            wire.decode(body)
        self.assertIn(text, str(raised.exception))

    def test_golden_frames_are_read(self) -> None:
        seen = 0
        for name in ("accepted", "messages", "extensions"):
            for _, data in golden(name, "read"):
                for body in wire.Frames().feed(data):
                    self.assertIn(wire.decode(body)[0], range(7), name)
                    seen += 1
        self.assertGreater(seen, 25)

    def test_hostile_bodies(self) -> None:
        for body, text in (
            (b"\xc1", "begins no value"),
            (b"\x93\x02\xa1n", "where a value is expected"),
            (b"\x93\x02\xa1n\xc0\xc0", "not exactly one value"),
            (b"\x80", "not an array"),
            (b"\x90", "not an array of a message"),
            (b"\xa1n", "not an array"),
            (b"\xdd\xff\xff\xff\xff", "claims more"),
            (b"\xdf\xff\xff\xff\xff", "claims more"),
            (b"\x93\x02\xa1n\xc6\xff\xff\xff\xff", "not exactly one value"),
            (b"\xdc\x00", "ends within the header"),
            (b"\x93\x02\xa1n\xc7", "not exactly one value"),
        ):
            self.broken(body, text)

    def test_nesting(self) -> None:
        self.assertEqual(wire.decode(nested(128))[0], 2)
        self.broken(nested(129), "nest deeper than 128")
        self.broken(nested(100_000), "nest deeper than 128")
        self.broken(b"\x93\x02\xa1n" + b"\x81\xc0" * 128 + b"\xc0", "nest deeper than 128")

    def test_elements(self) -> None:
        n = wire.MAX_ELEMENTS
        self.assertEqual(len(wire.decode(b"\x93\x02\xa1n\xdd" + struct.pack(">I", n - 3) + b"\xc0" * (n - 3))[2]), n - 3)
        self.broken(b"\x93\x02\xa1n\xdd" + struct.pack(">I", n - 2) + b"\xc0" * (n - 2), "claims more")
        # Many headers that each claim what is left of the frame.
        self.broken(b"\x93\x02\xa1n" + b"\xdd\x00\x0f\xff\xff" * 120 + b"\xc0" * (1 << 20), "claims more")

    def test_memory_for_what_is_claimed_is_not_allocated(self) -> None:
        hostile = b"\x93\x02\xa1n" + b"\xdd\x00\x3f\xff\xff" * 100 + b"\xc0" * (4 << 20)
        tracemalloc.start()
        try:
            self.broken(hostile)
            list(wire.Frames().feed(struct.pack(">I", 50 << 20) + b"\x93"))
            self.assertLess(tracemalloc.get_traced_memory()[1], 16 << 20)
        finally:
            tracemalloc.stop()

    def test_values_without_a_form_in_python(self) -> None:
        m = wire.decode(b"\x94\x00\x02\xa1m\x81\x91\x01\x02")  # a map with a list as a key
        self.assertEqual(m[:3], [0, 2, "m"])
        self.assertIsInstance(m[3], wire.Unfit)

    def test_strings_that_are_not_utf8_come_back_as_they_are(self) -> None:
        value = wire.decode(b"\x93\x02\xa1n\xa2\xff\xfe")[2]
        self.assertEqual(wire.Encoder().value("v", value, value), b"\xa2\xff\xfe")

    def test_random_bytes_raise_nothing_else(self) -> None:
        source = random.Random(17)
        for _ in range(20_000):
            body = bytearray(msgpack.packb([0, 5, "method", {"a": [1, 2.5, b"x", None], "b": "é" * source.randrange(90)}]))
            for _ in range(source.randrange(1, 4)):
                body[source.randrange(len(body))] = source.randrange(256)
            try:
                wire.decode(bytes(body))
            except ProtocolError:
                pass

    def test_skip_and_the_decoder_agree(self) -> None:
        source = random.Random(3)

        def value(depth: int) -> Any:
            kind = source.randrange(9 if depth else 7)
            simple: List[Any] = [None, True, source.randrange(-(2**63), 2**64), source.random(), "é" * source.randrange(300), bytes(source.randrange(70000)), -source.randrange(40)]
            if kind < 7:
                return simple[kind]
            n = source.choice((0, 3, 20))
            return [value(depth - 1) for _ in range(n)] if kind == 7 else {str(i): value(depth - 1) for i in range(n)}

        for _ in range(300):
            body = msgpack.packb([2, "m", value(3)])
            self.assertEqual(wire.skip(body, 0), len(body))


def golden(name: str, operation: str) -> List[Tuple[List[str], bytes]]:
    """Returns the frames of a file of golden bytes that an operation is for, each with its capabilities."""
    out = []
    for block in (GOLDEN / name).read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not lines or lines[0].split()[0] != operation or "----" not in lines:
            continue
        caps = lines[0].partition("caps=(")[2].rstrip(")")
        text = "".join(line.partition("#")[0] for line in lines[1 : lines.index("----")])
        out.append((caps.replace("none", "").split(",") if "caps=" in lines[0] else list(ALL), bytes.fromhex(text.replace(" ", ""))))
    return out


class Cutting(unittest.TestCase):
    def test_every_split(self) -> None:
        data = frame([2, "a", None]) + frame([2, "b", "x" * 300]) + frame([2, "c", [1]])
        for size in range(1, 40):
            frames, got = wire.Frames(), []
            for i in range(0, len(data), size):
                got += [wire.decode(b)[1] for b in frames.feed(data[i : i + size])]
            frames.end()
            self.assertEqual(got, ["a", "b", "c"])

    def test_lengths(self) -> None:
        for head in (b"\0\0\0\0", b"\x03\x20\0\1", b"\xff\xff\xff\xff"):
            with self.assertRaises(ProtocolError):
                list(wire.Frames().feed(head))
        frames = wire.Frames()
        self.assertEqual(list(frames.feed(b"\x03\x20\0\0\xc0")), [])
        with self.assertRaises(ProtocolError):
            frames.end()


class Breaches(Case):
    async def test_each_ends_the_connection(self) -> None:
        long = "x" * 1025
        for name, data, text in (
            ("empty frame", b"\0\0\0\0", "a length of 0"),
            ("too long", b"\x03\x20\0\1", "a length of"),
            ("kind 7", frame([7, 1]), "kind 7"),
            ("kind true", frame([True, 1, None, None]), "kind True"),
            ("too few", frame([REQUEST, 2, "m"]), "3 elements"),
            ("too many", frame([RESPONSE, 2, None, None, None]), "5 elements"),
            ("id 0", frame([REQUEST, 0, "m", None]), "id 0"),
            ("id too large", frame([REQUEST, 1 << 32, "m", None]), "id is"),
            ("id true", frame([REQUEST, True, "m", None]), "id is"),
            ("id float", frame([REQUEST, 2.0, "m", None]), "id is"),
            ("no method", frame([REQUEST, 2, "", None]), "the method is ''"),
            ("long method", frame([NOTIFICATION, long, None]), "the method is"),
            ("method of bytes", frame([NOTIFICATION, b"m", None]), "the method is"),
            ("method not UTF-8", b"\0\0\0\x05\x93\x02\xa1\xff\xc0", "the method is"),
            ("trace of a list", frame([REQUEST, 2, "m", None, [1]]), "the trace is"),
            ("long trace", frame([REQUEST, 2, "m", None, {"traceparent": long}]), "traceparent is not"),
            ("error and result", frame([RESPONSE, 1, "e", 1]), "an error and a result"),
            ("credit of text", frame([REQUEST, 2, "m", None]) + frame([6, 2, "x"]), "credit is"),
        ):
            with self.subTest(name):
                peer = await self.connect(Host("h"))
                await peer.write(data)
                while await peer.read() is not None:
                    pass
                await self.ended(ProtocolError, text)

    async def test_golden_frames_are_refused(self) -> None:
        frames = golden("refused", "refuse")
        self.assertGreater(len(frames), 30)
        for caps, data in frames:
            with self.subTest(data.hex()[:60]):
                peer = await self.connect(Host("h"), capabilities=caps)
                await peer.write(data)
                peer.sock.shutdown(socket.SHUT_WR)
                while await peer.read() is not None:
                    pass
                await self.ended(ProtocolError)

    async def test_capabilities_that_are_not_in_force(self) -> None:
        for message in ([3, 1], [4, 1], [5, 1, 0, None], [6, 1, 1], [REQUEST, 2, "m", None, {}]):
            peer = await self.connect(Host("h"), capabilities=[])
            await peer.send(message)
            self.assertIsNone(await peer.read())
            await self.ended(ProtocolError)

    async def test_params_without_a_form_are_refused_and_the_host_goes_on(self) -> None:
        host = Host("h")
        host.handle("m", inline=True)(lambda params, ctx: params)
        peer = await self.connect(host)
        body = b"\x94\x00\x02\xa1m\x81\x91\x01\x02"
        await peer.write(struct.pack(">I", len(body)) + body)
        message = await peer.expect(RESPONSE, 2)
        self.assertEqual(message[2]["name"], "InvalidParams")
        peer._id = 2
        self.assertEqual(await peer.result("m", {1: 2}), {1: 2})
