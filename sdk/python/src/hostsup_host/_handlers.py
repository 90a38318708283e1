"""Functions of the user, and how they are run."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._errors import RegistrationError

if TYPE_CHECKING:
    from ._extensions import Extension
    from ._requests import Context


class Handler:
    """Runs the function of one method."""

    __slots__ = ("fn", "inline", "blocking", "streams", "unit")

    def __init__(self, fn: Callable[..., Any], what: str, inline: bool = False, unit: "Optional[Extension]" = None) -> None:
        body = _body(fn)
        self.fn = fn
        self.inline = inline
        self.streams = inspect.isasyncgenfunction(body) or inspect.isgeneratorfunction(body)
        self.blocking = not (inline or inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body))
        self.unit = unit
        if inline and (self.streams or inspect.iscoroutinefunction(body)):
            raise RegistrationError(f"{what}: an inline handler must be a plain function, which returns its result at once")
        accepts(fn, 2, what, "(params, ctx)")

    def call(self, context: "Context") -> Any:
        """Calls the function."""
        return self.fn(context.params, context)


def _body(fn: Any) -> Any:
    """Returns what is defined with def or async def."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isfunction(fn) or inspect.ismethod(fn) or inspect.isbuiltin(fn) or inspect.isclass(fn):
        return fn
    return getattr(type(fn), "__call__", fn)


def is_async(fn: Any) -> bool:
    """Reports whether fn is defined with async def."""
    return inspect.iscoroutinefunction(_body(fn))


def accepts(fn: Any, n: int, what: str, expected: str) -> None:
    """Raises RegistrationError if fn cannot be called with n arguments."""
    if not callable(fn):
        raise RegistrationError(f"{what}: {fn!r:.80} is not a function")
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):
        return  # written in C
    try:
        signature.bind(*range(n))
    except TypeError:
        raise RegistrationError(f"{what}: {getattr(fn, '__qualname__', fn)}{signature} cannot be called with {expected}") from None
