import assert from "node:assert/strict";
import { api, until } from "../story.mjs";

export async function alone(story) {
  const page = await story.signedIn();
  await page.locator("body.is-live").waitFor();
  await page.keyboard.press("n");
  assert.equal(await page.evaluate(() => document.activeElement.id), "sentence");
  await page.keyboard.type("stretch in 2 hours");
  await page.keyboard.press("Enter");
  await page.locator("#day", { hasText: "stretch" }).waitFor();
  await page.evaluate(() => document.activeElement.blur());
  // Pages by their letters.
  await page.keyboard.press("g");
  await page.keyboard.press(await page.locator("nav a[href='/reminders']").first().getAttribute("data-go"));
  await page.waitForURL("**/reminders");
  await page.keyboard.press("?");
  await page.locator("dialog#keys[open]").waitFor();
  assert.ok((await page.locator("dialog#keys kbd").count()) >= 5, "the keys are listed");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog#keys[open]").count(), 0);
}

export async function palette(story) {
  const page = await story.signedIn();
  await page.keyboard.press("Control+k");
  const field = page.locator("#palette input");
  await until("the field has the focus", () => field.evaluate((one) => one === document.activeElement));
  await field.fill("heal");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/health");
  // Escape closes it at once, with words in it and without.
  for (const words of ["", "heal"]) {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(words);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("#palette[open]").count(), 0, `with “${words}”`);
  }
}

/** The palette shows what can be done on the page, by what it is done to, and finds people. */
export async function paletteActs(story, given) {
  await api(given, "PUT", "/v1/users/ana", { timezone: "Europe/Zagreb" });
  for (const message of ["Take the pill", "Close the window"]) await api(given, "POST", "/v1/reminders", { user: "me", message, require_ack: true, schedule: { type: "once", at: "0s" } });
  const page = await story.signedIn();
  await until("both wait", async () => (await page.locator(".ask").count()) === 2);
  const choices = () => page.locator("#palette-list li span").allInnerTexts();
  await page.keyboard.press("Control+k");
  const shown = await choices();
  assert.ok(shown.includes("Today") && shown.some((one) => one.startsWith("Done")), `it opens with pages and with acts: ${shown}`);
  await page.keyboard.type("done");
  assert.deepEqual((await choices()).filter((one) => one.startsWith("Done")).sort(), ["Done · Close the window", "Done · Take the pill"]);
  await page.locator("#palette input").fill("ana");
  await page.locator("#palette-list li", { hasText: "ana" }).first().waitFor();
  await story.picture(page, "palette-people");
  await page.locator("#palette-list li", { hasText: "ana" }).first().click();
  await page.waitForURL("**/people/ana");
}

