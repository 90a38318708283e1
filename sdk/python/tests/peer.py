"""A scripted supervisor for the tests, and what they have in common."""

from __future__ import annotations

import asyncio
import logging
import pathlib
import socket
import struct
import sys
import unittest
from typing import Any, Callable, Coroutine, Dict, List, Optional, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))

import msgpack  # noqa: E402

from hostsup_host import Host  # noqa: E402

REQUEST, RESPONSE, NOTIFICATION, ACK, CANCEL, ITEM, CREDIT = range(7)
ALL = ("ack", "cancel", "stream", "trace", "ping")
TIMEOUT = 20.0

# What is expected is looked at with assertLogs.
logging.getLogger("hostsup_host").addHandler(logging.NullHandler())
logging.getLogger("hostsup_host").propagate = False
# The debug mode of these tests tells of each step that takes 0.1 s, which a busy machine makes many of.
logging.getLogger("asyncio").setLevel(logging.ERROR)


def frame(message: Any) -> bytes:
    """Returns the frame of a message."""
    body: bytes = msgpack.packb(message)
    return struct.pack(">I", len(body)) + body


class Peer:
    """The supervisor's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.loop = asyncio.get_running_loop()
        self.reads: List[int] = []
        """Sizes of what came in one read."""
        self.answer: Dict[str, Any] = {}
        """What the host answered to initialize."""
        self._buffer = b""
        self._id = 1

    async def write(self, data: bytes) -> None:
        """Sends bytes as they are."""
        await self.loop.sock_sendall(self.sock, data)

    async def send(self, *messages: Any) -> None:
        """Sends messages in one write."""
        await self.write(b"".join(frame(m) for m in messages))

    def request(self, method: str, params: Any = None) -> List[Any]:
        """Returns a request with the next id."""
        self._id += 1
        return [REQUEST, self._id, method, params]

    async def read(self) -> Optional[List[Any]]:
        """Returns the next message, None at the end of the stream."""
        while True:
            if len(self._buffer) >= 4:
                (n,) = struct.unpack_from(">I", self._buffer)
                if len(self._buffer) >= 4 + n:
                    body, self._buffer = self._buffer[4 : 4 + n], self._buffer[4 + n :]
                    message: List[Any] = msgpack.unpackb(body, strict_map_key=False)
                    return message
            try:
                data = await asyncio.wait_for(self.loop.sock_recv(self.sock, 1 << 20), TIMEOUT)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.reads.append(len(data))
            self._buffer += data

    async def next(self) -> List[Any]:
        """Returns the next message."""
        message = await self.read()
        assert message is not None, "the host has closed the connection"
        return message

    async def expect(self, kind: int, number: Optional[int] = None) -> List[Any]:
        """Returns the next message, which must be of a kind, and about a request."""
        message = await self.next()
        assert message[0] == kind and (number is None or message[1] == number), f"got {message!r:.300}, expected kind {kind} of {number}"
        return message

    async def call(self, method: str, params: Any = None) -> List[Any]:
        """Sends a request and returns its response; an ack before it is skipped."""
        request = self.request(method, params)
        await self.send(request)
        return await self.response(request[1])

    async def response(self, number: int) -> List[Any]:
        """Returns the response to a request; acks before it are skipped."""
        while True:
            message = await self.next()
            if message[0] != ACK:
                assert message[:2] == [RESPONSE, number], f"got {message!r:.300}, expected the response to {number}"
                return message

    async def result(self, method: str, params: Any = None) -> Any:
        """Returns the result of a request, which must have no error."""
        message = await self.call(method, params)
        assert message[2] is None, message[2]
        return message[3]

    async def error(self, method: str, params: Any = None) -> Dict[str, Any]:
        """Returns the error of a request, which must have one."""
        message = await self.call(method, params)
        assert message[2] is not None and message[3] is None, message
        error: Dict[str, Any] = message[2]
        return error

    async def open(self, capabilities: Sequence[str] = ALL, **more: Any) -> None:
        """Opens the connection."""
        params = {
            "protocol": 1, "capabilities": list(capabilities), "supervisor": {"name": "test", "version": "1"},
            "host": {"name": "h", "life": 3}, "init": None, "extensions": [], **more,
        }  # fmt: skip
        await self.send([REQUEST, 1, "initialize", params])
        message = await self.expect(RESPONSE, 1)
        assert message[2] is None, message[2]
        self.answer = message[3]
        await self.send([NOTIFICATION, "initialized", None])

    def close(self) -> None:
        """Closes the connection."""
        self.sock.close()


class Case(unittest.IsolatedAsyncioTestCase):
    """Serves hosts to peers."""

    served: "asyncio.Task[None]"

    async def pair(self, host: Host) -> Peer:
        """Serves a host to a peer, which has sent nothing."""
        mine, theirs = socket.socketpair()
        self.served = asyncio.get_running_loop().create_task(host.serve(theirs))
        peer = Peer(mine)
        self.addAsyncCleanup(self._end, peer, self.served)
        return peer

    async def connect(self, host: Host, capabilities: Sequence[str] = ALL, **more: Any) -> Peer:
        """Serves a host to a peer, which has opened the connection."""
        peer = await self.pair(host)
        await peer.open(capabilities, **more)
        return peer

    @staticmethod
    async def _end(peer: Peer, served: "asyncio.Task[None]") -> None:
        peer.close()
        await asyncio.wait({served}, timeout=TIMEOUT)
        assert served.done(), "serve does not end with the connection"
        if not served.cancelled():
            served.exception()

    async def ended(self, expected: Optional[type] = None, text: str = "") -> None:
        """Waits until serve ends, and looks how."""
        await asyncio.wait({self.served}, timeout=TIMEOUT)
        self.assertTrue(self.served.done(), "serve has not ended")
        error = self.served.exception()
        if expected is None:
            self.assertIsNone(error)
        else:
            self.assertIsInstance(error, expected)
            self.assertIn(text, str(error))

    async def within(self, coroutine: "Coroutine[Any, Any, Any]") -> Any:
        """Waits for something, for a bounded time."""
        return await asyncio.wait_for(coroutine, TIMEOUT)


Handler = Callable[..., Any]
