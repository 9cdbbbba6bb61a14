import assert from "node:assert/strict";

export async function everywhere(story, { pages, attacks }) {
  const page = await story.signedIn();
  for (const path of pages) {
    const answer = await page.goto(path);
    assert.ok(answer.status() < 500, `${path} is answered ${answer.status()}`);
    assert.equal(new URL(page.url()).origin, new URL(story.given.url).origin, `${path} led elsewhere`);
    const made = await page.evaluate(() => ({
      scripts: [...document.scripts].filter((script) => !/^\/assets\//.test(script.getAttribute("src"))).length,
      handlers: [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith("on"))),
      strange: document.querySelectorAll("iframe, base, object, embed, math, style, img[src=x], form[action^=http], a[href^=javascript]").length,
    }));
    assert.deepEqual(made, { scripts: 0, handlers: [], strange: 0 }, `on ${path} a text became more than a text`);
  }
  // What is typed and said back goes other ways: the script, the toast, the palette.
  await page.goto("/");
  for (const attack of attacks.slice(0, 8)) {
    const understood = page.waitForResponse((answer) => new URL(answer.url()).searchParams.get("text")?.startsWith(attack));
    await page.locator("#sentence").fill(`${attack} tomorrow at 8`);
    await understood;
    await page.locator("#said b").waitFor();
  }
  await page.locator("#sentence").fill(`${attacks[2]} tomorrow at 8`);
  await page.keyboard.press("Enter");
  await page.locator(".toast").waitFor();
  assert.equal(await page.locator("img").count(), 0);
  await page.keyboard.press("Control+k");
  const searched = page.waitForResponse((answer) => new URL(answer.url()).searchParams.get("q") === "alert");
  await page.locator("#palette input").fill("alert");
  await searched;
  await page.locator("#palette li", { hasText: "alert(" }).first().waitFor();
  assert.equal(await page.locator("#palette img, #palette svg, #palette script").count(), 0);
}
