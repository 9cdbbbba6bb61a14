// One Chromium for all stories of a test run. Each line of standard input starts a story, `{"id","story":"file/name","with":{…}}`, and each
// line of standard output says how one ended, `{"id","ok":…}` or `{"id","failed":"why"}`, or asks the test for something that only the
// test can do, `{"id","ask":"cut"}`, which it answers with `{"id","answer":…}`. When standard input ends, so does the browser.
//
// node browser.mjs NODE_MODULES CHROMIUM PICTURES
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { Story } from "./story.mjs";

const [modules, chromium, pictures] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const playwright = require("playwright-core");
const tools = { playwright, axe: require.resolve("axe-core/axe.min.js"), pictures };

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await playwright.chromium.launch({ executablePath: chromium, headless: true, args: flags });
browser.on("disconnected", () => process.exit(1));

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const waiting = new Map();

async function tell({ id, story, with: given }) {
  const [file, name] = story.split("/");
  const told = new Story(browser, tools, story, given, (what) => {
    say({ id, ask: what });
    return new Promise((answered) => waiting.set(id, answered));
  });
  try {
    const stories = await import(`./stories/${file}.mjs`);
    if (!stories[name]) throw new Error(`there is no story ${story}`);
    const ok = await stories[name](told, given);
    told.expectQuiet();
    say({ id, ok: ok ?? null });
  } catch (error) {
    const seen = await told.lastSeen().catch((problem) => `nothing can be seen: ${problem}`);
    say({ id, failed: `${error.stack ?? error}\n${seen}` });
  } finally {
    await told.end().catch(() => {});
  }
}

say({ ready: browser.version() });
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  if ("answer" in asked) waiting.get(asked.id)?.(asked.answer);
  else tell(asked);
});
lines.on("close", async () => {
  browser.removeAllListeners("disconnected");
  await browser.close();
  process.exit(0);
});
