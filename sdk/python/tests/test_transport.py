"""The three transports, with hosts as processes."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Tuple

from peer import TIMEOUT, Peer

HOSTS = str(pathlib.Path(__file__).resolve().parent / "hosts.py")


class Pipes:
    """A pair of pipes in the form of a socket: the peer's end of standard input and output."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def setblocking(self, flag: bool) -> None:
        pass

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


class PipePeer(Peer):
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        super().__init__(Pipes(process))  # type: ignore[arg-type]
        self._process = process

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    async def read(self) -> Any:
        import msgpack

        out = self._process.stdout
        assert out is not None

        def one() -> Any:
            head = out.read(4)
            return msgpack.unpackb(out.read(int.from_bytes(head, "big"))) if len(head) == 4 else None

        return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, one), TIMEOUT)


class Transports(unittest.IsolatedAsyncioTestCase):
    def start(self, *args: str, env: Dict[str, str], **how: Any) -> "subprocess.Popen[bytes]":
        # Without a buffer, what is printed before the host is served would be on the wire of stdio.
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        process = subprocess.Popen([sys.executable, HOSTS, *args], env={**inherited, **env}, stderr=subprocess.PIPE, **how)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: "subprocess.Popen[bytes]") -> None:
        if process.poll() is None:
            process.kill()
        process.wait()
        for f in (process.stdin, process.stdout, process.stderr):
            if f is not None:
                f.close()

    async def output(self, process: "subprocess.Popen[bytes]") -> Tuple[bytes, bytes]:
        """Waits for the end of a process and returns what it has printed."""
        if process.stdin is not None and process.stdin.closed:
            process.stdin = None
        return await asyncio.get_running_loop().run_in_executor(None, lambda: process.communicate(timeout=TIMEOUT))

    def fd(self, *args: str) -> Tuple["subprocess.Popen[bytes]", Peer]:
        mine, theirs = socket.socketpair()
        process = self.start(*args, env={"HOSTSUP_HOST_FD": str(theirs.fileno())}, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        theirs.close()
        self.addCleanup(mine.close)
        return process, Peer(mine)

    def stdio(self, *args: str) -> Tuple["subprocess.Popen[bytes]", Peer]:
        process = self.start(*args, env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return process, PipePeer(process)

    async def unix(self, *args: str) -> Tuple["subprocess.Popen[bytes]", Peer]:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        path, token = os.path.join(folder.name, "s"), os.urandom(32)
        listener.bind(path)
        listener.listen()
        listener.setblocking(False)
        process = self.start(*args, env={"HOSTSUP_HOST_ADDR": path, "HOSTSUP_HOST_TOKEN": token.hex()}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        loop = asyncio.get_running_loop()
        mine, _ = await asyncio.wait_for(loop.sock_accept(listener), TIMEOUT)
        self.addCleanup(mine.close)
        got = b""
        while len(got) < 32:
            got += await asyncio.wait_for(loop.sock_recv(mine, 32 - len(got)), TIMEOUT)
        self.assertEqual(got, token)
        return process, Peer(mine)

    async def walk(self, process: "subprocess.Popen[bytes]", peer: Peer) -> Tuple[bytes, bytes]:
        await peer.open()
        self.assertEqual(await peer.result("echo", ["x", 1]), ["x", 1])
        self.assertEqual(await peer.result("environment"), [])
        await peer.result("print")
        self.assertEqual(await peer.result("echo", b"y" * 300_000), b"y" * 300_000)
        self.assertIsNone(await peer.result("shutdown"))
        peer.close()
        out, err = await self.output(process)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    printed = (b"printed", b"written", b"to the descriptor", b"by a child")

    async def test_fd(self) -> None:
        out, err = await self.walk(*self.fd())
        for text in self.printed:
            self.assertIn(text, out)
        self.assertEqual(err, b"")

    async def test_unix(self) -> None:
        out, err = await self.walk(*await self.unix())
        for text in self.printed:
            self.assertIn(text, out)
        self.assertEqual(err, b"")

    async def test_stdio(self) -> None:
        process, peer = self.stdio("early")
        await peer.open()
        self.assertEqual(await peer.result("echo", 1), 1)
        await peer.result("print")
        self.assertIsNone(await peer.result("shutdown"))
        peer.close()
        out, err = await self.output(process)
        self.assertEqual((process.returncode, out), (0, b""))
        for text in (*self.printed, b"before the host is served"):
            self.assertIn(text, err)

    async def test_end_of_the_stream_without_a_goodbye(self) -> None:
        for process, peer in (self.fd(), self.stdio(), await self.unix()):
            await peer.open()
            await peer.result("echo")
            peer.close()
            _, err = await self.output(process)
            self.assertEqual(process.returncode, 1)
            self.assertEqual(err.strip(), b"small: the supervisor closed the connection without a shutdown request")

    async def test_sigterm_is_graceful(self) -> None:
        process, peer = self.fd()
        await peer.open()
        request = peer.request("block", 0.05)
        await peer.send(request)
        await peer.expect(3, request[1])
        process.send_signal(signal.SIGTERM)
        self.assertEqual((await peer.response(request[1]))[3], "blocked")
        self.assertIsNone(await peer.read())
        await self.output(process)
        self.assertEqual(process.returncode, 0)

    async def test_a_thread_that_blocks_does_not_keep_the_process(self) -> None:
        process, peer = self.fd()
        await peer.open()
        request = peer.request("block", 1000)
        await peer.send(request)
        await peer.expect(3, request[1])
        peer.close()
        _, err = await self.output(process)
        self.assertEqual(process.returncode, 1, err)

    async def test_no_connection_is_a_clear_error(self) -> None:
        cases: List[Tuple[Dict[str, str], str]] = [
            ({}, "standard input is not a pipe"),
            ({"HOSTSUP_HOST_FD": "x"}, "expected the number of a descriptor from 3"),
            ({"HOSTSUP_HOST_FD": "1"}, "expected the number of a descriptor from 3"),
            ({"HOSTSUP_HOST_FD": "99"}, "which is not open"),
            ({"HOSTSUP_HOST_ADDR": "/nowhere/s", "HOSTSUP_HOST_TOKEN": "00" * 32}, "cannot be connected to"),
            ({"HOSTSUP_HOST_ADDR": "/nowhere/s", "HOSTSUP_HOST_TOKEN": "secret"}, "HOSTSUP_HOST_TOKEN is not 32 bytes in hex"),
        ]
        for env, text in cases:
            process = self.start(env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            _, err = await self.output(process)
            self.assertEqual(process.returncode, 1)
            self.assertIn(text, err.decode())
            self.assertNotIn("Traceback", err.decode())
            self.assertNotIn("secret", err.decode())

    async def test_a_descriptor_that_is_no_socket(self) -> None:
        with tempfile.TemporaryFile() as f:
            process = self.start(env={"HOSTSUP_HOST_FD": str(f.fileno())}, pass_fds=[f.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            _, err = await self.output(process)
        self.assertIn("which is not a socket", err.decode())
