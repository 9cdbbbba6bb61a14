import assert from "node:assert/strict";
import { api, until } from "../story.mjs";

const make = (given, message, more = {}) => api(given, "POST", "/v1/reminders", { user: "me", message, schedule: { type: "once", at: "3h" }, ...more });
const read = (given, { id }) => api(given, "GET", `/v1/reminders/${id}`);
const row = (page, { id }) => page.locator(`#found li[data-id="${id}"]`);
const said = (page) => page.locator(".toast span").first();

/** Opens what can be done to a reminder, where it stands in the list. */
async function open(page, reminder) {
  const tools = row(page, reminder).locator("details.do");
  await tools.locator("summary").click();
  await tools.locator("button").first().waitFor();
  return tools;
}

export async function editInPlace(story, given) {
  const milk = await make(given, "Buy milk");
  const other = await make(given, "Feed the cat");
  const page = await story.signedIn({ path: "/reminders" });
  let tools = await open(page, milk);
  await tools.getByLabel("What").fill("Buy oat milk");
  await tools.getByLabel("When").fill("every friday at 9:15");
  await tools.getByLabel("Priority").selectOption("high");
  await story.picture(page, "reminders-edit");
  await tools.getByRole("button", { name: "Save" }).click();
  await said(page).getByText("Changed “Buy oat milk”").waitFor();
  assert.equal(new URL(page.url()).pathname, "/reminders", "the list is still there");
  assert.match(await row(page, milk).innerText(), /Buy oat milk[^]*9:15/);
  const now = await read(given, milk);
  assert.equal(now.message, "Buy oat milk");
  assert.equal(now.priority, "high");
  assert.notEqual(now.schedule.type, "once");
  // A time that is none changes nothing, and what was typed stays to be mended.
  tools = await open(page, milk);
  await tools.getByLabel("What").fill("Buy soy milk");
  await tools.getByLabel("When").fill("when pigs fly");
  await tools.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("What").inputValue(), "Buy soy milk");
  assert.equal(await page.getByLabel("When").inputValue(), "when pigs fly");
  assert.deepEqual(await read(given, milk), now);
  await page.getByLabel("When").fill("tomorrow at 7:40");
  await page.getByRole("button", { name: "Save" }).click();
  await said(page).getByText("Buy soy milk").waitFor();
  assert.equal(new URL(page.url()).pathname, "/reminders", "a mended form leads back to the list");
  assert.match(await row(page, milk).innerText(), /Buy soy milk[^]*07:40/);
  assert.equal((await read(given, other)).message, "Feed the cat");
}

export async function cancelAndUndo(story, given) {
  const call = await make(given, "Call the bank");
  const page = await story.signedIn({ path: "/reminders" });
  await (await open(page, call)).getByRole("button", { name: "Cancel", exact: true }).click();
  await said(page).getByText("Cancelled “Call the bank”").waitFor();
  assert.equal((await read(given, call)).status, "cancelled");
  await page.locator(".toast [data-undo]").click();
  await said(page).getByText("“Call the bank” is back").waitFor();
  const back = await read(given, call);
  assert.deepEqual([back.status, back.next_run_at], ["active", call.next_run_at]);
  // The same with the key, on the reminder's own page.
  await page.goto(`/reminders/${call.id}`);
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  assert.equal((await read(given, call)).status, "paused");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("z");
  await page.getByRole("button", { name: "Pause" }).waitFor();
  assert.equal((await read(given, call)).status, "active");
}

export async function search(story, given) {
  for (const message of ["Call the dentist", "Water the plants", "Dental floss"]) await make(given, message, { tags: [message.startsWith("D") ? "shop" : "home"] });
  const page = await story.signedIn({ path: "/reminders" });
  const found = page.locator("#found a.what");
  const shows = (names) => until(`the list is ${names}`, async () => (await found.allInnerTexts()).sort().join() === names.join());
  await shows(["Call the dentist", "Dental floss", "Water the plants"]);
  assert.match(await page.locator("#found [role=status]").innerText(), /all 3/);
  // Nobody presses Enter.
  await page.keyboard.press("/");
  await page.keyboard.type("dentist");
  await shows(["Call the dentist"]);
  // The address can be shared.
  await page.waitForURL((url) => url.searchParams.get("q") === "dentist");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q", "somebody goes on typing");
  const again = await page.context().newPage();
  await again.goto(page.url());
  assert.deepEqual(await again.locator("#found a.what").allInnerTexts(), ["Call the dentist"]);
  await page.locator("#q").fill("");
  await shows(["Call the dentist", "Dental floss", "Water the plants"]);
  await page.locator("#found").getByRole("link", { name: "#shop" }).click();
  await page.waitForURL((url) => url.searchParams.get("tag") === "shop");
  await shows(["Dental floss"]);
}

