"""Errors of hosts and supervisors, and their form on the wire."""

from __future__ import annotations

import traceback
from typing import Any, ClassVar, Dict, List, Optional, Type

MAX_CAUSES = 16
MAX_STACK = 16 << 10  # characters of a stack in an answer

_by_name: Dict[str, Type["HostError"]] = {}


class HostError(Exception):
    """An error with the fields that the protocol carries.

    A handler that raises one is answered with its name, message, code, data and
    stack, and with the errors in ``__cause__`` as causes. An error of the supervisor
    is raised as a HostError, or as the subclass that has its name::

        class QuotaError(HostError, name="Quota"):
            pass

    name is a class to branch on, code an integer (0: none), data any value that
    MessagePack can carry, stack the stack at the side that made the error.
    """

    default_name: ClassVar[str] = "Error"

    def __init__(
        self, message: str = "", *, name: Optional[str] = None, code: int = 0, data: Any = None, stack: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = self.default_name if name is None else name
        self.code = code
        self.data = data
        self.stack = stack

    def __init_subclass__(cls, name: Optional[str] = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.default_name = name
            _by_name[name] = cls

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name


class CancelledByCaller(HostError, name="Cancelled"):
    """The caller no longer wants the result."""


class MethodNotFoundError(HostError, name="MethodNotFound"):
    """The other side has no such method."""


class InvalidParamsError(HostError, name="InvalidParams"):
    """The params do not fit the method."""


class InvalidResultError(HostError, name="InvalidResult"):
    """A value cannot be sent: MessagePack has no form for it."""


class TooLargeError(HostError, name="TooLarge"):
    """A message exceeds the limit of a frame (50 MiB by default)."""


class NotActiveError(HostError, name="NotActive"):
    """The extension of a method is not active."""


class OverloadedError(HostError, name="Overloaded"):
    """The supervisor refuses a request: 256 requests of this host are open."""


class ShuttingDownError(HostError, name="ShuttingDown"):
    """The host is shutting down."""


class VersionNotSupportedError(HostError, name="VersionNotSupported"):
    """The supervisor speaks another version of the protocol."""


class ClosedError(HostError, name="Closed"):
    """The connection to the supervisor has ended, or has not been opened."""


class PeerGoneError(ClosedError):
    """The supervisor closed the connection without a shutdown request."""


class ProtocolError(ClosedError, name="ProtocolError"):
    """The supervisor broke a rule of the protocol."""


class NoTransportError(ClosedError, name="NoTransport"):
    """The environment names no connection to a supervisor."""


class StuckError(ClosedError, name="Stuck"):
    """Handlers did not return although they were cancelled; they are left behind."""


class RegistrationError(ValueError):
    """A handler or an extension cannot be registered."""


def _int(value: Any) -> int:
    """Returns value if it is an integer of 64 bits, else 0."""
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else 0


def message_of(error: BaseException) -> str:
    """Returns the text of an exception, also where its __str__ raises."""
    try:
        return str(error)
    except BaseException as e:  # code of the user
        return f"(its text cannot be read: {type(e).__name__})"


def stack_of(error: BaseException) -> str:
    """Returns the stack of an exception without those of its causes."""
    try:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__, chain=False))
    except BaseException:  # code of the user
        text = "".join(traceback.format_tb(error.__traceback__))
    return text if len(text) <= MAX_STACK else text[:MAX_STACK]


def _next_cause(error: BaseException) -> Optional[BaseException]:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def to_wire(error: BaseException) -> Dict[str, Any]:
    """Returns the map that stands for an exception and the chain of its causes."""
    chain: List[BaseException] = []
    at: Optional[BaseException] = error
    while at is not None and len(chain) < MAX_CAUSES and not any(at is seen for seen in chain):
        chain.append(at)
        at = _next_cause(at)
    out: Optional[Dict[str, Any]] = None
    for e in reversed(chain):
        link = _one(e)
        if out is not None:
            link["cause"] = out
        out = link
    assert out is not None
    return out


def _one(error: BaseException) -> Dict[str, Any]:
    if isinstance(error, HostError):
        m: Dict[str, Any] = {"name": str(error.name), "message": str(error.message)}
        if _int(error.code):
            m["code"] = error.code
        if error.data is not None:
            m["data"] = error.data
        stack = error.stack or (stack_of(error) if error.__traceback__ is not None else "")
    else:
        m = {"name": type(error).__name__, "message": message_of(error)}
        code = getattr(error, "code", getattr(error, "errno", None))
        if _int(code):
            m["code"] = code
        stack = stack_of(error)
    if stack:
        m["stack"] = str(stack)
    return m


def plain(error: BaseException) -> Dict[str, Any]:
    """Returns the map of an exception with texts only: what is sent where data cannot be."""
    m = {"name": "Error", "message": message_of(error)}
    try:
        m["name"] = type(error).__name__
        if isinstance(error, HostError):
            m["name"], m["message"] = str(error.name), str(error.message)
    except Exception:  # code of the user
        pass
    return m


def again(error: HostError) -> HostError:
    """Returns a copy of an error of this package, for another place to raise it."""
    return type(error)(error.message, name=error.name)


def from_wire(value: Any) -> HostError:
    """Returns the error that a message carries. Values that do not fit their key are left out."""
    first: Optional[HostError] = None
    last: Optional[HostError] = None
    for _ in range(MAX_CAUSES):
        error, cause = _read(value)
        if last is None:
            first = error
        else:
            last.__cause__ = error
        last = error
        if cause is None:
            break
        value = cause
    assert first is not None
    return first


def _read(value: Any) -> "tuple[HostError, Any]":
    if isinstance(value, str):
        return HostError(value), None
    if isinstance(value, list) and len(value) == 2 and type(value[0]) is int and isinstance(value[1], str):
        return HostError(value[1], code=_int(value[0])), None
    if not isinstance(value, dict):
        return HostError(repr(value)[:1024]), None

    def text(key: str) -> str:
        v = value.get(key)
        return v if isinstance(v, str) else ""

    name = text("name") or "Error"
    cls = _by_name.get(name, HostError)
    error = cls.__new__(cls)
    # A subclass of the user may have another __init__.
    HostError.__init__(
        error, text("message"), name=name, code=_int(value.get("code")), data=value.get("data"), stack=text("stack")
    )
    return error, value.get("cause")

