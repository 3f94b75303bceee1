// The documentation that the server serves, as its build makes it: every page, every link between them, and how a browser shows them.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { StatusReason } from "@postern/apimachinery/meta/status";
import type { DocumentationBuild } from "@postern/platform/features/documentation/documentation-build";
import { getBytes } from "@postern/platform/testing/get-bytes";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { explanationOf, helpFor } from "../../packages/console/src/components/help-addresses.ts";
import { buildDocumentation } from "../../tools/release/documentation-build.ts";
import { addressOf, documentationSources } from "../../tools/release/documentation-pages.ts";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { newPerson, startBrowser } from "./testing/browser.ts";
import { REPOSITORY } from "./testing/postern-process.ts";

let platform: RunningPlatform;
/** By path, as it was served. */
const pages = new Map<string, string>();

beforeAll(async () => {
  await buildDocumentation();
  const built = pathToFileURL(join(REPOSITORY, "packages/console/dist/documentation.js")).href;
  platform = await startPlatform({}, { loadDocumentation: () => import(built) as Promise<DocumentationBuild> });
  for (let open = ["/docs"]; open.length > 0; ) {
    const texts = await Promise.all(open.map(read));
    for (const [at, path] of open.entries()) pages.set(path, texts[at] ?? "");
    const linked = texts.flatMap(linksOf).map(({ path }) => path);
    open = [...new Set(linked)].filter((path) => /^\/docs(?!.*\.css$)/.test(path) && !pages.has(path));
  }
  // The build compresses all pages together.
}, 180_000);
afterAll(() => platform[Symbol.asyncDispose]());

const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync };

async function read(path: string): Promise<string> {
  const coding = path.length % 2 === 0 ? "br" : "gzip";
  const { status, body } = await getBytes(new URL(path, platform.server.url), { "accept-encoding": coding });
  if (status !== 200) throw new Error(`${path}: ${status}`);
  return String(DECODERS[coding](body));
}

type Link = { readonly path: string; readonly anchor: string };

/** Of this server. `path` is "" for the page itself. */
const linksOf = (text: string): readonly Link[] =>
  [...text.matchAll(/ href="(?!https?:)([^"#]*)#?([^"]*)"/g)].map(([, path = "", anchor = ""]) => ({ path, anchor }));
const idsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id));

it("leads from the index to every page of docs/", async () => {
  const sources = await documentationSources();
  expect(sources.length).toBeGreaterThan(200);
  expect([...pages.keys()].sort()).toEqual([...new Set(sources.map(addressOf))].sort());
});

