// What every story has: pages of its own, and eyes for what must never happen. A page that logs an error, breaks its Content-Security-Policy,
// shows a dialog or asks a foreign host for something fails the story, whatever the story is about.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How long anything may take before a story fails. */
const DEADLINE = 40_000;

export class Story {
  #contexts = [];
  #wrong = [];

  constructor(browser, tools, name, given, ask) {
    Object.assign(this, { browser, tools, name, given, ask });
  }

  /** A browser of somebody's own: nobody else's cookies. */
  async person(options = {}) {
    const context = await this.browser.newContext({ baseURL: this.given.url, viewport: { width: 1100, height: 800 }, timezoneId: "UTC", locale: "en-GB", ...options });
    context.setDefaultTimeout(DEADLINE);
    this.#contexts.push(context);
    const own = new Set([this.given.url, ...(this.given.also ?? [])].map((url) => new URL(url).origin));
    context.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && !own.has(origin)) this.#wrong.push(`a request to ${request.url()}`);
    });
    context.on("console", (message) => {
      const text = message.text();
      // Chromium itself logs every answer that is an error, and every connection that is lost. Whether those are right is the story's affair.
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) this.#wrong.push(`the console says: ${text}`);
    });
    context.on("weberror", (error) => this.#wrong.push(`a script failed: ${error.error()}`));
    context.on("dialog", (dialog) => {
      this.#wrong.push(`a dialog says: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    if (options.javaScriptEnabled !== false) {
      await context.exposeBinding("__broken", (_, what) => void this.#wrong.push(`the Content-Security-Policy was broken: ${what}`));
      await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) => __broken(`${event.violatedDirective} ${event.blockedURI}`)));
    }
    return context;
  }

  /** A page of somebody who is signed in with a key. */
  async signedIn({ key = this.given.key, path = "/", ...options } = {}) {
    const context = await this.person(options);
    const page = await context.newPage();
    await signIn(page, key);
    if (path !== "/") await page.goto(path);
    return page;
  }

  /** Says that something of this kind was meant to happen. */
  forgive(pattern) {
    this.#wrong = this.#wrong.filter((what) => !pattern.test(what));
  }

  expectQuiet() {
    assert.deepEqual(this.#wrong, [], "nothing of this should have happened");
  }

  /** Keeps a picture of a page. */
  async picture(page, name) {
    mkdirSync(this.tools.pictures, { recursive: true });
    const take = () => page.screenshot({ path: join(this.tools.pictures, `${name}.png`), fullPage: true, animations: "disabled" });
    // Chromium on a busy machine now and then cannot take one.
    await take().catch(take);
  }

  /** For a story that failed: where each of its pages was. Their pictures and texts are kept. */
  async lastSeen() {
    const seen = [];
    const folder = join(this.tools.pictures, "failed");
    mkdirSync(folder, { recursive: true });
    for (const page of this.#contexts.flatMap((context) => context.pages())) {
      const file = join(folder, `${this.name.replace("/", "-")}-${seen.length}`);
      await page.screenshot({ path: `${file}.png`, fullPage: true, timeout: 5000 });
      writeFileSync(`${file}.html`, await page.content());
      seen.push(`at ${page.url()}, seen in ${file}.png`);
    }
    return [...seen, ...this.#wrong].join("\n");
  }

  async end() {
    await Promise.all(this.#contexts.map((context) => context.close()));
  }
}

/** Signs in with a key, as a person does. */
export async function signIn(page, key) {
  await page.goto("/sign-in");
  await page.locator("input[type=password]").fill(key);
  await page.locator("main form button[type=submit]").click();
  await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
}

/** Waits until `look` returns something that is true. A page that is left while somebody looks at it shows nothing. */
export async function until(what, look) {
  const end = Date.now() + DEADLINE;
  const left = (error) => { if (!/context was destroyed|navigation/i.test(error.message)) throw error; };
  for (;;) {
    const found = await look().catch(left);
    if (found) return found;
    assert.ok(Date.now() < end, `it took too long until ${what}`);
    await new Promise((pause) => setTimeout(pause, 20));
  }
}

/** Calls the API as a program does. */
export async function api(given, method, path, body, key = given.key) {
  const headers = { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(given.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
