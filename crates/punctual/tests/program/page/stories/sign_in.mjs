import assert from "node:assert/strict";
import { signIn, until } from "../story.mjs";

const isAtForm = (page) => new URL(page.url()).pathname === "/sign-in";

export async function byLink(story, { link }) {
  const first = await (await story.person()).newPage();
  await first.goto(link);
  assert.equal(new URL(first.url()).pathname, "/", "a link leads to the page");
  assert.ok(!first.url().includes("link="), "the address keeps no secret");
  const second = await (await story.person()).newPage();
  const answer = await second.goto(link);
  assert.equal(answer.status(), 401);
  assert.ok(isAtForm(second));
  await second.getByRole("alert").waitFor();
}

/** A link that is too old, or was never one, leads to the form, which says why and what to do instead. */
export async function oldLink(story, given) {
  await story.ask("eleven minutes later");
  for (const link of [given.link, `${given.url}/sign-in?link=nonsense`]) {
    const page = await (await story.person()).newPage();
    const answer = await page.goto(link);
    assert.equal(answer.status(), 401);
    assert.ok(isAtForm(page));
    await page.getByRole("alert").getByText("does not work any more").waitFor();
    await page.getByText("punctual open").waitFor();
    await page.goto("/");
    assert.ok(isAtForm(page), "nobody is signed in");
    await signIn(page, given.key);
    assert.equal(new URL(page.url()).pathname, "/", "the form beside it works");
  }
}

export async function outEverywhere(story) {
  const [one, two] = [await story.signedIn(), await story.signedIn()];
  await leave(one, "everywhere");
  await two.reload();
  assert.ok(isAtForm(two), "the other browser is signed out too");
}

export async function outHere(story) {
  const [one, two] = [await story.signedIn(), await story.signedIn()];
  await leave(one, "here");
  await one.goto("/");
  assert.ok(isAtForm(one));
  await two.reload();
  assert.ok(!isAtForm(two), "the other browser stays");
}

/** Uses the way out that a wide page shows. */
async function leave(page, where) {
  const button = page.locator(`form[action="/sign-out"] button${where === "everywhere" ? "[name=everywhere]" : ":not([name])"}`);
  await button.locator("visible=true").first().click();
  await page.waitForURL(/sign-in/);
}

export async function twoPeople(story, { ana, marko, ids }) {
  const pages = { ana: await story.signedIn({ key: ana }), marko: await story.signedIn({ key: marko }) };
  const secrets = { ana: "Anas secret", marko: "Markos secret" };
  for (const [who, other, own, foreign] of [["ana", "marko", ids[0], ids[1]], ["marko", "ana", ids[1], ids[0]]]) {
    const page = pages[who];
    for (const path of ["/", "/reminders", "/reminders?q=secret", `/?user=${other}`, `/reminders?user=${other}`, `/reminders/${own}`]) {
      await page.goto(path);
      const text = await page.content();
      assert.ok(!text.includes(secrets[other]), `${who} sees on ${path} what is ${other}'s`);
      if (path === "/" || path.includes(own)) assert.ok(text.includes(secrets[who]), `${who} does not see on ${path} what is ${who}'s`);
    }
    const answer = await page.goto(`/reminders/${foreign}`);
    assert.equal(answer.status(), 404, "another's reminder is not there");
    for (const path of ["/keys", "/settings", "/health"]) {
      await page.goto(path);
      assert.ok(!(await page.content()).includes(secrets[other]));
    }
  }
  // Their streams tell each of their own alone.
  await pages.ana.goto("/");
  await pages.marko.goto("/");
  await until("the pages are live", async () => (await pages.ana.locator("body.is-live").count()) && (await pages.marko.locator("body.is-live").count()));
  await pages.ana.locator("#sentence").fill("Anas secret tea in 3 hours");
  await pages.ana.keyboard.press("Enter");
  await pages.ana.getByText("Anas secret tea").first().waitFor();
  assert.ok(!(await pages.marko.content()).includes("Anas secret"));
}
