// Every page of the console: as a company of two weeks has it, on a server that has just started, and with ten thousand rows in each list. At four widths
// nothing is wider than the window, cut or under something else, and axe-core finds nothing in both themes. With
// CONSOLE_SCREENSHOTS=docs/images/console it only writes the pictures of the guide.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServedConsole, serveConsole } from "./testing/console.ts";
import { PNG, pictureOf, routesIn, type View, viewsOf } from "./testing/console-views.ts";
import { axeFindings, WITHOUT_TRANSITIONS } from "./testing/judge-page.ts";
import { lengthenLists, ROWS } from "./testing/long-lists.ts";
import { LONG_TASK_MS, tasksDuring } from "./testing/main-thread.ts";
import { layoutFaults } from "./testing/page-layout.ts";
import { showRecordings } from "./testing/sample-recordings.ts";
import { SHOWN, type SimulatedWeeks, simulateWeeks } from "./testing/simulated-weeks.ts";

const DESK = 1_440;
/** The second is a window of 1,280 pixels at 200 %. */
const WIDTHS = [360, 640, 800, DESK, 1_920] as const;
const HEIGHT = 900;
const PICTURES = process.env["CONSOLE_SCREENSHOTS"];
/** Lists and forms draw a part of ten thousand rows: no more than these rows, and elements of all kinds. */
const MOST_ROWS = 400;
const MOST_ELEMENTS = 6_000;

const VIEWS = viewsOf(SHOWN);
const ROUTES: readonly (readonly [string, View])[] = Object.entries(VIEWS);
/** Without an object of their own. */
const PLACES = ROUTES.filter(([route]) => !route.includes("$"));

const ready = async (page: Page): Promise<void> => {
  await page.getByRole("main").getByRole("heading").first().waitFor();
  // Watches go on, so that the network is never idle.
  await expect.poll(() => page.locator(".loading").count()).toBe(0);
};

async function open(page: Page, url: string, width: number): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT });
  await page.goto(url);
  await ready(page);
}

/** Columns and overlays follow the window a moment later. */
const expectGoodLayout = (page: Page): Promise<void> => expect.poll(() => layoutFaults(page)).toEqual([]);

