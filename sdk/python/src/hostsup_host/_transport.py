"""The connection to the supervisor that the environment names."""

from __future__ import annotations

import os
import socket
import stat
import sys
from typing import Optional

from ._errors import NoTransportError

ENV_FD = "HOSTSUP_HOST_FD"
ENV_ADDR = "HOSTSUP_HOST_ADDR"
ENV_TOKEN = "HOSTSUP_HOST_TOKEN"
TOKEN_SIZE = 32


class Transport:
    """Two descriptors of a stream, in non-blocking mode. close must be called once."""

    def __init__(self, read_fd: int, write_fd: int, sock: Optional[socket.socket] = None) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self._sock = sock
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    @classmethod
    def of_socket(cls, sock: socket.socket) -> "Transport":
        """Takes a connected stream socket."""
        return cls(sock.fileno(), sock.fileno(), sock)

    def close(self) -> None:
        """Closes the stream."""
        if self._sock is not None:
            try:
                self._sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the supervisor was first
            self._sock.close()
            return
        for fd in (self.read_fd, self.write_fd):
            try:
                os.close(fd)
            except OSError:
                pass


def open_transport() -> Transport:
    """Opens the connection that the environment names.

    That is an inherited socket, else a unix socket to connect to, else standard input
    and output. The variables are removed, so that children of the host do not take them
    for theirs. With standard input and output, descriptor 0 reads as empty and
    descriptor 1 is standard error from then on: what the program, its children or C code
    print does not break the protocol.
    """
    fd, addr, token = (os.environ.pop(name, "") for name in (ENV_FD, ENV_ADDR, ENV_TOKEN))
    if fd:
        return _inherited(fd)
    if addr:
        return _dial(addr, token)
    return _stdio()


def _inherited(text: str) -> Transport:
    try:
        fd = int(text)
    except ValueError:
        fd = -1
    if fd < 3:
        raise NoTransportError(f"{ENV_FD} is {text!r}, expected the number of a descriptor from 3")
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        raise NoTransportError(f"{ENV_FD} names descriptor {fd}, which is not open") from None
    if not stat.S_ISSOCK(mode):
        raise NoTransportError(f"{ENV_FD} names descriptor {fd}, which is not a socket")
    sock = socket.socket(fileno=fd)
    if sock.type & socket.SOCK_STREAM == 0:
        sock.detach()
        raise NoTransportError(f"{ENV_FD} names descriptor {fd}, which is not a stream socket")
    sock.set_inheritable(False)
    return Transport.of_socket(sock)


def _dial(addr: str, token: str) -> Transport:
    try:
        raw = bytes.fromhex(token)
    except ValueError:
        raw = b""
    if len(raw) != TOKEN_SIZE:
        # The token is a secret: it is not shown.
        raise NoTransportError(f"{ENV_TOKEN} is not {TOKEN_SIZE} bytes in hex")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(addr)
        sock.sendall(raw)
    except OSError as e:
        sock.close()
        raise NoTransportError(f"{ENV_ADDR} is {addr!r}, which cannot be connected to: {e}") from e
    return Transport.of_socket(sock)


def _stdio() -> Transport:
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        raise NoTransportError(f"{ENV_FD} and {ENV_ADDR} are not set, and standard input is closed") from None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise NoTransportError(
            f"{ENV_FD} and {ENV_ADDR} are not set, and standard input is not a pipe: this program is started by a supervisor, see hostsup run"
        )
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # What was printed so far stays in the buffer of sys.stdout, and leaves through the new descriptor.
    os.dup2(2, 1)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)
    return Transport(read_fd, write_fd)
