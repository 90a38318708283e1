"""The SDK for hosts of hostsup in Python.

::

    from hostsup_host import Host

    host = Host("greeter", "1.0")

    @host.handle("greet")
    async def greet(name, ctx):
        return f"hello {name}"

    host.run()

The event loop acknowledges every request whose answer does not leave in the same turn,
so that the supervisor can tell a busy host from a hung one. Handlers with ``async def``
share the loop and must not block it; handlers with plain ``def`` run in threads.
"""

from ._calls import Items
from ._errors import (
    CancelledByCaller,
    ClosedError,
    HostError,
    InvalidParamsError,
    InvalidResultError,
    MethodNotFoundError,
    NoTransportError,
    NotActiveError,
    OverloadedError,
    PeerGoneError,
    ProtocolError,
    RegistrationError,
    ShuttingDownError,
    StuckError,
    TooLargeError,
    VersionNotSupportedError,
)
from ._extensions import Activation, Extension
from ._hello import Hello
from ._host import Host
from ._requests import Context

__all__ = [
    "Activation",
    "CancelledByCaller",
    "ClosedError",
    "Context",
    "Extension",
    "Hello",
    "Host",
    "HostError",
    "InvalidParamsError",
    "InvalidResultError",
    "Items",
    "MethodNotFoundError",
    "NoTransportError",
    "NotActiveError",
    "OverloadedError",
    "PeerGoneError",
    "ProtocolError",
    "RegistrationError",
    "ShuttingDownError",
    "StuckError",
    "TooLargeError",
    "VersionNotSupportedError",
]
