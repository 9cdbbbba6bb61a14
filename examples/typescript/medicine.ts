// Asks for a reminder in a sentence, takes its webhook, answers it, and sees in the journal that it was answered.
//
// The webhook's secret is PUNCTUAL_WEBHOOK_SECRET, the server's own.

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { connect, follow, newest, type Server } from "./follow.js";

interface Due {
  data: { reminder_id: string; run_number: number; message: string };
}

/** Has the server read the sentence. The same Idempotency-Key again makes no second reminder. */
async function create(server: Server, sentence: string, hook: string) {
  const { data, error } = await server.POST("/v1/reminders", {
    body: { text: sentence, to: [`webhook:${hook}`], require_ack: true, ack_prompt: "Did you take it?" },
    headers: { "Idempotency-Key": crypto.randomUUID() },
  });
  // A problem document (RFC 9457) says what was wrong, in words.
  if (error) throw new Error(error.detail);
  return data;
}

/** Says that it is done. */
async function acknowledge(server: Server, id: string, run: number) {
  const { error } = await server.POST("/v1/reminders/{id}/{verb}", {
    params: { path: { id, verb: "ack" } },
    body: { run, text: "I took it" },
  });
  if (error) throw new Error(error.detail);
}

const secret = new Webhook(process.env["PUNCTUAL_WEBHOOK_SECRET"] ?? "");
// The same message may come again with the same webhook-id, as after a connection that broke. A program that restarts keeps these in its
// database.
const seen = new Set<string>();

/** What the server has signed; nothing else counts. */
async function verified(request: IncomingMessage): Promise<Due> {
  return secret.verify(await text(request), request.headers as Record<string, string>) as Due;
}

const receiver = createServer(async (request, answer) => {
  try {
    const due = await verified(request);
    const id = String(request.headers["webhook-id"]);
    if (!seen.has(id)) receiver.emit("due", due);
    seen.add(id);
    answer.writeHead(204).end();
  } catch (error) {
    answer.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  }
});
receiver.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1");
await once(receiver, "listening");
const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
console.log(`listening at ${hook}`);

const server = connect();
const before = await newest(server);
const coming = once(receiver, "due") as Promise<[Due]>;
const reminder = await create(server, process.env["TEXT"] ?? "take my medicine in 1 second", hook);
console.log(`created: ${reminder.message}, ${reminder.summary}`);
const [{ data: due }] = await coming;
console.log(`due: ${due.message}`);
for await (const entry of follow(before)) {
  if (entry.reminder_id !== reminder.id) continue;
  console.log(entry.kind);
  // The server awaits an answer as soon as it has written down that its message was taken: a moment after that.
  if (entry.kind === "reminder.sent") await acknowledge(server, reminder.id, due.run_number);
  else if (entry.kind === "reminder.acknowledged") break;
}
receiver.close();
