import assert from "node:assert/strict";
import { signIn } from "../story.mjs";

/** Everything that a form can do, without any script. */
export async function all(story, given) {
  const page = await (await story.person({ javaScriptEnabled: false })).newPage();
  await signIn(page, given.key);
  await page.locator("#sentence").fill("buy bread in 3 hours");
  await page.locator("#sentence").press("Enter");
  await page.locator(".toast").waitFor();
  await page.locator("#day", { hasText: "buy bread" }).waitFor();
  await page.reload();
  assert.equal(await page.locator(".toast").count(), 0, "what was done is said once");
  // A sentence without a time is refused, and stays to be mended.
  await page.locator("#sentence").fill("call the dentist");
  await page.locator("#sentence").press("Enter");
  await page.locator(".toast.problem").waitFor();
  assert.equal(await page.locator("#sentence").inputValue(), "call the dentist");
  await page.locator("#sentence").fill("call the dentist in 4 hours");
  await page.locator("#sentence").press("Enter");
  await page.locator("#day", { hasText: "call the dentist" }).waitFor();
  assert.equal(await page.locator("#sentence").inputValue(), "", "the field is ready for the next");
  await page.locator('form[action="/sign-out"] button').locator("visible=true").first().click();
  await page.waitForURL(/sign-in/);
}
