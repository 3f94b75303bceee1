// The console in a real browser: a server with it, a signed-in user, and a record of everything that must not happen in a page.

import type { ConsoleBuild } from "@postern/platform/features/console/console-build";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { newPerson, startBrowser } from "./browser.ts";

/** As the build has written it: see fresh-build.ts. */
export const loadConsole = (): Promise<ConsoleBuild> => import("@postern/console/files");

export type ServedConsole = AsyncDisposable & {
  readonly platform: RunningPlatform;
  readonly browser: Browser;
  /** Errors of all pages: violations of the Content-Security-Policy, and uncaught errors. */
  readonly pageErrors: readonly string[];
  /** A browser of its own, without anybody signed in. */
  open(path: string, options?: Parameters<Browser["newContext"]>[0]): Promise<Page>;
  /** A browser of its own with a signed-in user. */
  openAs(key: string, path: string, options?: Parameters<Browser["newContext"]>[0]): Promise<Page>;
};

export async function serveConsole(
  flags: Parameters<typeof startPlatform>[0] = {},
  surroundings: Parameters<typeof startPlatform>[1] = {},
): Promise<ServedConsole> {
  const platform = await startPlatform(flags, { loadConsole, ...surroundings });
  const browser = await startBrowser();
  const pageErrors: string[] = [];
  const watch = (page: Page): void => {
    page.on("pageerror", (error) => pageErrors.push(`${page.url()}: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      // Refusals that a test provokes are written there as well.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        pageErrors.push(`${page.url()}: ${message.text()}`);
    });
  };
  const contextOf = async (options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> => {
    const context = options === undefined ? await newPerson(browser) : await newPersonWith(browser, options);
    context.on("page", watch);
    return context;
  };
  const open: ServedConsole["open"] = async (path, options) => {
    const page = await (await contextOf(options)).newPage();
    await page.goto(platform.server.url + path);
    return page;
  };
  return {
    platform,
    browser,
    pageErrors,
    open,
    async openAs(key, path, options) {
      const page = await open(path, options);
      await signInAs(page, key);
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await platform[Symbol.asyncDispose]();
    },
  };
}

/** Ends it at the end of a file: nothing may have happened in a page that must not. */
export async function closeConsole(served: ServedConsole | undefined): Promise<void> {
  await served?.[Symbol.asyncDispose]();
  expect(served?.pageErrors).toEqual([]);
}

const newPersonWith = (browser: Browser, options: Parameters<Browser["newContext"]>[0]): Promise<BrowserContext> =>
  browser.newContext({ ignoreHTTPSErrors: true, ...options });

export async function signInAs(page: Page, key: string): Promise<void> {
  await page.getByLabel("Access key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator("#main").waitFor();
}
