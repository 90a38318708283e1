"""What a supervisor says of itself, and the settings of a host."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, List, Optional


class Hello:
    """What the supervisor says of itself and of this life of the host.

    supervisor and version are those of the supervising program; host is the name under
    which this program is configured; life counts its runs from 1; init is what the
    embedding program passes; capabilities are those in force; extensions are the ids of
    those located in this process, None if the supervisor knows of none yet.
    """

    def __init__(self, params: Dict[str, Any], caps: FrozenSet[str]) -> None:
        def part(key: str) -> Dict[str, Any]:
            v = params.get(key)
            return v if isinstance(v, dict) else {}

        def text(v: Any) -> str:
            return v if isinstance(v, str) else ""

        life, units = part("host").get("life"), params.get("extensions")
        self.supervisor = text(part("supervisor").get("name"))
        self.version = text(part("supervisor").get("version"))
        self.host = text(part("host").get("name"))
        self.life = life if type(life) is int else 0
        self.init: Any = params.get("init")
        self.capabilities = caps
        self.extensions: Optional[List[str]] = None
        if "extensions" in caps and isinstance(units, list):
            self.extensions = [u for u in units if isinstance(u, str)]


class Options:
    """The settings of a host."""

    def __init__(self, concurrent: int, threads: int, drain: float, outgoing: int) -> None:
        self.concurrent = max(concurrent, 1)
        self.threads = max(threads, 1)
        self.drain = max(drain, 0.0)
        self.outgoing = max(outgoing, 1)
