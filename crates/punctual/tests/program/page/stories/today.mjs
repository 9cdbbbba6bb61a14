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