it("lists every page, with the title that it has", async () => {
  const listed: { readonly path: string; readonly title: string }[] = JSON.parse(await read("/docs/pages.json")).pages;
  expect(listed.map(({ path }) => path).sort()).toEqual([...pages.keys()].sort());
  const titleOf = (text = ""): string => /<title>(.*) · Postern<\/title>/.exec(text)?.[1] ?? "";
  const plain = (text: string): string => text.replaceAll(/&(\w+|#\d+);/g, "");
  const wrong = listed.filter(
    ({ path, title }) => plain(titleOf(pages.get(path))) !== title.replaceAll(/[&<>"']/g, ""),
  );
  expect(wrong).toEqual([]);
});

it("leads from every page to pages and sections that are there", () => {
  const ids = new Map([...pages].map(([path, text]) => [path, idsOf(text)]));
  const dead = [...pages].flatMap(([page, text]) =>
    linksOf(text).flatMap(({ path, anchor }) => {
      if (path === "/" || path.endsWith(".css")) return [];
      const target = ids.get(path === "" ? page : path);
      const isThere = target !== undefined && (anchor === "" || target.has(anchor));
      return isThere ? [] : [`${page}: ${path}#${anchor}`];
    }),
  );
  expect(dead).toEqual([]);
});

it("has one title, no script, no style and no handler on any page, and no anchor twice", () => {
  const faults = [...pages].flatMap(([path, text]) => {
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const isTwice = new Set(ids).size !== ids.length;
    const hasOne = text.split("<h1").length === 2;
    const hasCode = /<(?:script|style|iframe|img|object|form)[\s>]|<[^>]* (?:on\w+|style)=|javascript:/i.test(text);
    return isTwice || !hasOne || hasCode ? [path] : [];
  });
  expect(faults).toEqual([]);
});

it("marks the page in the navigation, and leads to the pages beside it", () => {
  const text = pages.get("/docs/guides/access-keys") ?? "";
  expect(text.split('aria-current="page"').length).toBe(2);
  expect(text).toMatch(/<a href="\/docs\/guides\/access-keys" aria-current="page">/);
  expect(text).toMatch(/rel="prev" .*rel="next" /s);
});

describe("the console", () => {
  const REASONS: { readonly [reason in Exclude<StatusReason, "">]: true } = {
    Unauthorized: true,
    Forbidden: true,
    NotFound: true,
    AlreadyExists: true,
    Conflict: true,
    Invalid: true,
    ServerTimeout: true,
    Timeout: true,
    TooManyRequests: true,
    BadRequest: true,
    MethodNotAllowed: true,
    NotAcceptable: true,
    RequestEntityTooLarge: true,
    UnsupportedMediaType: true,
    InternalError: true,
    Expired: true,
    ServiceUnavailable: true,
    InsufficientStorage: true,
  };

  it("leads from each error to its row", () => {
    const rows = idsOf(pages.get("/docs/reference/errors") ?? "");
    const reasons = Object.keys(REASONS) as StatusReason[];
    const anchors = reasons.map((reason) => explanationOf(new ApiError({ code: 400, reason, message: "" })));
    expect(anchors.filter((address) => !rows.has(address?.split("#")[1] ?? ""))).toEqual([]);
    expect(explanationOf(new Error("no connection"))).toBeUndefined();
  });

  it.each([
    ["/", "/docs/guides/console"],
    ["/keys/ci", "/docs/guides/access-keys"],
    ["/keysx", "/docs/guides/console"],
    ["/access-requests/queue", "/docs/guides/access-on-request"],
    ["/access", "/docs/guides/credential-lifecycle#explain-what-a-key-may-do"],
  ])("explains %s at %s", (path, address) => {
    expect(helpFor(path)).toBe(address);
  });

  it("leads from each of its views to a page and a section that are there", async () => {
    const { CONSOLE_VIEWS } = await import("@postern/platform/features/console/console-route");
    const forms = ["key", "virtual-cluster", "host-cluster", "project", "user", "team", "role", "access-request"];
    const views = [...CONSOLE_VIEWS.filter((view) => view !== "new"), ...forms.map((form) => `new/${form}`)];
    const dead = ["", ...views, "new/trust-rule", "new/identity-provider"].flatMap((view) => {
      const address = helpFor(`/${view}`);
      const [path = "", anchor] = address.split("#");
      const text = pages.get(path);
      if (view !== "" && path === "/docs/guides/console") return [`${view} has no page of its own`];
      return text !== undefined && (anchor === undefined || idsOf(text).has(anchor)) ? [] : [`${view}: ${address}`];
    });
    expect(dead).toEqual([]);
  });
});

/** Long pages take axe-core most of a minute where the machine does other work. */
const JUDGED = namedCasesOf(
  ["/docs", "/docs/guides/access-keys", "/docs/reference/errors", "/docs/none"],
  (path) => path,
  ["/docs", "/docs/none"],
);

it("has no finding of axe-core in both themes, and fits a phone", async () => {
  const browser = await startBrowser();
  const faults: string[] = [];
  try {
    const context = await newPerson(browser);
    const page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().startsWith("Failed to load")) faults.push(message.text());
    });
    for (const path of JUDGED) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(platform.server.url + path);
      await page.evaluate(axe.source);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        // Its other rules find the same in each theme.
        const rules = colorScheme === "light" ? "" : ', { runOnly: ["color-contrast"] }';
        const { violations } = (await page.evaluate(`axe.run(document${rules})`)) as axe.AxeResults;
        faults.push(...violations.map(({ id, nodes }) => `${path} ${colorScheme}: ${id}: ${nodes[0]?.html}`));
      }
      for (const width of [360, 800]) {
        await page.setViewportSize({ width, height: 740 });
        const wide = await page.evaluate("document.documentElement.scrollWidth");
        if (Number(wide) > width) faults.push(`${path}: ${wide} pixels wide in a window of ${width}`);
      }
    }
  } finally {
    await browser.close();
  }
  expect(faults).toEqual([]);
});
