import assert from "node:assert/strict";
import { api, until } from "../story.mjs";

/** Types a sentence and sends it. */
async function add(page, sentence) {
  await page.locator("#sentence").fill(sentence);
  await page.keyboard.press("Enter");
  await page.locator(".toast").waitFor();
}

export async function createAndFire(story) {
  const page = await story.signedIn();
  await page.locator("body.is-live").waitFor();
  await add(page, "water the plants in 2 seconds");
  await page.locator("#day li", { hasText: "water the plants" }).waitFor();
  assert.equal(await page.locator("#sentence").inputValue(), "", "the field is ready for the next");
  // Nobody reloads: the row passes the now line by itself.
  const past = page.locator("#day li.past", { hasText: "water the plants" });
  await past.waitFor();
  assert.match(await past.innerText(), /ms/, "how late it was is said");
}

/** While somebody types, the words of the time are marked, and the time is said back once with its next instants. */
export async function understoodWhileTyping(story, given) {
  const page = await story.signedIn();
  await page.locator("#sentence").pressSequentially("call the dentist every friday at 9:30");
  const said = page.locator("#said");
  await said.locator(".num", { hasText: "9:30" }).waitFor();
  await until("the words of the time are marked", async () => (await page.locator(".over mark").allInnerTexts()).join("").trim() === "every friday at 9:30");
  await story.picture(page, "today-typing");
  const { timezone } = await api(given, "GET", "/v1/settings");
  const words = await said.innerText();
  assert.equal(words.split(timezone).length - 1, 1, `the zone is said once: ${words}`);
  assert.equal((await said.locator(".num").innerText()).split(" · ").length, 5, "five instants are said");
  assert.equal((await api(given, "GET", "/v1/reminders")).reminders.length, 0, "typing makes nothing");
}

export async function notUnderstood(story, given) {
  const page = await story.signedIn();
  await page.locator("#sentence").fill("call the dentist");
  await page.keyboard.press("Enter");
  await page.locator(".problem").first().waitFor();
  assert.equal(await page.locator("#sentence").inputValue(), "call the dentist", "what was typed is still there");
  const { reminders } = await api(given, "GET", "/v1/reminders");
  assert.equal(reminders.length, 0);
}

/** Today shows every run of the week, and the next run however far it is. */
export async function week(story, given) {
  const page = await story.signedIn();
  await page.locator(".empty").waitFor();
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Pay the rent", schedule: { type: "once", at: "20d" } });
  await page.reload();
  await page.locator("#day li", { hasText: "Pay the rent" }).waitFor();
  assert.equal(await page.locator(".empty").count(), 0, "somebody with a reminder is not taught");
  // Two that are due daily, one that is due very often.
  await api(given, "PUT", "/v1/users/me", { timezone: "UTC", quiet_hours: { from: "22:00", to: "07:00" } });
  for (const [message, schedule] of [["Stretch", { type: "daily", time: "09:30" }], ["Lock the door", { type: "daily", time: "23:30" }], ["Drink", { type: "interval", every: "2h" }]]) {
    await api(given, "POST", "/v1/reminders", { user: "me", message, schedule });
  }
  await page.reload();
  const rows = (text) => page.locator("#day li:not(.past)", { hasText: text });
  assert.equal(await rows("Stretch").count(), 7);
  assert.equal(await rows("Drink").count(), 1);
  assert.match(await rows("Drink").innerText(), /then 83 more until/);
  assert.match(await rows("Lock the door").first().innerText(), /☾[^]*waits until .*07:00/);
  await story.picture(page, "today-week");
  // More than a page.
  const reminders = Array.from({ length: 12 }, (_, n) => ({ user: "me", message: `Daily ${n}`, schedule: { type: "daily", time: "12:00" } }));
  await api(given, "POST", "/v1/reminders/batch", { reminders });
  await page.reload();
  const first = await page.locator("#day li:not(.now):not(.hour):not(.past) .what").count();
  assert.equal(first, 70);
  await page.locator("#ahead", { hasText: /^29 more until/ }).click();
  await page.getByRole("link", { name: "Sooner" }).waitFor();
  assert.equal(await page.locator("#day li:not(.hour) .what").count(), 29);
}
