"""Speaks with punctual's WebSocket as any program would: with the `websockets` package."""
import asyncio
import itertools
import json
import os
import sys

import websockets

URL = sys.argv[1]
KEY = {"Authorization": "Bearer " + os.environ["PUNCTUAL_API_KEY"]}
LATER = {"type": "once", "at": "2099-01-01T00:00:00Z"}


async def call(socket, method, **params):
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
    while True:
        message = json.loads(await socket.recv())
        if message.get("id") == method:
            return message
        assert message["method"] in ("journal.entry", "journal.position"), message


async def entry(socket):
    while True:
        message = json.loads(await asyncio.wait_for(socket.recv(), 30))
        if message["method"] == "journal.entry":
            return message["params"]


async def talk():
    async with websockets.connect(URL, additional_headers=KEY) as socket:
        added = (await call(socket, "cron.add", user="ann", text="tea every day at 8"))["result"]
        assert added["summary"].startswith("every day at 08:00"), added
        listed = (await call(socket, "cron.list", user="ann"))["result"]["reminders"]
        assert [reminder["id"] for reminder in listed] == [added["id"]], listed
        assert (await call(socket, "cron.remove", id=added["id"]))["result"] == {"removed": True}
        refused = (await call(socket, "cron.add", user="ann", text="tea"))["error"]
        assert refused["code"] == -32602 and refused["data"]["code"] == "not_understood", refused
        assert (await call(socket, "nope"))["error"]["code"] == -32601
        await socket.send("{")
        assert json.loads(await socket.recv())["error"]["code"] == -32700
        # A ping is answered.
        await asyncio.wait_for(await socket.ping(), 30)
        # A message in many frames is one message.
        whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "parse", "params": {"text": "tomorrow " * 50}})
        await socket.send(whole[at : at + 7] for at in range(0, len(whole), 7))
        assert json.loads(await socket.recv())["id"] == 1


async def refusals():
    for headers, origin, status in [({}, None, 401), (KEY, "https://evil.example", 403)]:
        try:
            async with websockets.connect(URL, additional_headers=headers, origin=origin):
                raise SystemExit("it was let in")
        except websockets.InvalidStatus as refused:
            assert refused.response.status_code == status, refused
    # As a browser shows its key.
    protocols = ["punctual.v1", "punctual.key." + os.environ["PUNCTUAL_API_KEY"]]
    async with websockets.connect(URL, subprotocols=protocols) as socket:
        assert socket.subprotocol == "punctual.v1"
        assert "result" in await call(socket, "cron.list")
    for message, code in [(b"{}", 1003), ("x" * 2_000_000, 1009)]:
        async with websockets.connect(URL, additional_headers=KEY) as socket:
            try:
                await socket.send(message)
                await socket.recv()
                raise SystemExit("it was heard")
            except websockets.ConnectionClosed as closed:
                assert closed.rcvd is not None and closed.rcvd.code == code, closed


async def write(stop):
    written = 0
    async with websockets.connect(URL, additional_headers=KEY) as socket:
        while not stop.is_set():
            batch = [{"user": "bob", "message": "m", "schedule": LATER}] * 5
            assert (await call(socket, "reminders.batch", reminders=batch))["result"]["created"] == 5
            written += 5
            await asyncio.sleep(0.005)
    return written


async def read(stop, after):
    seen, connections = [], 0
    for n in itertools.cycle(range(4)):
        connections += 1
        # Without a bound for what it has not read: above one it stops reading, and so cannot hear that the close was heard.
        async with websockets.connect(URL, additional_headers=KEY, max_queue=None) as socket:
            begun = await call(socket, "journal.subscribe", after=after, user="bob")
            assert begun["result"]["after"] == after, begun
            for _ in range(n):
                after = (await entry(socket))["id"]
                seen.append(after)
            if n == 1:
                # Cut off, without a word.
                socket.transport.abort()
        if connections == 200:
            stop.set()
            return seen, after, connections


async def reconnect():
    async with websockets.connect(URL, additional_headers=KEY) as socket:
        begun = (await call(socket, "journal.subscribe"))["result"]["after"]
    stop = asyncio.Event()
    (seen, after, connections), *written = await asyncio.gather(read(stop, begun), write(stop), write(stop))
    async with websockets.connect(URL, additional_headers=KEY) as socket:
        await call(socket, "journal.subscribe", after=after, user="bob")
        while len(seen) < sum(written):
            seen.append((await entry(socket))["id"])
    assert seen == sorted(set(seen)), "an entry came twice, or out of order"
    return {"n_written": sum(written), "n_read": len(seen), "n_connections": connections}


async def main():
    await talk()
    await refusals()
    print(json.dumps(await reconnect()))


asyncio.run(asyncio.wait_for(main(), 100))
