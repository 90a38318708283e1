"""Hosts under the real hostsup, whose path is in HOSTSUP_BINARY."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, Dict, List

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATE = HERE.parents[2] / "cmd" / "hostsup" / "internal" / "newhost" / "python"
BINARY = os.environ.get("HOSTSUP_BINARY", "")

CONFIG = """
supervisor {
  socket    = "%(dir)s/s"
  state_dir = "%(dir)s/state"
}
%(hosts)s
"""
HOST = """
host "%(name)s" {
  command   = ["%(python)s", "%(program)s"]
  transport = "%(transport)s"
  env       = { PYTHONPATH = "%(path)s", PYTHONDONTWRITEBYTECODE = "1" }
  unresponsive {
    after      = "300ms"
    kill_after = "300ms"
  }
}
"""


class Local(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


class Template(unittest.TestCase):
    """The project that hostsup init --new-host python writes."""

    def test_its_tests_pass(self) -> None:
        # Without bytecode, which would become a part of the binary.
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(p for p in [str(HERE.parent / "src"), *sys.path] if p)}
        done = subprocess.run([sys.executable, "-m", "unittest", "-v"], cwd=TEMPLATE, env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 3 tests", done.stderr)

    @unittest.skipUnless(BINARY, "HOSTSUP_BINARY does not name a hostsup")
    def test_its_configuration_is_valid(self) -> None:
        done = subprocess.run([BINARY, "validate", "-c", str(TEMPLATE / "config.hcl")], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(BINARY, "HOSTSUP_BINARY does not name a hostsup")
class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        hosts = "".join(
            HOST % {"name": t, "transport": t, "python": sys.executable, "program": HERE / "hosts.py", "path": os.pathsep.join(p for p in sys.path if p)}
            for t in ("fd", "stdio", "unix")
        )
        kills = HOST % {"name": "kills", "transport": "fd", "python": sys.executable, "program": HERE / "hosts.py", "path": os.pathsep.join(p for p in sys.path if p)}
        hosts += kills.replace("unresponsive {", "restart {\n    max_crashes = 1000\n    backoff {\n      initial = \"10ms\"\n      max     = \"50ms\"\n    }\n  }\n  unresponsive {")
        config = pathlib.Path(cls.folder.name) / "config.hcl"
        config.write_text(CONFIG % {"dir": cls.folder.name, "hosts": hosts})
        cls.socket = f"{cls.folder.name}/s"
        cls.supervisor = subprocess.Popen([BINARY, "run", "-c", str(config)], stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end)
        assert cls.supervisor.stderr is not None
        lines: List[str] = []
        for line in cls.supervisor.stderr:
            lines.append(line)
            if line.startswith("hostsup: ready"):
                return
        raise AssertionError("the supervisor did not start:\n" + "".join(lines))

    @classmethod
    def end(cls) -> None:
        cls.supervisor.terminate()
        cls.supervisor.communicate(timeout=30)

    def hostsup(self, *args: str, code: int = 0) -> str:
        done = subprocess.run([BINARY, *args, "--socket", self.socket], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def status(self, host: str) -> Any:
        return json.loads(self.hostsup("status", host, "--json"))["hosts"][0]

    def test_calls_over_each_transport(self) -> None:
        for t in ("fd", "stdio", "unix"):
            with self.subTest(t):
                self.assertEqual(json.loads(self.hostsup("call", t, "echo", '{"a": [1, "x", null]}')), {"a": [1, "x", None]})
                self.hostsup("call", t, "print")
                self.assertEqual(self.hostsup("call", t, "count", "5", "--stream").split(), ["0", "1", "2", "3", "4"])
                self.assertEqual(json.loads(self.hostsup("call", t, "count", "3")), [0, 1, 2])
                self.assertIn("it failed", self.hostsup("call", t, "fail", code=1))
                self.assertEqual(self.status(t)["state"], "running")

    def test_a_handler_that_blocks_in_a_thread_is_no_hang(self) -> None:
        life = self.status("fd")["life"]
        self.assertEqual(json.loads(self.hostsup("call", "fd", "block", "1.2")), "blocked")
        self.assertEqual(self.status("fd")["life"], life)

    def test_a_loop_that_hangs_and_a_crash_are_restarted(self) -> None:
        for t, method in (("stdio", "hang"), ("unix", "crash")):
            with self.subTest(method):
                life = self.status(t)["life"]
                self.hostsup("call", t, method, code=1)
                self.hostsup("wait", t, "--state", "running")
                self.assertGreater(self.status(t)["life"], life)
                self.assertEqual(json.loads(self.hostsup("call", t, "echo", "1")), 1)

    def call(self, connection: "Local", host: str, method: str, params: Any) -> Any:
        """Returns the result of a call through the control socket, or the class of its error."""
        body = json.dumps({"method": method, "params": params, "timeout_seconds": 20})
        connection.request("POST", f"/v1/hosts/{host}/call", body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        return ["result", answer["result"]] if "result" in answer else ["error", answer["error"]["class"]]

    def test_calls_while_the_host_is_killed_have_one_outcome_each(self) -> None:
        done: "Dict[str, int]" = {}
        wrong: List[Any] = []
        calls, killed = [0], [0]
        lock, killing = threading.Lock(), threading.Event()

        def caller(worker: int) -> None:
            connection = Local(self.socket)
            i = 0
            while i < 250 or killed[0] < 3:
                i += 1
                params = [worker, i]
                outcome = self.call(connection, "kills", "echo", params)
                with lock:
                    calls[0] += 1
                    if outcome[0] == "error":
                        done[outcome[1]] = done.get(outcome[1], 0) + 1
                    elif outcome[1] == params:
                        done["result"] = done.get("result", 0) + 1
                    else:
                        wrong.append((params, outcome))
            connection.close()

        def killer() -> None:
            while not killing.wait(0.1):
                pid = self.status("kills")["pid"]
                if pid:
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed[0] += 1
                    except ProcessLookupError:
                        pass

        first = self.status("kills")["life"]
        threads = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
        kills = threading.Thread(target=killer)
        for t in (*threads, kills):
            t.start()
        for t in threads:
            t.join()
        killing.set()
        kills.join()
        self.assertEqual(wrong, [])
        self.assertEqual(sum(done.values()), calls[0], done)
        self.assertGreater(done.get("result", 0), 0, done)
        self.assertLess(done["result"], calls[0], "no call was under way when the host was killed")
        self.hostsup("wait", "kills", "--state", "running")
        self.assertGreater(self.status("kills")["life"], first)
        self.assertEqual(json.loads(self.hostsup("call", "kills", "echo", "1")), 1)

    def test_stop_is_graceful(self) -> None:
        self.hostsup("restart", "fd")
        last = self.status("fd")["last_exit"]
        self.assertEqual((last["code"], last["signal"]), (0, None))