/** The palette shows what it found although the sentence was read while the search was on its way. */
export async function search(story, given) {
  await api(given, "POST", "/v1/reminders", { user: "me", message: "water the ferns", schedule: { type: "once", at: "2h" } });
  const page = await story.signedIn();
  let letThrough;
  const sentenceIsRead = new Promise((resolve) => (letThrough = resolve));
  await page.route(/\/reminders\?q=ferns/, async (route) => { await sentenceIsRead; await route.continue(); });
  await page.keyboard.press("Control+k");
  const searched = page.waitForRequest(/\/reminders\?q=ferns/);
  await page.locator("#palette input").fill("ferns");
  await searched;
  const understood = page.waitForResponse(/\/add\/understood/);
  await page.locator("#sentence").evaluate((field) => {
    field.value = "call mom tomorrow at 8";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await understood;
  letThrough();
  await page.locator("#palette li", { hasText: "water the ferns" }).waitFor();
}

/** From the form to the way out without a mouse: sign in, add, answer, search, edit, cancel, undo, sign out. */
export async function journey(story, given) {
  const page = await (await story.person()).newPage();
  await page.goto("/sign-in");
  const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const focused = () => page.evaluate(() => { const one = document.activeElement; return one.getAttribute("aria-label") || one.innerText?.trim() || one.name || one.id; });
  /** Goes on with Tab until the focus is on this. */
  const tabTo = async (name) => {
    const passed = [];
    while (!new RegExp(name).test((await focused()) ?? "")) {
      passed.push(await focused());
      assert.ok(passed.length < 80, `Tab does not lead to ${name}: ${passed}`);
      await press("Tab");
    }
  };
  await until("the field for the key has the focus", async () => (await focused()) === "key");
  await page.keyboard.type(given.key);
  await press("Enter");
  await page.locator("body.is-live").waitFor();
  await press("n");
  await page.keyboard.type("stretch every day at 9:30");
  await page.locator("#said b").waitFor();
  await press("Enter");
  await page.locator(".toast").waitFor();
  const [made] = (await api(given, "GET", "/v1/reminders")).reminders;
  const read = () => api(given, "GET", `/v1/reminders/${made.id}`);
  assert.equal(made.message, "stretch");

  // Something waits for an answer: the focus goes there by Tab.
  const pill = await api(given, "POST", "/v1/reminders", { user: "me", message: "Pill", require_ack: true, schedule: { type: "once", at: "0s" } });
  await page.locator(".ask", { hasText: "Pill" }).waitFor();
  await tabTo("^Done$");
  await press("Enter");
  await until("it is done", async () => (await api(given, "GET", `/v1/reminders/${pill.id}`)).last_status === "completed");
  await page.locator(".ask").waitFor({ state: "detached" });

  // To the reminder by the palette, then edit, cancel and undo.
  await press("Control+k");
  await page.keyboard.type("stretch");
  const choice = page.locator("#palette-list li", { hasText: "stretch" }).first();
  await choice.waitFor();
  await story.picture(page, "palette");
  while ((await choice.getAttribute("aria-selected")) !== "true") await press("ArrowDown");
  await press("Enter");
  await page.waitForURL(`**/reminders/${made.id}`);
  await tabTo("^Edit$");
  await press("Enter");
  await tabTo("^message$");
  await press("Control+a");
  await page.keyboard.type("stretch your back");
  await press("Enter");
  await until("the message is another", async () => (await read()).message === "stretch your back");
  await page.getByRole("heading", { name: "stretch your back" }).waitFor();
  await tabTo("^Cancel$");
  await press("Space");
  await page.locator(".toast [data-undo]").waitFor();
  assert.equal((await read()).status, "cancelled");
  await tabTo("^Undo$");
  await press("Enter");
  await until("it is back", async () => (await read()).status === "active");
  // Out, without a mouse either.
  await press("Control+k");
  await page.keyboard.type("reminders");
  await press("Enter");
  await page.waitForURL("**/reminders");
  await tabTo("^Sign out$");
  await press("Enter");
  await page.waitForURL(/sign-in/);
}

/** Walks through a page with Tab. Each stop is seen, has a ring, and stands after the one before. */
export async function focus(story) {
  const page = await story.signedIn();
  for (const path of ["/", "/reminders", "/people", "/health"]) {
    await page.goto(path);
    const seen = new Set();
    const wrong = [];
    for (let n = 0; n < 60; n += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const one = document.activeElement;
        if (!one || one === document.body) return null;
        const box = one.getBoundingClientRect();
        // The ring may be drawn around what the field stands in.
        const around = [one, one.parentElement, one.parentElement?.parentElement, one.parentElement?.parentElement?.parentElement].filter(Boolean);
        const look = () => around.map((part) => { const style = getComputedStyle(part); return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor].join(); }).join(";");
        const focused = look();
        one.blur();
        const ring = look() !== focused;
        one.focus();
        one.dataset.stop ??= String(Math.random());
        return { key: one.dataset.stop, html: one.outerHTML.slice(0, 100), ring, tabindex: one.tabIndex, isSeen: box.width > 0 && box.height > 0 && box.right > 0 };
      });
      if (!stop || seen.has(stop.key)) break;
      seen.add(stop.key);
      if (!stop.ring) wrong.push(`${path}: nothing shows the focus of ${stop.html}`);
      if (!stop.isSeen) wrong.push(`${path}: the focus is on what is not seen, ${stop.html}`);
      if (stop.tabindex > 0) wrong.push(`${path}: ${stop.html} is out of order`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(seen.size > 5, `${path} has ${seen.size} stops`);
  }
  await page.goto("/");
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.getAttribute("href"));
  assert.match(first ?? "", /^#/, "the first stop leads over the navigation to the content");
}
