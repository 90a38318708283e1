"""Frames and messages: bytes to values and back. Nothing here waits."""

from __future__ import annotations

import struct
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import msgpack

from ._errors import InvalidResultError, ProtocolError, TooLargeError

MAX_FRAME = 50 << 20
MAX_DEPTH = 128
MAX_ELEMENTS = 4_194_304
MAX_METHOD = 1024
MAX_ID = 0xFFFFFFFF

REQUEST, RESPONSE, NOTIFICATION, ACK, CANCEL, ITEM, CREDIT = range(7)

_length = struct.Struct(">I")
_u16, _u32 = struct.Struct(">H"), struct.Struct(">I")

# The first bytes of arrays and maps. A body with few of them cannot nest deeply.
_containers = bytes(range(0x80, 0xA0)) + b"\xdc\xdd\xde\xdf"

# Bytes of a value by its first byte; 0 where more has to be read.
_fixed = bytearray(256)
for _b in range(256):
    if _b < 0x80 or _b >= 0xE0 or _b in (0xC0, 0xC2, 0xC3):
        _fixed[_b] = 1
    elif 0xA0 <= _b < 0xC0:
        _fixed[_b] = 1 + _b - 0xA0
for _b, _n in zip(range(0xCA, 0xD9), (5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18)):
    _fixed[_b] = _n
# bin, ext and str with a length: how many bytes that has, and what follows besides.
_sized = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1), 0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}


class Unfit:
    """Stands for a value that is valid MessagePack and that Python cannot hold, such as a map with a list as a key."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _container(body: bytes, pos: int) -> "Optional[Tuple[int, int]]":
    """Returns how many values an array or a map at pos has, and where they begin."""
    b = body[pos]
    if b < 0x90:
        return (b & 15) * 2, pos + 1
    if b < 0xA0:
        return b & 15, pos + 1
    try:
        if b == 0xDC:
            return _u16.unpack_from(body, pos + 1)[0], pos + 3
        if b == 0xDD:
            return _u32.unpack_from(body, pos + 1)[0], pos + 5
        if b == 0xDE:
            return _u16.unpack_from(body, pos + 1)[0] * 2, pos + 3
        if b == 0xDF:
            return _u32.unpack_from(body, pos + 1)[0] * 2, pos + 5
    except struct.error:
        raise ProtocolError(f"frame: it ends within the header at byte {pos}") from None
    return None


def skip(body: bytes, pos: int, depth: int = MAX_DEPTH, elements: int = MAX_ELEMENTS) -> int:
    """Returns where the value at pos ends. Raises ProtocolError where it breaks a limit, or is not complete."""
    end, left, stack = len(body), 1, []  # type: int, int, List[int]
    fixed = _fixed
    while True:
        if left == 0:
            if not stack:
                return pos
            left = stack.pop()
            continue
        left -= 1
        if pos >= end:
            raise ProtocolError(f"frame: it ends at byte {pos}, where a value is expected")
        b = body[pos]
        size = fixed[b]
        if size:
            pos += size
            continue
        sized = _sized.get(b)
        if sized is not None:
            width, more = sized
            pos += 1 + width + more + int.from_bytes(body[pos + 1 : pos + 1 + width], "big")
            continue
        found = _container(body, pos)
        if found is None:
            raise ProtocolError(f"frame: byte {pos} is 0x{b:02x}, which begins no value")
        n, at = found
        elements -= n
        if elements < 0:
            raise ProtocolError(f"frame: the header at byte {pos} claims more than {MAX_ELEMENTS} elements together")
        if len(stack) >= depth:
            raise ProtocolError(f"frame: arrays and maps nest deeper than {depth} at byte {pos}")
        stack.append(left)
        left, pos = n, at


def check(body: bytes) -> None:
    """Raises ProtocolError if a body nests too deeply or claims too many elements.

    It must be called before a value is made of the body, because a decoder allocates
    what headers claim. The count of bytes that may begin an array or a map is a bound
    that nearly all bodies meet, and is taken at the speed of memory.
    """
    size = len(body)
    if size < MAX_DEPTH:
        return
    headers = size - len(body.translate(None, _containers))
    if headers >= MAX_DEPTH or headers * size > MAX_ELEMENTS:
        skip(body, 0)


def _unpack(body: bytes) -> Any:
    return msgpack.unpackb(body, strict_map_key=False, unicode_errors="surrogateescape")


def decode(body: bytes) -> List[Any]:
    """Returns the message in a frame's body: an array of kind and what that kind has. Fields are not checked."""
    check(body)
    try:
        m = _unpack(body)
    except Exception as e:
        m = _decode_parts(body, e)
    if type(m) is not list or not m:
        raise ProtocolError(f"frame: the body is not an array of a message: {body[:64]!r}")
    return m


def _decode_parts(body: bytes, reason: Exception) -> List[Any]:
    """Decodes the elements of a message one by one: one may be valid and still have no form in Python."""
    if skip(body, 0) != len(body):
        raise ProtocolError(f"frame: a body of {len(body)} bytes is not exactly one value: {body[:64]!r}") from reason
    if not 0x90 <= body[0] < 0xA0 and body[0] not in (0xDC, 0xDD):
        raise ProtocolError(f"frame: the body is not an array of a message: {body[:64]!r}") from reason
    found = _container(body, 0)
    assert found is not None
    n, pos = found
    out: List[Any] = []
    for _ in range(n):
        end = skip(body, pos)
        try:
            out.append(_unpack(body[pos:end]))
        except Exception as e:
            out.append(Unfit(f"{type(e).__name__}: {e}"))
        pos = end
    return out


