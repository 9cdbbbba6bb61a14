import assert from "node:assert/strict";
import { api, signIn, until } from "../story.mjs";

const isLive = (page) => page.locator("body.is-live").waitFor();
const isLost = (page) => page.locator("body.is-lost").waitFor();

export async function lostAndHealed(story, given) {
  const page = await story.signedIn();
  await isLive(page);
  await story.ask("kill");
  await isLost(page);
  const said = (await page.locator("#lost").innerText()).trim();
  assert.ok(said.length > 5, "the page says what is the matter");
  await story.picture(page, "today-lost");
  await story.ask("restart");
  await isLive(page);
  const banner = async () => (await page.locator("#lost").innerText()).trim();
  await until("the page says that the connection is back", async () => (await banner()) === "The connection is back.");
  await until("it says so for a moment", async () => (await banner()) === "");
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Healed", schedule: { type: "once", at: "1h" } });
  await page.getByText("Healed").first().waitFor();
}

export async function cutAndHealed(story, { url, key, direct }) {
  const page = await story.signedIn();
  await isLive(page);
  await story.ask("cut");
  await isLost(page);
  await api({ url: direct, key }, "POST", "/v1/reminders", { user: "me", message: "Missed by the page", schedule: { type: "once", at: "1h" } });
  assert.equal(await page.getByText("Missed by the page").count(), 0);
  await story.ask("mend");
  await isLive(page);
  await page.getByText("Missed by the page").first().waitFor();
  story.forgive(/ERR_/);
}

/** The streams that a browser has open. */
function streams(context) {
  const open = new Set();
  context.on("request", (request) => new URL(request.url()).pathname === "/stream" && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) context.on(end, (request) => open.delete(request));
  return open;
}

export async function twoTabs(story, given) {
  const context = await story.person();
  const open = streams(context);
  const one = await context.newPage();
  await signIn(one, given.key);
  await isLive(one);
  const two = await context.newPage();
  await two.goto("/");
  await isLive(two);
  assert.equal(open.size, 1, "both tabs have one stream");
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Seen twice", schedule: { type: "once", at: "1h" } });
  // A tab in the background may wait until it is looked at.
  for (const page of [one, two]) {
    await page.bringToFront();
    await page.getByText("Seen twice").first().waitFor();
  }
  assert.equal(open.size, 1);
}

/** Plain http in a home network is no secure context, and has no locks. */
export async function withoutLocks(story, given) {
  const context = await story.person();
  await context.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  const open = streams(context);
  const pages = [await context.newPage()];
  await signIn(pages[0], given.key);
  await isLive(pages[0]);
  // More tabs than a browser has connections to one server.
  while (pages.length < 8) {
    const page = await context.newPage();
    pages.push(page);
    await page.goto("/");
    await isLive(page);
  }
  assert.equal(open.size, 1, "all tabs have one stream");
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Seen everywhere", schedule: { type: "once", at: "1h" } });
  for (const page of [pages[0], pages[7]]) {
    await page.bringToFront();
    await page.getByText("Seen everywhere").first().waitFor();
  }
  // Without the one that led, another leads.
  const [leads, ...left] = pages;
  await leads.close();
  const streaming = () => [...open].filter((request) => !request.frame().page().isClosed()).length;
  await until("another tab leads", async () => streaming() === 1);
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Seen by the heirs", schedule: { type: "once", at: "1h" } });
  for (const page of [left[0], left[6]]) {
    await page.bringToFront();
    await page.getByText("Seen by the heirs").first().waitFor();
  }
  await until("only one of them leads", async () => streaming() === 1);
}

export async function tabCloses(story, given) {
  const context = await story.person();
  const one = await context.newPage();
  await signIn(one, given.key);
  await isLive(one);
  const two = await context.newPage();
  await two.goto("/");
  await isLive(two);
  const taken = two.waitForRequest((request) => new URL(request.url()).pathname === "/stream");
  await one.close();
  await taken;
  await api(given, "POST", "/v1/reminders", { user: "me", message: "Seen by the heir", schedule: { type: "once", at: "1h" } });
  await two.getByText("Seen by the heir").first().waitFor();
}
