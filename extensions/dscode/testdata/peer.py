"""An extension host for DSCode's protocol, from its rules alone.

It listens at DSCODE_IPC_URL, serves each connection's requests on threads of
their own, and makes requests of its own over connections to
DSCODE_INCOMING_IPC_URL. The standard library is all it needs.
"""

import json
import os
import socket
import struct
import sys
import threading
import time

LIMIT = 50 << 20


def path(name):
    url = os.environ[name]
    if not url.startswith("ipc://"):
        sys.exit("%s is no ipc URL: %s" % (name, url))
    return url[len("ipc://"):]


class Closed(Exception):
    """The socket has ended."""


class Link:
    """One socket with frames on it."""

    def __init__(self, sock):
        self.sock = sock
        self.writing = threading.Lock()

    def exactly(self, n):
        parts = []
        while n:
            try:
                part = self.sock.recv(min(n, 1 << 20))
            except OSError as e:
                raise Closed(str(e))
            if not part:
                raise Closed("end of stream")
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def read(self):
        (n,) = struct.unpack(">I", self.exactly(4))
        if n == 0 or n > LIMIT:
            raise ValueError("length %d" % n)
        m = json.loads(self.exactly(n).decode("utf-8"))
        if not isinstance(m["id"], str) or not isinstance(m["type"], str):
            raise ValueError("no message: %r" % m)
        m["payload"]  # has to be there
        return m

    def write(self, id, type, payload):
        self.raw(frame(json.dumps({"id": id, "type": type, "payload": payload}).encode("utf-8")))

    def raw(self, data):
        with self.writing:
            self.sock.sendall(data)

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


class Asking(Link):
    """A connection for requests of our own."""

    def __init__(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(path("DSCODE_INCOMING_IPC_URL"))
        super().__init__(s)
        self.lock = threading.Lock()
        self.last = 0
        self.pending = {}
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                m = self.read()
                with self.lock:
                    box = self.pending.pop(m["id"], None)
                if box is None:
                    os.write(2, b"a reply to nothing: %r\n" % m)
                    os._exit(3)
                box["reply"] = m
                box["there"].set()
        except Closed:
            with self.lock:
                for box in self.pending.values():
                    box["there"].set()
                self.pending.clear()

    def request(self, type, payload, timeout=60):
        box = {"there": threading.Event()}
        with self.lock:
            self.last += 1
            id = "req_%d" % self.last
            self.pending[id] = box
        self.write(id, type, payload)
        if not box["there"].wait(timeout):
            raise RuntimeError("no answer to %s" % type)
        m = box.get("reply")
        if m is None:
            raise RuntimeError("the connection has ended")
        if m["type"] == type + "-error":
            raise RuntimeError(m["payload"]["error"])
        if m["type"] != type + "-response":
            raise RuntimeError("answered with the type " + m["type"])
        return m["payload"]

    def send(self, type, payload):
        with self.lock:
            self.last += 1
            id = "msg_%d" % self.last
        self.write(id, type, payload)


def frame(body):
    return struct.pack(">I", len(body)) + body


GARBAGE = {
    "zero": frame(b""),
    "large": struct.pack(">I", LIMIT + 1) + b"{",
    "text": b"Traceback (most recent call last):\n",
    "json": frame(b"{nope"),
    "array": frame(b"[]"),
    "utf8": frame(b'{"id":"\xff"}'),
    "id": frame(b'{"id":12,"type":"a","payload":1}'),
    "stranger": frame(b'{"id":"nobody","type":"a","payload":1}'),
}


class Host:
    def __init__(self):
        self.notes = []
        self.links = []
        self.lock = threading.Lock()

    def serve(self, link):
        try:
            while True:
                m = link.read()
                if m["id"].startswith("msg_"):
                    with self.lock:
                        self.notes.append([m["type"], m["payload"]])
                    if os.environ.get("PEER_ANSWERS_ALL"):
                        link.write(m["id"], m["type"] + "-response", None)
                    continue
                threading.Thread(target=self.answer, args=(link, m), daemon=True).start()
        except Closed:
            with self.lock:
                if link in self.links:
                    self.links.remove(link)
            link.sock.close()

    def answer(self, link, m):
        method = getattr(self, "do_" + m["type"], None)
        try:
            if method is None:
                raise RuntimeError("no method " + m["type"])
            link.write(m["id"], m["type"] + "-response", method(link, m["payload"]))
        except (OSError, Closed):
            pass  # its socket was cut
        except Exception as e:
            link.write(m["id"], m["type"] + "-error", {"error": str(e)})

    def do_echo(self, link, p):
        return p

    def do_add(self, link, p):
        return p[0] + p[1]

    def do_fail(self, link, p):
        raise RuntimeError(p)

    def do_sleep(self, link, p):
        time.sleep(p / 1000)
        return p

    def do_notes(self, link, p):
        with self.lock:
            return self.notes

    def do_sockets(self, link, p):
        return [path("DSCODE_IPC_URL"), path("DSCODE_INCOMING_IPC_URL")]

    def do_ask(self, link, p):
        """Asks over several connections at once, several requests on each."""
        out = [None] * (p["connections"] * p["requests"])
        threads = []

        def one(asking, i):
            try:
                out[i] = asking.request(p["type"], i)
            except RuntimeError as e:
                out[i] = "error: " + str(e)

        links = [Asking() for _ in range(p["connections"])]
        for c, asking in enumerate(links):
            for r in range(p["requests"]):
                t = threading.Thread(target=one, args=(asking, c * p["requests"] + r))
                t.start()
                threads.append(t)
        for t in threads:
            t.join()
        for asking in links:
            asking.close()
        return out

    def do_tell(self, link, p):
        asking = Asking()
        for i in range(p):
            asking.send("told", i)
        # Its answer comes behind what was told.
        asking.request("flush", None)
        asking.close()
        return p

    def do_leave(self, link, p):
        """Asks, and is gone before the answer."""
        asking = Asking()
        asking.write("req_1", p, None)
        time.sleep(0.05)
        asking.close()
        return None

    def do_cut(self, link, p):
        """Breaks the connection that this came over."""
        link.close()

    def do_deaf(self, link, p):
        """Breaks all connections and listens no more."""
        self.listener.close()
        os.unlink(path("DSCODE_IPC_URL"))
        link.close()

    def do_garbage(self, link, p):
        where = link if p["on"] == "replies" else Asking()
        where.raw(GARBAGE[p["kind"]])
        time.sleep(60)

    def run(self):
        at = path("DSCODE_IPC_URL")
        if os.path.exists(at):
            os.unlink(at)
        time.sleep(float(os.environ.get("PEER_LATE", "0")))
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(at)
        self.listener.listen()
        begin = os.environ.get("PEER_BEGINS_WITH")
        if begin:
            Asking().send(begin, os.getpid())
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                break
            link = Link(sock)
            with self.lock:
                self.links.append(link)
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()
        threading.Event().wait()


if __name__ == "__main__":
    Host().run()
