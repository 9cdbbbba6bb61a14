import assert from "node:assert/strict";
import { api, until } from "../story.mjs";

/** A reminder that waits for an answer on the open page, and what became of its run. */
async function waiting(page, given, message) {
  const made = await api(given, "POST", "/v1/reminders", { user: "me", message, require_ack: true, schedule: { type: "once", at: "0s" } });
  const ask = page.locator(".ask", { hasText: message });
  await ask.waitFor();
  const run = async () => (await api(given, "GET", `/v1/reminders/${made.id}/occurrences`)).occurrences[0];
  return { made, ask, run };
}

/** Answered on the open page: the question goes away by itself. */
async function answered({ ask, run }, state) {
  await ask.waitFor({ state: "detached" });
  const now = await run();
  assert.equal(now.state, state, JSON.stringify(now));
  return now;
}

export async function everyWay(story, given) {
  const page = await story.signedIn();
  await page.locator("body.is-live").waitFor();

  const done = await waiting(page, given, "Take the pill");
  await done.ask.getByRole("button", { name: "Done" }).click();
  const { responses } = await answered(done, "completed");
  assert.deepEqual(responses.map(({ response, user_id }) => [response, user_id]), [["ack", "me"]]);
  await page.locator("#day li.past", { hasText: "Take the pill" }).waitFor();

  // The button that was pressed is gone; its focus is on the page, and not lost.
  await until("the page has the focus", () => page.evaluate(() => document.activeElement.id === "main"));

  const dismissed = await waiting(page, given, "Close the window");
  await dismissed.ask.getByRole("button", { name: "Not needed" }).click();
  await answered(dismissed, "dismissed");

  const snoozed = await waiting(page, given, "Walk the dog");
  await snoozed.ask.getByRole("button", { name: "Snooze 15 min" }).click();
  await answered(snoozed, "snoozed");
  const { snoozed_until } = await api(given, "GET", `/v1/reminders/${snoozed.made.id}`);
  const minutes = (new Date(snoozed_until) - Date.now()) / 60_000;
  assert.ok(minutes > 13 && minutes <= 15, `it comes again in ${minutes} minutes`);
  await page.locator("#day li:not(.past)", { hasText: "Walk the dog" }).waitFor();

  // In words; words that say no time change nothing.
  const phrase = await waiting(page, given, "Pay the rent");
  await phrase.ask.locator("summary").click();
  await phrase.ask.getByLabel("Snooze until").fill("when hell freezes over");
  await phrase.ask.getByRole("button", { name: "Snooze", exact: true }).click();
  await page.locator(".toast.problem").waitFor();
  assert.equal((await phrase.run()).state, "awaiting_ack");
  assert.equal(await phrase.ask.getByLabel("Snooze until").inputValue(), "when hell freezes over", "what was typed is still there");
  await phrase.ask.getByLabel("Snooze until").fill("tomorrow at 7:30");
  await phrase.ask.getByRole("button", { name: "Snooze", exact: true }).click();
  await answered(phrase, "snoozed");
  const until730 = (await api(given, "GET", `/v1/reminders/${phrase.made.id}`)).snoozed_until;
  assert.match(until730, /T07:30:00Z$/);
  assert.ok(new Date(until730) > Date.now());
}

/** What the API has of a run is fetched when somebody unfolds it, and is a page of its own without a script. */
export async function raw(story, given) {
  const made = await api(given, "POST", "/v1/reminders", { user: "me", message: "Take the pill", require_ack: true, schedule: { type: "once", at: "0s" } });
  const path = `/reminders/${made.id}`;
  await until("it waits", async () => (await api(given, "GET", `/v1${path}`)).last_status === "awaiting_ack");
  for (const javaScriptEnabled of [true, false]) {
    const page = await story.signedIn({ path, javaScriptEnabled });
    assert.equal(await page.locator("pre").count(), 0, "it is not in the page");
    await page.locator("#raw-1 summary").click();
    if (!javaScriptEnabled) await page.locator("#raw-1 a").click();
    await page.locator("pre", { hasText: '"run_number": 1' }).waitFor();
    assert.equal(new URL(page.url()).pathname === path, javaScriptEnabled);
  }
}

/** What was answered on the phone goes away on the open page. */
export async function elsewhere(story, given) {
  const page = await story.signedIn();
  await page.locator("body.is-live").waitFor();
  const pill = await waiting(page, given, "Take the pill");
  await api(given, "POST", `/v1/reminders/${pill.made.id}/ack`, {});
  await answered(pill, "completed");
}

/** Today's earlier runs are unfolded where they stand, also without a script. */
export async function earlier(story, given) {
  const messages = Array.from({ length: 9 }, (_, n) => `Errand ${n}`);
  await api(given, "POST", "/v1/reminders/batch", { reminders: messages.map((message) => ({ user: "me", message, schedule: { type: "once", at: "0s" } })) });
  await until("all were sent", async () => (await api(given, "GET", "/v1/occurrences?user=me&status=delivered")).runs.length === messages.length);
  for (const javaScriptEnabled of [true, false]) {
    const page = await story.signedIn({ javaScriptEnabled });
    const past = page.locator("#day li.past:not(.earlier)");
    assert.equal(await past.count(), 6);
    await page.getByRole("link", { name: "3 earlier today" }).click();
    await page.getByRole("link", { name: "Show fewer" }).waitFor();
    assert.equal(new URL(page.url()).pathname, "/", "it is still Today");
    assert.deepEqual((await past.locator(".what").allInnerTexts()).sort(), messages);
    await page.getByRole("link", { name: "Show fewer" }).click();
    await page.getByRole("link", { name: "3 earlier today" }).waitFor();
    assert.equal(await past.count(), 6);
  }
}

/** Every run of a full day is reached, page by page. */
export async function full(story, given) {
  const messages = Array.from({ length: 170 }, (_, n) => `Errand ${n}`).sort();
  await api(given, "POST", "/v1/reminders/batch", { reminders: messages.map((message) => ({ user: "me", message, schedule: { type: "once", at: "0s" } })) });
  await until("all were sent", async () => (await api(given, "GET", "/v1/occurrences?user=me&status=delivered&limit=500")).runs.length === messages.length);
  const page = await story.signedIn();
  const shown = () => page.locator("#day li.past:not(.earlier) .what").allInnerTexts();
  await page.getByRole("link", { name: "164 earlier today" }).click();
  await page.getByRole("link", { name: "Show fewer" }).waitFor();
  const all = await shown();
  assert.equal(all.length, 70);
  for (const n of [70, 30]) {
    const was = page.url();
    await page.getByRole("link", { name: "Earlier still" }).click();
    await page.waitForURL((url) => url.href !== was);
    await page.getByRole("link", { name: "Later today" }).waitFor();
    const more = await shown();
    assert.equal(more.length, n);
    all.push(...more);
  }
  assert.deepEqual(all.sort(), messages, "each stands on one page");
  assert.equal(await page.getByRole("link", { name: "Earlier still" }).count(), 0);
  await page.getByRole("link", { name: "Later today" }).click();
  await page.waitForURL(/earlier=all/);
}