export async function many(story, given) {
  const reminders = [];
  for (const message of ["One", "Two", "Three"]) reminders.push(await make(given, message, { schedule: { type: "daily", time: "09:00" } }));
  const [one, two, three] = reminders;
  const statuses = async () => Promise.all(reminders.map(async (reminder) => (await read(given, reminder)).status));
  const page = await story.signedIn({ path: "/reminders" });
  const bar = page.locator(".many");
  assert.ok(!(await bar.isVisible()), "there is no bar before something is chosen");
  await row(page, one).getByRole("checkbox").check();
  await row(page, three).getByRole("checkbox").check();
  assert.equal(await bar.locator("[data-count]").innerText(), "2");
  await story.picture(page, "reminders-many");
  await bar.getByRole("button", { name: "Pause" }).click();
  await said(page).getByText("2 reminders paused.").waitFor();
  assert.deepEqual(await statuses(), ["paused", "active", "paused"]);
  // What cannot be done to one leaves the others alone, and is said.
  await row(page, two).getByRole("checkbox").check();
  await bar.getByRole("checkbox").check();
  assert.equal(await bar.locator("[data-count]").innerText(), "3");
  await bar.getByRole("button", { name: "Cancel", exact: true }).click();
  await said(page).getByText("3 reminders cancelled.").waitFor();
  assert.deepEqual(await statuses(), ["cancelled", "cancelled", "cancelled"]);
  await page.locator(".toast [data-undo]").click();
  await said(page).getByText("3 reminders are back.").waitFor();
  assert.ok(!(await statuses()).includes("cancelled"), "all are back");
}

/** The answer to the first letters comes after that to all of them, and changes nothing any more. */
export async function slowSearch(story, given) {
  for (const message of ["Call the dentist", "Water the plants"]) await make(given, message);
  const page = await story.signedIn({ path: "/reminders" });
  let letThrough;
  const isLate = new Promise((resolve) => (letThrough = resolve));
  await page.route(/\/reminders\?q=wat$/, async (route) => { await isLate; await route.continue(); });
  const first = page.waitForRequest(/\/reminders\?q=wat$/);
  await page.locator("#q").fill("wat");
  await first;
  await page.locator("#q").fill("dentist");
  const found = page.locator("#found a.what");
  await until("the list is of the last words", async () => (await found.allInnerTexts()).join() === "Call the dentist");
  const late = page.waitForResponse(/\/reminders\?q=wat$/);
  letThrough();
  await (await late).finished();
  await page.waitForTimeout(200);
  assert.deepEqual(await found.allInnerTexts(), ["Call the dentist"]);
  assert.equal(new URL(page.url()).searchParams.get("q"), "dentist");
}

/** What is over has nothing to edit; what failed is sent again, and what waits for an answer has its chip. */
export async function over(story, given) {
  const nobody = { to: [{ channel: "webhook", address: "http://127.0.0.1:9/nobody" }], only: true, max_retries: 0 };
  const failed = await make(given, "Backup finished?", { schedule: { type: "once", at: "0s" }, ...nobody });
  const asked = await make(given, "Take the pill", { schedule: { type: "once", at: "0s" }, require_ack: true });
  await until("one has failed", async () => (await read(given, failed)).last_status === "failed");
  await until("one waits", async () => (await read(given, asked)).last_status === "awaiting_ack");
  const page = await story.signedIn({ path: "/reminders" });
  assert.equal(await row(page, failed).locator("details.do").count(), 0, "there is nothing to edit");
  assert.match(await row(page, asked).innerText(), /waits for an answer/);
  await row(page, failed).getByRole("button", { name: "Send again" }).click();
  await said(page).getByText("“Backup finished?” is sent again.").waitFor();
  await page.getByRole("link", { name: "waits for an answer" }).click();
  await page.waitForURL((url) => url.searchParams.get("status") === "awaiting_ack");
  assert.deepEqual(await page.locator("#found a.what").allInnerTexts(), ["Take the pill"]);
}

/** More than a page of one's own are counted. */
export async function counted(story, given) {
  const reminders = Array.from({ length: 45 }, (_, n) => ({ user: "me", message: `Number ${n}`, schedule: { type: "daily", time: "09:00" } }));
  await api(given, "POST", "/v1/reminders/batch", { reminders });
  const page = await story.signedIn({ path: "/reminders" });
  assert.match(await page.locator("#found [role=status]").innerText(), /^Showing \d+ of 45$/);
}

/** Two people change the same reminder; a run in between disturbs nobody. */
export async function race(story, given) {
  const tea = await make(given, "Make tea", { schedule: { type: "daily", time: "09:00" } });
  const [one, two] = [await story.signedIn({ path: "/reminders" }), await story.signedIn({ path: "/reminders" })];
  const [first, second] = [await open(one, tea), await open(two, tea)];
  await first.getByLabel("What").fill("Make green tea");
  await second.getByLabel("What").fill("Make black tea");
  await second.getByLabel("When").fill("every day at 10:00");
  await api(given, "POST", `/v1/reminders/${tea.id}/fire`);
  await until("it has been sent", async () => (await read(given, tea)).total_runs === 1);
  await first.getByRole("button", { name: "Save" }).click();
  await said(one).getByText("Make green tea").waitFor();
  await second.getByRole("button", { name: "Save" }).click();
  await two.getByRole("alert").getByText("Somebody has changed this").waitFor();
  assert.equal((await read(given, tea)).message, "Make green tea", "nobody is overwritten");
  assert.equal(await two.getByLabel("What").inputValue(), "Make black tea");
  assert.equal(await two.getByLabel("When").inputValue(), "every day at 10:00");
  await two.getByText("Now it says: Make green tea").waitFor();
  await two.getByText("Now it says: every day at 09:00").waitFor();
  await story.picture(two, "reminder-overtaken");
  await two.getByRole("button", { name: "Save" }).click();
  await said(two).getByText("Make black tea").waitFor();
  assert.equal((await read(given, tea)).message, "Make black tea", "somebody who has seen it may go on");
}
