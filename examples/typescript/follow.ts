// Follows what happens, across connections that break: `npm run follow [POSITION]`.
//
// It prints each entry of the journal once, with its position. Started again with the last position that it printed, it goes on where it was.

import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./punctual.js";

export type Server = Client<paths>;
export type Entry = components["schemas"]["Entry"];

// A server shows every 15 seconds that it lives.
const SILENCE_MAX_MS = 45_000;

const url = process.env["PUNCTUAL_URL"] ?? "http://127.0.0.1:7373";
const headers = { Authorization: `Bearer ${process.env["PUNCTUAL_API_KEY"]}` };

/** The server at PUNCTUAL_URL, with the key PUNCTUAL_API_KEY. */
export function connect(): Server {
  return createClient<paths>({ baseUrl: url, headers });
}

/** The position of the last entry there is. */
export async function newest(server: Server): Promise<number> {
  const { data, error } = await server.GET("/v1/audit", { params: { query: { order: "newest", limit: 1 } } });
  if (error) throw new Error(error.detail);
  return data.entries[0]?.id ?? 0;
}

/** Every entry after a position, once and in order. */
export async function* follow(after: number): AsyncGenerator<Entry> {
  for (;;) {
    try {
      for await (const { position, name, data } of events(after)) {
        after = position;
        if (data && name !== "end") yield JSON.parse(data) as Entry;
      }
    } catch (broken) {
      if (broken instanceof Refused) throw broken;
    }
    await pause(200);
  }
}

class Refused extends Error {}

/** The events of one connection. */
async function* events(after: number): AsyncGenerator<{ position: number; name: string; data: string }> {
  const silence = new AbortController();
  let alarm = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
  try {
    const answer = await fetch(`${url}/v1/stream`, {
      headers: { ...headers, "Last-Event-ID": String(after) },
      signal: silence.signal,
    });
    // A server that starts or stops says so; anything else stays wrong.
    if (answer.status >= 400 && answer.status < 500) throw new Refused(await answer.text());
    if (!answer.ok || !answer.body) return;
    let [rest, position, name, data] = ["", after, "", ""];
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(alarm);
      alarm = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        if (field === "id") position = Number(value);
        else if (field === "event") name = value ?? "";
        else if (field === "data") data += value ?? "";
        else if (line === "") {
          // The event is whole: only now its position counts.
          yield { position, name, data };
          [name, data] = ["", ""];
        }
      }
    }
  } finally {
    clearTimeout(alarm);
    silence.abort();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const begin = process.argv[2] ? Number(process.argv[2]) : await newest(connect());
  console.log(`following after ${begin}`);
  for await (const entry of follow(begin)) console.log(entry.id, entry.kind, entry.user);
}
