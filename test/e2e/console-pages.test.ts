// Every page of the console, as a company of two weeks has it: at four widths nothing is wider than the window, cut or under something else. With
// CONSOLE_SCREENSHOTS=docs/images/console it writes the pictures of the guide.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PNG, pictureOf, type View, viewsOf } from "./testing/console-views.ts";
import { layoutFaults } from "./testing/page-layout.ts";
import { SHOWN, type SimulatedWeeks, simulateWeeks } from "./testing/simulated-weeks.ts";

const WIDTHS = [1_440, 360, 800, 1_920] as const;
const DESK = 1_440;
const HEIGHT = 900;

let company: SimulatedWeeks;
let page: Page;
beforeAll(async () => {
  company = await simulateWeeks();
  page = await company.served.openAs(company.served.platform.adminKey, "/");
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}, 600_000);
afterAll(async () => {
  await company?.[Symbol.asyncDispose]();
  expect(company?.served.pageErrors).toEqual([]);
});

test.each(Object.entries(viewsOf(SHOWN)))("%s is whole at all widths", async (_, view) => {
  await page.setViewportSize({ width: DESK, height: HEIGHT });
  await page.goto(company.served.platform.server.url + view.at);
  await page.getByRole("main").getByRole("heading").first().waitFor();
  // Watches go on, so that the network is never idle.
  await expect.poll(() => page.locator(".loading").count()).toBe(0);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    // Columns and overlays follow the window a moment later.
    await expect.poll(() => layoutFaults(page)).toEqual([]);
    if (width === DESK) await keepPictures(view);
  }
});

/** The window, in both themes. */
async function keepPictures(view: View): Promise<void> {
  const folder = process.env["CONSOLE_SCREENSHOTS"];
  if (folder === undefined) return;
  const devtools = await page.context().newCDPSession(page);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    const path = join(folder, pictureOf(view, theme));
    if (theme === "light" && PNG.has(view.picture)) await page.screenshot({ path });
    else {
      // A fifth of PNG.
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 70 });
      await writeFile(path, Buffer.from(data, "base64"));
    }
  }
  await devtools.detach();
  await page.emulateMedia({ colorScheme: "light" });
}
