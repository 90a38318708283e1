"""Tests of the handlers: ``python3 -m unittest``. A decorated function stays what it is."""

import unittest

import host


class Handlers(unittest.IsolatedAsyncioTestCase):
    async def test_greet(self):
        self.assertEqual(await host.greet("Ada", None), "hello Ada")

    async def test_count(self):
        self.assertEqual([i async for i in host.count(3, None)], [0, 1, 2])

    def test_work(self):
        self.assertEqual(host.work(0, None), "done")


if __name__ == "__main__":
    unittest.main()
