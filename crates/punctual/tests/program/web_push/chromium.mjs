// Web push in Chromium: this browser becomes an address, a push becomes a notification with buttons, and a press answers the reminder. The push
// service of Chromium's maker is outside, so the subscription is the test's own, and a push is delivered by the DevTools.
//
// node chromium.mjs NODE_MODULES CHROMIUM STORY GIVEN: prints `{"ask":…}` for a push, which comes back as a line, and in the end `{"done":VERSION}` or
// `{"failed":WHY}`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

/** How long anything may take before the story fails, in ms. */
const DEADLINE = 30_000;

const [modules, chromium, story, given] = process.argv.slice(2);
const { chromium: launcher } = createRequire(`${modules}/`)("playwright-core");
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Asks the test for a push. */
async function ask(what) {
  say({ ask: what });
  return JSON.parse((await lines.next()).value);
}

async function until(what, look) {
  const end = Date.now() + DEADLINE;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `it took too long until ${what}`);
    await new Promise((pause) => setTimeout(pause, 20));
  }
}

/** Calls the API as a program does. */
async function api({ url, key }, method, path, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** A page of somebody who has signed in, in a browser that may show notifications. */
async function signedIn(browser, { url, key }, prepare = async () => {}) {
  const context = await browser.newContext({ baseURL: url, locale: "en-GB" });
  context.setDefaultTimeout(DEADLINE);
  await context.grantPermissions(["notifications"], { origin: url });
  await prepare(context);
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.locator("input[type=password]").fill(key);
  await page.locator("main form button[type=submit]").click();
  await page.waitForURL((at) => at.pathname === "/");
  return page;
}

/** Lets the browser subscribe at the push service of the test. */
async function subscribing(context, { subscription }) {
  await context.addInitScript(({ endpoint, keys, key }) => {
    let own = null;
    const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0)).buffer;
    const made = { endpoint, options: { applicationServerKey: bytes(key) }, toJSON: () => ({ endpoint, keys }), unsubscribe: async () => ((own = null), true) };
    PushManager.prototype.getSubscription = async () => own;
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly || applicationServerKey !== key) throw new Error(`subscribed with ${applicationServerKey}`);
      return (own = made);
    };
  }, subscription);
}

/** Delivers pushes to the service worker of a page's origin. */
async function deliverer(page) {
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => null));
  const devtools = await page.context().newCDPSession(page);
  const origin = new URL(page.url()).origin;
  let registrationId;
  devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations.find(({ scopeURL }) => scopeURL.startsWith(origin))?.registrationId ?? registrationId;
  });
  await devtools.send("ServiceWorker.enable");
  await until("the service worker is registered", () => registrationId);
  return (payload) => devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data: JSON.stringify(payload) });
}

function notifications(page) {
  return page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const shown = await registration.getNotifications();
    return shown.map(({ title, body, tag, silent, actions }) => ({ title, body, tag, silent, actions: actions.map(({ title }) => title) }));
  });
}

/** A press on a button of the notification; without an action, on the notification itself. */
async function press(context, action = "") {
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  await worker.evaluate(async (action) => {
    const [notification] = await self.registration.getNotifications();
    self.dispatchEvent(new NotificationEvent("notificationclick", { notification, action }));
  }, action);
}

