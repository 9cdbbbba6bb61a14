import assert from "node:assert/strict";
import { api, until } from "../story.mjs";

const NAMES = ["one", "two", "three"];

async function ana(given) {
  const addresses = NAMES.map((address) => ({ channel: "console", address }));
  await api(given, "PUT", "/v1/users/ana", { timezone: "Europe/Zagreb", addresses, quiet_hours: { from: "22:00", to: "07:00" } });
}

const order = async (given) => (await api(given, "GET", "/v1/users/ana")).addresses.map(({ address }) => address).join(" ");
const shown = async (page) => (await page.locator(".order .entry .mono").allInnerTexts()).join(" ");
const isOrder = (page, given, wanted) => until(`the order is ${wanted}`, async () => (await order(given)) === wanted && (await shown(page)) === wanted);

export async function sortAddresses(story, given) {
  await ana(given);
  const page = await story.signedIn({ path: "/people/ana" });
  assert.equal(await shown(page), "one two three");
  // With the mouse, as a hand does it: press, move, let go.
  const row = (name) => page.locator(".order > li", { hasText: name });
  const [from, to] = [await row("three").locator(".grip").boundingBox(), await row("one").boundingBox()];
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + 60, to.y + to.height, { steps: 6 });
  await page.mouse.move(to.x + 60, to.y + 4, { steps: 6 });
  await page.mouse.up();
  await isOrder(page, given, "three one two");
  await until("they are numbered anew", async () => (await page.locator(".order .nth").allInnerTexts()).join() === "1,2,3");
  // With keys: twice as fast as somebody can press them.
  await row("three").getByRole("button", { name: /Move down/ }).focus();
  await page.keyboard.press("Alt+ArrowDown");
  await page.keyboard.press("Alt+ArrowDown");
  await isOrder(page, given, "one two three");
  const held = () => page.evaluate(() => document.activeElement.closest(".order > li")?.querySelector(".mono").innerText);
  assert.equal(await held(), "three", "the focus stays on what is moved");
  await page.keyboard.press("Alt+ArrowUp");
  await isOrder(page, given, "one three two");
  await row("two").getByRole("button", { name: /Move up/ }).click();
  await isOrder(page, given, "one two three");
  await row("two").getByRole("button", { name: /Remove/ }).click();
  await isOrder(page, given, "one three");
}

export async function race(story, given) {
  await ana(given);
  const [one, two] = [await story.signedIn({ path: "/people/ana" }), await story.signedIn({ path: "/people/ana" })];
  const quiet = (page) => page.locator("#edit-quiet");
  for (const [page, from] of [[one, "23:00"], [two, "20:15"]]) {
    await quiet(page).locator("summary").click();
    await quiet(page).getByLabel("From").fill(from);
  }
  await quiet(one).getByRole("button", { name: "Save" }).click();
  await one.locator(".toast").waitFor();
  await quiet(two).getByRole("button", { name: "Save" }).click();
  await two.getByRole("alert").getByText("Somebody has changed this").waitFor();
  const from = async () => (await api(given, "GET", "/v1/users/ana")).quiet_hours.from;
  assert.equal(await from(), "23:00", "nobody is overwritten");
  assert.equal(await quiet(two).getByLabel("From").inputValue(), "20:15", "what was typed is still there");
  await quiet(two).getByText("Now it says: 23:00").waitFor();
  await two.getByText("23:00 to 07:00").waitFor();
  await quiet(two).getByRole("button", { name: "Save" }).click();
  await two.locator(".toast").waitFor();
  assert.equal(await from(), "20:15", "somebody who has seen it may go on");
  // Lists are changed as they are: two who sort and add at once lose nothing of each other.
  await one.locator("#add-address summary").click();
  await one.locator("#add-address").getByLabel("Address").fill("four");
  await two.locator(".order > li", { hasText: "three" }).getByRole("button", { name: /Move up/ }).click();
  await isOrder(two, given, "one three two");
  await one.locator("#add-address").getByRole("button", { name: "Add" }).click();
  await isOrder(one, given, "one three two four");
}
