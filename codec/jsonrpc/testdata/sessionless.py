"""An MCP server of revision 2026-07-28 and no other, written from its pages
"Overview", "Versioning and Compatibility", "Discovery" and "stdio"."""

import json
import sys

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


class Refusal(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def answer(method, params):
    meta = params.get("_meta")
    for key in ("protocolVersion", "clientCapabilities"):
        if not isinstance(meta, dict) or PREFIX + key not in meta:
            raise Refusal(-32602, "no %s in _meta; this server supports %s" % (key, VERSION))
    if meta[PREFIX + "protocolVersion"] != VERSION:
        raise Refusal(-32022, "Unsupported protocol version", {
            "supported": [VERSION], "requested": meta[PREFIX + "protocolVersion"]})
    if method == "server/discover":
        return {"supportedVersions": [VERSION], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public"}
    if method == "tools/list":
        return {"tools": [{"name": "who", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "public"}
    if method == "tools/call" and params.get("name") == "who":
        if "progressToken" in meta:
            send({"method": "notifications/progress", "params": {
                "progressToken": meta["progressToken"], "progress": 1}})
        client = meta[PREFIX + "clientInfo"]
        return {"content": [{"type": "text", "text": "you are " + client["name"]}]}
    raise Refusal(-32601, "Method not found: " + method)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            result = answer(request["method"], request.get("params") or {})
        except Refusal as e:
            send({"id": request["id"], "error": e.error})
            continue
        result.update({"resultType": "complete",
                       "_meta": {PREFIX + "serverInfo": {"name": "sessionless", "version": "1"}}})
        send({"id": request["id"], "result": result})


main()