/** A browser becomes an address, is told, answers, and is an address no more. */
async function browserIsToldAndAnswers(browser, given) {
  const page = await signedIn(browser, given, (context) => subscribing(context, given));
  const context = page.context();
  await page.goto("/browser");
  const control = page.locator("this-browser");
  await control.getByRole("button", { name: "Notify me in this browser" }).click();
  await control.getByText("This browser is one of your addresses.").waitFor();
  const addresses = async () => (await api(given, "GET", `/v1/users/${given.user}`)).addresses;
  assert.deepEqual(await addresses(), [{ channel: "webpush", address: given.address }]);

  const made = await api(given, "POST", "/v1/reminders", { user: given.user, message: "medicine", schedule: { type: "once", at: "0s" }, require_ack: true });
  const deliver = await deliverer(page);
  await deliver(await ask("asked"));
  const [asked] = await until("the notification is shown", async () => (await notifications(page)).length && notifications(page));
  assert.deepEqual([asked.title, asked.body, asked.silent], ["Reminder", "medicine\nDone?", false]);
  assert.deepEqual(asked.actions, ["Done", "In 10 minutes"], "as many as Chromium shows");

  await press(context, "ack");
  const run = async () => (await api(given, "GET", `/v1/reminders/${made.id}/occurrences`)).occurrences[0];
  await until("the press has answered", async () => (await run()).state === "completed");
  const ended = await ask("ended");
  await deliver(ended);
  const said = (shown) => shown.every(({ silent, actions }) => silent && actions.length === 0);
  assert.ok(said(await notifications(page)), "what is left says that it is done, without a sound");
  await until("the notification goes away", async () => (await notifications(page)).length === 0);

  await control.getByRole("button", { name: "Stop notifying this browser" }).click();
  await control.getByRole("button", { name: "Notify me in this browser" }).waitFor();
  assert.deepEqual(await addresses(), []);
}

/** The push service gives the browser another address: the service worker tells the server, with no page open. */
async function browserGetsAnotherAddress(browser, given) {
  const page = await signedIn(browser, given, (context) => subscribing(context, given));
  const context = page.context();
  const other = { channel: "console", address: "" };
  const addresses = async () => (await api(given, "GET", `/v1/users/${given.user}`)).addresses;
  await page.goto("/browser");
  const control = page.locator("this-browser");
  await control.getByRole("button", { name: "Notify me in this browser" }).click();
  await control.getByText("This browser is one of your addresses.").waitFor();
  await api(given, "PUT", `/v1/users/${given.user}`, { addresses: [other, ...(await addresses())] });
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  await page.goto("about:blank");
  /** The browser subscribes as it would at its push service, and its event comes. */
  const changes = (old, next) =>
    worker.evaluate(([old, next]) => {
      const subscription = ({ endpoint, keys }) => ({ toJSON: () => ({ endpoint, keys }) });
      PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
        if (!userVisibleOnly || applicationServerKey !== next.key) throw new Error(`subscribed with ${applicationServerKey}`);
        return subscription(next);
      };
      self.dispatchEvent(Object.assign(new ExtendableEvent("pushsubscriptionchange"), { oldSubscription: old && subscription(old), newSubscription: null }));
    }, [old, next]);
  await changes(given.subscription, given.next);
  const renewed = [other, { channel: "webpush", address: given.nextAddress }];
  await until("the new address stands in the place of the old one", async () => JSON.stringify(await addresses()) === JSON.stringify(renewed));

  // Some browsers do not say which address it was: the new one is added, and the old one is found dead when it is tried.
  await changes(null, given.subscription);
  const both = [{ channel: "webpush", address: given.address }, ...renewed];
  await until("the new address is added", async () => JSON.stringify(await addresses()) === JSON.stringify(both));

  // Nobody speaks for somebody who has signed out.
  await page.goto("/");
  await page.locator('form[action="/sign-out"] button:not([name])').locator("visible=true").first().click();
  await page.waitForURL(/sign-in/);
  const asked = context.waitForEvent("response", (response) => response.url().includes("/sign-in"));
  await changes(given.subscription, given.next);
  await asked;
  assert.deepEqual(await addresses(), both);
}

/** The page can be put on a home screen: Chromium finds nothing missing in its manifest. */
async function pageCanBeInstalled(browser, given) {
  const page = await signedIn(browser, given);
  const devtools = await page.context().newCDPSession(page);
  const { url, errors } = await devtools.send("Page.getAppManifest");
  assert.deepEqual([new URL(url).pathname, errors], ["/manifest.webmanifest", []]);
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  // A window without a history of its own, as tests have, is told so and nothing else.
  assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito"), []);
}

const browser = await launcher.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
const stories = { browserIsToldAndAnswers, browserGetsAnotherAddress, pageCanBeInstalled };
try {
  await stories[story](browser, JSON.parse(given));
  say({ done: browser.version() });
} catch (error) {
  say({ failed: String(error.stack ?? error) });
} finally {
  await browser.close();
  process.exit(0);
}