class Frames:
    """Cuts a stream into the bodies of frames. Memory grows with the bytes that came, not with what they claim."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._need = 4

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the bodies that data completes, each a copy."""
        source: Union[bytes, bytearray] = data
        if self._kept:
            self._kept += data
            if len(self._kept) < self._need:
                return
            source, self._kept = self._kept, bytearray()
        pos, size = 0, len(source)
        try:
            while size - pos >= 4:
                (n,) = _length.unpack_from(source, pos)
                if n == 0 or n > self._limit:
                    raise ProtocolError(f"frame: a length of {n} bytes, expected 1 to {self._limit}")
                if size - pos - 4 < n:
                    self._need = 4 + n
                    break
                body = bytes(source[pos + 4 : pos + 4 + n])
                pos += 4 + n
                yield body
            else:
                self._need = 4
        finally:
            if pos < size:
                self._kept = bytearray(source[pos:])

    def end(self) -> None:
        """Takes in the end of the stream. Raises ProtocolError if that is within a frame."""
        if self._kept:
            raise ProtocolError(f"frame: the stream ends within a frame, after {len(self._kept)} of {self._need} bytes")


def _default(value: Any) -> Any:
    """Gives msgpack a form of what it does not know."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: getattr(value, name) for name in fields}
    raise TypeError(f"{type(value).__name__} has no form in MessagePack")


class Encoder:
    """Makes frames of messages. It must be used by one thread."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._pack = msgpack.Packer(default=_default, unicode_errors="surrogateescape").pack
        self._limit = limit

    def message(self, what: str, message: List[Any]) -> bytes:
        """Returns the frame of a message. Raises InvalidResultError or TooLargeError, which name what was to be sent."""
        return self.frame(what, self.value(what, message, message[-1] if message else None))

    def call(self, head: List[Any], method: str, params: Any, trace: Optional[Dict[str, str]]) -> bytes:
        """Returns the frame of a request or a notification. Raises ValueError for a method that cannot be sent."""
        check_method(method)
        if trace:
            return self.frame("params", self.value("params", [*head, method, params, trace], params))
        return self.frame("params", self.value("params", [*head, method, params], params))

    def frame(self, what: str, body: bytes) -> bytes:
        """Returns a frame. Raises TooLargeError if the body exceeds the limit."""
        if len(body) > self._limit:
            raise TooLargeError(f"{what}: {len(body)} bytes, a message has at most {self._limit}")
        if len(body) >= MAX_DEPTH:
            try:
                check(body)
            except ProtocolError as e:
                raise InvalidResultError(f"{what}: {e.message}") from None
        return _length.pack(len(body)) + body

    def value(self, what: str, value: Any, payload: Any) -> bytes:
        """Returns the bytes of one value. payload is the part of it that an error describes."""
        try:
            packed: bytes = self._pack(value)
            return packed
        except MemoryError:
            raise
        except Exception as e:
            raise InvalidResultError(misfit(what, payload) or f"{what}: {type(e).__name__}: {e}") from None


def check_method(method: Any) -> None:
    """Raises ValueError if a host cannot send a method."""
    if not isinstance(method, str) or not 1 <= len(method.encode("utf-8", "replace")) <= MAX_METHOD:
        raise ValueError(f"method {method!r:.80}: expected a str of 1 to 1024 bytes")
    if method in ("initialize", "initialized", "shutdown"):
        raise ValueError(f"method {method!r} belongs to the protocol: a host cannot send it")


def array_header(n: int) -> bytes:
    """Returns the first bytes of an array of n values."""
    if n < 16:
        return bytes((0x90 | n,))
    return b"\xdd" + _u32.pack(n)


def misfit(path: str, value: Any) -> str:
    """Says which part of a value MessagePack cannot carry: ``result.hits[2]: a set …``. Returns "" if it finds none."""
    stack: List[Tuple[str, Any, int]] = [(path, value, 0)]
    seen = 0
    while stack and seen < 100_000:
        path, value, depth = stack.pop()
        seen += 1
        if depth > MAX_DEPTH:
            return f"{path[:200]}…: it nests deeper than {MAX_DEPTH}, or contains itself"
        if value is None or isinstance(value, (bool, float, bytes, bytearray, memoryview, msgpack.ExtType, msgpack.Timestamp)):
            continue
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 64:
                return f"{path}: an integer of {value.bit_length()} bits does not fit into 64 bits"
        elif isinstance(value, str):
            try:
                value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as e:
                return f"{path}: a str that is not UTF-8 at character {e.start}"
        elif isinstance(value, dict):
            stack.extend((f"{path}.{k}", v, depth + 1) for k, v in reversed(list(value.items())))
            stack.extend((f"{path}: key", k, depth + 1) for k in value)
        elif isinstance(value, (list, tuple)):
            stack.extend((f"{path}[{i}]", v, depth + 1) for i, v in reversed(list(enumerate(value))))
        else:
            try:
                value = _default(value)
            except TypeError:
                return f"{path}: a value of type {type(value).__name__} has no form in MessagePack"
            except Exception as e:
                return f"{path}: a field of {type(value).__name__} cannot be read: {e}"
            stack.append((path, value, depth + 1))
    return ""
