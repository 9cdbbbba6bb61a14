"""Follows what happens, across connections that break: `python follow.py [POSITION]`.

It prints each entry of the journal once, with its position. Started again with the last position that it printed, it goes on where it was.
"""

import os
import sys
import time
from collections.abc import Iterator

import httpx

from models import Entry

# A server shows every 15 seconds that it lives.
SILENCE_MAX = 45.0


def connect() -> httpx.Client:
    """The server at PUNCTUAL_URL, with the key PUNCTUAL_API_KEY."""
    url = os.environ.get("PUNCTUAL_URL", "http://127.0.0.1:7373")
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {os.environ['PUNCTUAL_API_KEY']}"})


def newest(server: httpx.Client) -> int:
    """The position of the last entry there is."""
    page = server.get("/v1/audit", params={"order": "newest", "limit": 1}).raise_for_status().json()
    return max((entry["id"] for entry in page["entries"]), default=0)


def follow(server: httpx.Client, after: int) -> Iterator[Entry]:
    """Every entry after a position, once and in order."""
    while True:
        try:
            for position, name, data in _events(server, after):
                after = position
                if data and name != "end":
                    yield Entry.model_validate_json(data)
        except httpx.HTTPStatusError as refused:
            # A server that starts or stops says so; anything else stays wrong.
            if refused.response.status_code < 500:
                raise
        except httpx.TransportError:
            pass
        time.sleep(0.2)


def _events(server: httpx.Client, after: int) -> Iterator[tuple[int, str, str]]:
    """The events of one connection: position, name, data."""
    timeout = httpx.Timeout(10.0, read=SILENCE_MAX)
    with server.stream("GET", "/v1/stream", headers={"Last-Event-ID": str(after)}, timeout=timeout) as stream:
        stream.raise_for_status()
        position, name, data = after, "", ""
        for line in stream.iter_lines():
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "id":
                position = int(value)
            elif field == "event":
                name = value
            elif field == "data":
                data += value
            elif not line:
                # The event is whole: only now its position counts.
                yield position, name, data
                name, data = "", ""


if __name__ == "__main__":
    with connect() as server:
        begin = int(sys.argv[1]) if len(sys.argv) > 1 else newest(server)
        print(f"following after {begin}", flush=True)
        for entry in follow(server, begin):
            print(entry.id, entry.kind, entry.user, flush=True)
