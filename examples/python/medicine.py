"""Asks for a reminder in a sentence, takes its webhook, answers it, and sees in the journal that it was answered.

The webhook's secret is PUNCTUAL_WEBHOOK_SECRET, the server's own.
"""

import os
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import httpx
from standardwebhooks import Webhook, WebhookVerificationError

from follow import connect, follow, newest
from models import AddressInput, Answer, Reminder, ReminderInput


def create(server: httpx.Client, text: str, hook: str) -> Reminder:
    """Has the server read the sentence. The same Idempotency-Key again makes no second reminder."""
    asked = ReminderInput(text=text, to=[AddressInput(f"webhook:{hook}")], require_ack=True, ack_prompt="Did you take it?")
    body = asked.model_dump(mode="json", exclude_unset=True)
    answer = server.post("/v1/reminders", json=body, headers={"Idempotency-Key": str(uuid.uuid4())})
    if answer.status_code == 422:
        # A problem document (RFC 9457) says what was wrong, in words.
        raise SystemExit(answer.json()["detail"])
    return Reminder.model_validate(answer.raise_for_status().json())


def acknowledge(server: httpx.Client, reminder: str, run: int) -> Reminder:
    """Says that it is done."""
    body = Answer(run=run, text="I took it").model_dump(mode="json", exclude_unset=True)
    answer = server.post(f"/v1/reminders/{reminder}/ack", json=body)
    return Reminder.model_validate(answer.raise_for_status().json())


class Receiver(BaseHTTPRequestHandler):
    """Takes webhooks, and only those that the server has signed."""

    secret = Webhook(os.environ["PUNCTUAL_WEBHOOK_SECRET"])
    due: Queue[dict[str, Any]] = Queue()
    # The same message may come again with the same webhook-id, as after a connection that broke. A program that restarts keeps these in
    # its database.
    seen: set[str] = set()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            self.secret.verify(body, dict(self.headers))
        except WebhookVerificationError:
            return self.answer(401)
        if self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            self.due.put(self.secret.verify(body, dict(self.headers)))
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing about each request."""


def main() -> None:
    receiver = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Receiver)
    Thread(target=receiver.serve_forever, daemon=True).start()
    hook = f"http://127.0.0.1:{receiver.server_port}/hook"
    print(f"listening at {hook}", flush=True)
    with connect() as server:
        before = newest(server)
        reminder = create(server, os.environ.get("TEXT", "take my medicine in 1 second"), hook)
        print(f"created: {reminder.message}, {reminder.summary}", flush=True)
        due = Receiver.due.get(timeout=60)["data"]
        print(f"due: {due['message']}", flush=True)
        for entry in follow(server, before):
            if entry.reminder_id != reminder.id:
                continue
            print(entry.kind, flush=True)
            # The server awaits an answer as soon as it has written down that its message was taken: a moment after that.
            if entry.kind == "reminder.sent":
                acknowledge(server, reminder.id, due["run_number"])
            elif entry.kind == "reminder.acknowledged":
                break


if __name__ == "__main__":
    main()