async function expectAccessible(page: Page, name: string): Promise<void> {
  await expect.poll(() => page.getByRole("main").getByRole("heading", { level: 1 }).count()).toBe(1);
  await page.evaluate(axe.source);
  await page.evaluate(WITHOUT_TRANSITIONS);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await axeFindings(page, `${name} ${theme}`)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

async function administratorOf(served: ServedConsole): Promise<Page> {
  const page = await served.openAs(served.platform.adminKey, "/");
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  return page;
}

/** Each test opens a page several times, and ten thousand rows take as long as a busy machine needs. */
const PATIENCE = { timeout: 300_000 };

describe("a company of two weeks", PATIENCE, () => {
  let company: SimulatedWeeks;
  let page: Page;
  beforeAll(async () => {
    company = await simulateWeeks();
    page = await administratorOf(company.served);
    if (PICTURES !== undefined) {
      await nameDirectory(page, company.served.platform.directory);
      await showRecordings(page);
    }
  }, 600_000);
  afterAll(async () => {
    await company?.[Symbol.asyncDispose]();
    expect(company?.served.pageErrors).toEqual([]);
  });
  const urlOf = ({ at }: View): string => company.served.platform.server.url + at;

  test.runIf(PICTURES !== undefined).each(ROUTES)("the pictures of %s", async (_, view) => {
    await open(page, urlOf(view), DESK);
    await expectGoodLayout(page);
    await keepPictures(page, view);
  });

  describe.skipIf(PICTURES !== undefined)("and no picture", () => {
    test("every route of the console is among them", async () => {
      expect(await routesIn(page)).toEqual(Object.keys(VIEWS).sort());
    });

    test.each(ROUTES)("%s is whole at all widths and for axe-core, in both themes", async (route, view) => {
      await open(page, urlOf(view), DESK);
      await expectAccessible(page, route);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: HEIGHT });
        await expectGoodLayout(page);
      }
    });

    describe("with ten thousand rows in each list", () => {
      let long: Page;
      let devtools: CDPSession;
      /** Milliseconds of the processor of the longest tasks, by route and by what was done. */
      const longest: (readonly [what: string, milliseconds: number])[] = [];
      beforeAll(async () => {
        long = await administratorOf(company.served);
        await lengthenLists(long.context());
        devtools = await long.context().newCDPSession(long);
      });
      afterAll(() => {
        longest.sort(([, one], [, other]) => other - one);
        const lines = longest.map(([what, milliseconds]) => `${milliseconds.toFixed(0).padStart(6)} ms ${what}`);
        process.stdout.write(`longest tasks with ${ROWS} rows, of the processor:\n${lines.join("\n")}\n`);
        // A machine with other work has slow caches as well: what a page draws decides, unless the machine is quiet.
        if (process.env["CONSOLE_TASKS"] === undefined) return;
        expect(longest.filter(([, milliseconds]) => milliseconds >= LONG_TASK_MS)).toEqual([]);
      });
      const measured = async (what: string, work: () => Promise<void>): Promise<void> => {
        const [first = Number.NaN] = await tasksDuring(work, devtools);
        longest.push([what, first]);
      };

      test.each(ROUTES)("%s draws a part of them, and is whole at all widths and for axe-core", async (route, view) => {
        await measured(`${route} opens`, () => open(long, urlOf(view), DESK));
        const { rows, elements } = await long.evaluate<{ readonly rows: number; readonly elements: number }>(
          `({ rows: document.querySelectorAll("main tbody tr, main li, main option").length, elements: document.querySelectorAll("*").length })`,
        );
        expect(rows).toBeLessThan(MOST_ROWS);
        expect(elements).toBeLessThan(MOST_ELEMENTS);
        for (const width of WIDTHS) {
          await long.setViewportSize({ width, height: HEIGHT });
          await expectGoodLayout(long);
        }
        await expectAccessible(long, route);
      });

      test.each([
        ["/keys", "Search name, owner or description"],
        ["/clusters", "Search name or project"],
        ["/projects", "Search name"],
        ["/users", "Search name or e-mail"],
        ["/teams", "Search name or member"],
        ["/trust", "Search name, issuer, project or user"],
        ["/access-requests", "Search user, place or reason"],
      ])("%s is sorted and scrolled", async (at, label) => {
        await open(long, company.served.platform.server.url + at, DESK);
        await long.locator("tbody .row-link").first().waitFor();
        await measured(`${at} is sorted and scrolled`, async () => {
          await long.getByLabel(label).pressSequentially("zz");
          await long.locator(".empty, tbody .row-link").first().waitFor();
          await long.getByLabel(label).fill("");
          await long.locator("thead button.sort").first().click();
          await long.evaluate("scrollTo(0, 200_000)");
          await expect.poll(() => long.evaluate<number>("scrollY")).toBeGreaterThan(100_000);
          await long.locator("tbody .row-link").first().waitFor();
          await long.evaluate("scrollTo(0, 0)");
        });
      });

      test("the palette finds one of them", async () => {
        await open(long, company.served.platform.server.url, DESK);
        await measured("the palette", async () => {
          await long.keyboard.press("Control+k");
          await long.getByRole("combobox").pressSequentially("kubeconfig 7777");
          await long.locator("[role=option]").filter({ hasText: "7777" }).first().waitFor();
          await long.keyboard.press("Escape");
          await long.getByRole("dialog").waitFor({ state: "detached" });
        });
      });
    });
  });
});

describe.skipIf(PICTURES !== undefined)("a server that has just started", PATIENCE, () => {
  let served: ServedConsole;
  let page: Page;
  beforeAll(async () => {
    served = await serveConsole({ "audit-log-mode": "blocking" });
    page = await administratorOf(served);
  }, 120_000);
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    expect(served?.pageErrors).toEqual([]);
  });

  test.each(PLACES)("%s is whole with nothing in it", async (route, { at }) => {
    await open(page, served.platform.server.url + at, DESK);
    await expectAccessible(page, route);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      await expectGoodLayout(page);
    }
  });
});

/** The doctor names files of the server: in the directory that the documentation has, not in that of a test. */
const nameDirectory = (page: Page, directory: string): Promise<unknown> =>
  page.context().route("**/doctor", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll(directory, "/var/lib/postern") });
  });

/** The window, in both themes. */
async function keepPictures(page: Page, view: View): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    const path = join(PICTURES ?? "", pictureOf(view, theme));
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
