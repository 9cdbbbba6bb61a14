// How soon pages are ready in a real browser, against a server that runs already. By hand:
//
//   node ready.mjs NODE_MODULES CHROMIUM URL KEY [ROUNDS]
//
// With each page: the first byte, the moment its content can be used, the first paint, the end of its loading, and the bytes of all that
// came, in the middle and at the worst of the rounds. Then: how long after a reminder is received by its webhook it is seen on an open page.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { api, signIn } from "./story.mjs";

const [modules, chromium, url, key, rounds = "10"] = process.argv.slice(2);
const { chromium: driver } = createRequire(`${modules}/`)("playwright-core");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await driver.launch({ executablePath: chromium, headless: true, args: flags });
const context = await browser.newContext({ baseURL: url, viewport: { width: 1100, height: 800 } });
const page = await context.newPage();
await signIn(page, key);

const paths = await page.locator("nav a[data-go]").evaluateAll((links) => [...new Set(links.map((link) => link.getAttribute("href")))]);
await page.goto("/reminders");
const one = await page.locator("a.what").first().getAttribute("href");
paths.push(one, "/reminders?q=water");

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const shown = (values) => `${middle(values).toFixed(0)} (${Math.max(...values).toFixed(0)})`;
const table = [];
for (const path of paths) {
  const found = { first: [], ready: [], painted: [], loaded: [], bytes: [] };
  for (let round = 0; round < Number(rounds); round += 1) {
    await page.goto(path, { waitUntil: "load" });
    const timing = await page.evaluate(async () => {
      const [page] = performance.getEntriesByType("navigation");
      const painted = performance.getEntriesByName("first-contentful-paint")[0] ?? (await new Promise((seen) => new PerformanceObserver((list) => seen(list.getEntriesByName("first-contentful-paint")[0])).observe({ type: "paint", buffered: true })));
      const bytes = page.decodedBodySize + performance.getEntriesByType("resource").reduce((sum, one) => sum + one.decodedBodySize, 0);
      return { first: page.responseStart - page.requestStart, ready: page.domContentLoadedEventEnd, painted: painted.startTime, loaded: page.loadEventEnd, bytes };
    });
    for (const name of Object.keys(found)) found[name].push(timing[name]);
  }
  table.push({ path: path.replace(/[0-9a-f-]{36}/, "ID"), "first byte ms": shown(found.first), "ready ms": shown(found.ready), "painted ms": shown(found.painted), "loaded ms": shown(found.loaded), bytes: Math.max(...found.bytes) });
}
console.table(table);

// From the webhook's receipt to the row on the page, by one clock: this process'.
const received = new Map();
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    received.set(JSON.parse(body).data.message, performance.now());
    response.writeHead(204).end();
  });
});
await new Promise((listening) => receiver.listen(0, "127.0.0.1", listening));
const to = [{ channel: "webhook", address: `http://127.0.0.1:${receiver.address().port}/hook` }];
await page.goto("/");
await page.locator("body.is-live").waitFor();
const seen = [];
for (let round = 0; round < Number(rounds); round += 1) {
  const message = `Seen on the page ${Date.now()}`;
  await page.exposeFunction(`seen${round}`, () => seen.push(performance.now() - received.get(message)));
  await page.evaluate(([message, name]) => {
    const look = () => [...document.querySelectorAll("#day li.past")].some((row) => row.textContent.includes(message)) && (watch.disconnect(), window[name]());
    const watch = new MutationObserver(look);
    watch.observe(document.body, { childList: true, subtree: true });
  }, [message, `seen${round}`]);
  await api({ url, key }, "POST", "/v1/reminders", { user: "me", message, to, only: true, schedule: { type: "once", at: "2s" } });
  const end = Date.now() + 10_000;
  while (seen.length <= round && Date.now() < end) await new Promise((pause) => setTimeout(pause, 20));
}
console.log(`from its receipt to the open page: ${shown(seen)} ms, ${seen.length} of ${rounds} seen`);
receiver.close();
await browser.close();
