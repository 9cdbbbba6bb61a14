import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { api } from "../story.mjs";

const name = (path) => (path === "/" ? "today" : path.slice(1).replace(/[0-9a-f-]{36}/, "one").replace(/[^a-z0-9-]+/gi, "-").replace(/^-/, "today-"));

/** What axe has against a page: each rule, and where. */
async function violations(story, page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(readFileSync(story.tools.axe, "utf8"));
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((rule) => `${rule.id} (${rule.help}): ${rule.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} — ${node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message ?? ""}`).join(" | ")}`);
}

export async function axe(story, { pages, items }) {
  const wrong = [];
  const page = await story.signedIn({ bypassCSP: false });
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const path of pages) {
      await page.goto(path);
      for (const one of await violations(story, page)) wrong.push(`${path} (${colorScheme}): ${one}`);
      await story.picture(page, `${items}-${name(path)}-${colorScheme}`);
    }
  }
  assert.deepEqual(wrong, []);
}

/** Pages with everything unfolded, and what stands over them: the palette, the keys, a form that was refused. */
export async function axeUnfolded(story, { pages }) {
  const wrong = [];
  const page = await story.signedIn();
  await page.emulateMedia({ reducedMotion: "reduce" });
  const judge = async (where) => wrong.push(...(await violations(story, page)).map((one) => `${where}: ${one}`));
  for (const path of pages) {
    await page.goto(path);
    for (const one of await page.locator("main details:not([open]) > summary").all()) if (await one.isVisible()) await one.click();
    // What is fetched when it is unfolded has come.
    await page.locator("main details[open] [data-from]").first().waitFor({ state: "detached" });
    await judge(`${path}, unfolded`);
  }
  await page.goto("/");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("re");
  await page.locator("#palette-list li").first().waitFor();
  await judge("the palette");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.locator("dialog#keys[open]").waitFor();
  await judge("the keys");
  await page.goto("/people/me");
  await page.locator("#edit-about summary").click();
  await page.locator("#about-timezone").fill("Europe/Zagrebb");
  await page.locator("#edit-about").getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
  await judge("a form that was refused");
  assert.deepEqual(wrong, []);
}

export async function axeInLanguages(story, given) {
  const wrong = [];
  for (const [locale, said] of given.languages) {
    await api(given, "PUT", "/v1/users/me", { timezone: "Europe/Berlin", language: said });
    const page = await story.signedIn({ locale });
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto("/");
    for (const one of await violations(story, page)) wrong.push(`${said}: ${one}`);
    await story.picture(page, `today-${said}`);
    await page.context().close();
  }
  assert.deepEqual(wrong, []);
}

/** What is wider than the window, and what a thumb would miss. A link within a sentence may be as small as its words. */
function misfits() {
  const wide = document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} px wide`] : [];
  const small = [];
  // A thumb opens what is folded, and then hits what is in it.
  for (const one of document.querySelectorAll("main details")) one.open = true;
  for (const one of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")) {
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height || box.bottom < 0 || one.closest(".unseen") || getComputedStyle(one).visibility === "hidden") continue;
    const isInText = one.tagName === "A" && getComputedStyle(one).display === "inline" && one.parentElement.textContent.trim().length > one.textContent.trim().length;
    if (isInText || (box.height >= 43.5 && box.width >= 43.5)) continue;
    // What is pressed may be larger than what is seen: its label, or the row around it.
    one.scrollIntoView({ block: "center" });
    const { left, top, width, height } = one.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const presses = (x, y) => { const hit = document.elementFromPoint(x, y); return hit && (one.contains(hit) || hit.closest("label")?.control === one); };
    const reach = (dx, dy) => { let n = 0; while (n < 45 && presses(x + dx * (n + 1), y + dy * (n + 1))) n += 1; return n; };
    const tall = height >= 43.5 || reach(0, 1) + reach(0, -1) >= 43, broad = width >= 43.5 || reach(1, 0) + reach(-1, 0) >= 43;
    if (!tall || !broad) small.push(`${one.outerHTML.slice(0, 120)} is ${Math.round(width)} × ${Math.round(height)}`);
  }
  return { wide, small };
}

export async function phone(story, { pages, items }) {
  const wrong = [];
  const page = await story.signedIn({ viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
  for (const path of ["/sign-in", ...pages]) {
    await page.goto(path);
    // The picture first: what is folded is unfolded to be looked at.
    await story.picture(page, `${items}-${name(path)}-phone`);
    const { wide, small } = await page.evaluate(misfits);
    wrong.push(...[...wide, ...small].map((what) => `${path}: ${what}`));
  }
  assert.deepEqual(wrong, []);
}

/** A thumb reaches the form of one instance of a series. */
export async function instance(story, given) {
  const starts = new Date(Date.now() + 86_400_000).toISOString();
  await api(given, "PUT", "/v1/events/club", { starts_at: starts, rrule: "FREQ=WEEKLY", message: "Club", users: ["me"], offsets: [60] });
  const page = await story.signedIn({ path: "/events/club", viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
  await page.locator(".rows details summary").first().tap();
  await page.locator(".rows details input[type=datetime-local]").first().waitFor();
  await story.picture(page, "event-instance-phone");
}

export async function many(story, { pages, items, all }) {
  const wrong = [];
  const looks = [["light", { width: 1100, height: 800 }], ["phone", { width: 320, height: 640 }], ...(all ? [["dark", { width: 1100, height: 800 }]] : [])];
  for (const [look, viewport] of looks) {
    const page = await story.signedIn({ viewport, colorScheme: look === "dark" ? "dark" : "light" });
    for (const path of pages) {
      await page.goto(path);
      if (all || look === "light") await story.picture(page, `${items}-${name(path)}-${look}`);
      for (const what of (await page.evaluate(misfits)).wide) wrong.push(`${path} (${look}): ${what}`);
    }
  }
  assert.deepEqual(wrong, []);
}
