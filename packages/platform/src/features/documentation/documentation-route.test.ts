// Requests below /docs: what is served to whom, with which headers. All pages of a real build are in test/e2e/documentation.test.ts.

import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getBytes } from "../../testing/get-bytes.ts";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";
import { ONE_THREAD } from "../../testing/threads-of-tests.ts";

const ARTICLE = "<article><h1>CI jobs</h1><p>é</p></article>";
const HEAD = {
  navigation: [{ title: "Guides", pages: [{ path: "/docs/guides/ci", title: "CI & jobs" }] }],
  places: { "/docs/guides/ci": { title: "CI jobs", from: 0, to: Buffer.byteLength(ARTICLE) } },
};

let loads = 0;
const loadDocumentation = async () => {
  if (++loads === 1) throw new Error("the first time it is not there yet");
  return {
    documents: brotliCompressSync(`${JSON.stringify(HEAD)}\n${ARTICLE}<article>another</article>`).toString("base64"),
    styles: { system: "a{color:gray}", light: "a{color:white}", dark: "a{color:black}" },
  };
};

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform(ONE_THREAD, { loadDocumentation });
});
afterAll(() => platform[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  platform.send({ path, key: "", method, headers });

it("loads the pages for the first request, and again where that failed", async () => {
  expect(loads).toBe(0);
  expect((await get("/docs/guides/ci")).status).toBe(500);
  expect((await get("/docs/guides/ci")).status).toBe(200);
  expect((await get("/docs/guides/ci/")).status).toBe(200);
  expect(loads).toBe(2);
});

it("serves a page with the navigation around it, whatever the client accepts, and without a credential", async () => {
  const { status, headers, text } = await get("/docs/guides/ci", { accept: "application/json" });
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(text).toContain(ARTICLE);
  expect(text).not.toContain("another");
  expect(text).toContain('<a href="/docs/guides/ci" aria-current="page">CI &amp; jobs</a>');
  expect(text).toContain("<title>CI jobs · Postern</title>");
});

it("lists the pages with their titles, for searches", async () => {
  const { status, headers, body } = await get("/docs/pages.json");
  expect([status, headers["content-type"], headers["vary"]]).toEqual([200, "application/json", "Accept-Encoding"]);
  expect(body).toEqual({ pages: [{ path: "/docs/guides/ci", title: "CI jobs" }] });
});

it("allows no script, no frame and nothing from elsewhere", async () => {
  const { headers } = await get("/docs/guides/ci");
  const policy = String(headers["content-security-policy"]).split("; ");
  expect(policy).toEqual([
    "default-src 'none'",
    "style-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers).toMatchObject({
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  });
});

it.each(["/docs/none", "/docs/toString", "/docs/guides/ci/more", "/docs/__proto__"])(
  "answers %s with a page that says there is none",
  async (path) => {
    const { status, headers, text } = await get(path, { "if-none-match": "*" });
    expect([status, headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain("Page not found");
  },
);

it("takes GET and HEAD alone", async () => {
  expect((await get("/docs/guides/ci", {}, "HEAD")).text).toBe("");
  const { status, body } = await get("/docs/guides/ci", {}, "POST");
  expect([status, body.kind]).toEqual([404, "Status"]);
});

it.each(["/docsx", "/doc", "/apis/docs"])("leaves %s to the API", async (path) => {
  expect((await get(path)).body.kind).toBe("Status");
});

it("sends a page and its style once", async () => {
  for (const path of ["/docs/guides/ci", "/docs/style.css", "/docs/pages.json"]) {
    const etag = String((await get(path)).headers["etag"]);
    const again = await get(path, { "if-none-match": `"other", W/${etag}` });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
  }
});

describe("the style", () => {
  it.each([
    ["", "a{color:gray}"],
    ["__Host-theme=dark", "a{color:black}"],
    ["__Host-theme=light", "a{color:white}"],
    ["__Host-theme=constructor", "a{color:gray}"],
  ])("with the cookie %j is %s", async (cookie, style) => {
    const { headers, text } = await get("/docs/style.css", cookie === "" ? {} : { cookie });
    expect([headers["content-type"], headers["vary"], text]).toEqual([
      "text/css; charset=utf-8",
      "Accept-Encoding, Cookie",
      style,
    ]);
  });
});

it.each([
  ["gzip, deflate, br", "br", brotliDecompressSync],
  ["gzip", "gzip", gunzipSync],
])("compresses for clients that accept %s", async (accepted, coding, decode) => {
  const url = new URL("/docs/guides/ci", platform.server.url);
  const { headers, body } = await getBytes(url, { "accept-encoding": accepted });
  expect([headers["content-encoding"], headers["vary"]]).toEqual([coding, "Accept-Encoding"]);
  expect(String(decode(body))).toContain(ARTICLE);
});

it("is off with the console", async () => {
  await using off = await startPlatform({ ...ONE_THREAD, console: "false" }, { loadDocumentation });
  const { status, body } = await off.send({ path: "/docs/guides/ci", key: "" });
  expect([status, body.kind]).toEqual([403, "Status"]);
});
