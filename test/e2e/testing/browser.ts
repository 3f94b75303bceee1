// A real Chromium, and what a person does in it.

import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { chromiumPath } from "../../../tools/test-programs/chromium-path.ts";

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath(), args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** Another person's browser: it has nothing of the others. */
export const newPerson = (browser: Browser): Promise<BrowserContext> => browser.newContext({ ignoreHTTPSErrors: true });

/** At oidc-provider's own pages: any password does. */
export async function signInAtProvider(page: Page, sub: string): Promise<void> {
  await page.waitForSelector("form");
  if ((await page.$('input[name="login"]')) !== null) {
    await page.fill('input[name="login"]', sub);
    await page.fill('input[name="password"]', "any");
    await page.click('button[type="submit"]');
  }
  await page.waitForSelector('form input[name="prompt"][value="consent"]', { state: "attached" });
  await page.click('button[type="submit"]');
}
