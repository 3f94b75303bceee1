// Access to the console, and the headers that come with it. The page itself is tested in test/e2e/console.test.ts.

import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BytesAnswer, getBytes } from "../../testing/get-bytes.ts";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";
import { ONE_THREAD } from "../../testing/threads-of-tests.ts";
import { CONSOLE_VIEWS, createConsoleRoute, isConsoleRequest } from "./console-route.ts";

const SCRIPT = "export const name = 'console';";
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

let loads = 0;
const loadConsole = async () => {
  if (++loads === 1) throw new Error("the first time it is not there yet");
  return {
    page: '<!doctype html><meta name="postern" content="{}">',
    inlineScripts: ["AAAA"],
    inlineStyles: ["BBBB"],
    files: [
      {
        path: "/console/index-1234.js",
        contentType: "text/javascript; charset=utf-8",
        brotli: brotliCompressSync(SCRIPT).toString("base64"),
        gzip: gzipSync(SCRIPT).toString("base64"),
      },
    ],
  };
};

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform({ ...ONE_THREAD, "platform-domain": "example.com" }, { loadConsole });
});
afterAll(() => platform[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<BytesAnswer> =>
  getBytes(new URL(path, platform.server.url), headers, method);

it("is loaded for the first browser, and again where that failed", async () => {
  expect(loads).toBe(0);
  expect((await get("/", { accept: BROWSER })).status).toBe(500);
  expect((await get("/", { accept: BROWSER })).status).toBe(200);
  expect((await get("/keys", { accept: BROWSER })).status).toBe(200);
  expect(loads).toBe(2);
});

it.each(["*/*", "application/json", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json", ""])(
  "leaves the API at / to programs that take %j",
  async (accept) => {
    const { status, headers, body } = await get("/", accept === "" ? {} : { accept });
    expect([status, headers["content-type"], JSON.parse(String(body)).kind]).toEqual([
      403,
      "application/json",
      "Status",
    ]);
  },
);

it.each(["/api", "/apis", "/version", "/healthz", "/openapi/v3", "/kubernetes/management/api", "/keysx"])(
  "leaves %s to the API, for browsers as well",
  async (path) => {
    expect(String((await get(path, { accept: BROWSER })).body)).not.toContain("<!doctype html>");
  },
);

it("says to a person that there is no such page, and leaves paths of the API to the API", async () => {
  const opened = { accept: BROWSER, "sec-fetch-dest": "document", "if-none-match": "*" };
  const { status, headers, body } = await get("/keysx/y", opened);
  expect([status, headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
  expect(String(body)).toContain("<!doctype html>");
  for (const path of ["/apis/none", "/metrics", "/kubernetes/none", "/doctor"])
    expect([path, String((await get(path, opened)).body).includes("<!doctype html>")]).toEqual([path, false]);
  expect((await get("/keysx", opened, "POST")).headers["content-type"]).toBe("application/json");
});

it("is on no path of the API", () => {
  const headers = { accept: BROWSER };
  for (const path of [
    "/api",
    "/apis",
    "/version",
    "/metrics",
    "/login",
    "/oauth/token",
    "/device",
    "/leaks",
    "/scim/v2",
  ])
    expect([path, isConsoleRequest(path, { method: "GET", headers })]).toEqual([path, false]);
  for (const view of CONSOLE_VIEWS) {
    expect(isConsoleRequest(`/${view}/a/b`, { method: "GET", headers })).toBe(true);
    expect(isConsoleRequest(`/${view}`, { method: "POST", headers })).toBe(false);
  }
});

it("gives the page the server's names, and a strict content security policy", async () => {
  const { headers, body } = await get("/clusters/shop/dev", { accept: BROWSER });
  const [, settings = ""] = /content="(.*?)"/.exec(String(body)) ?? [];
  expect(JSON.parse(settings.replaceAll("&quot;", '"'))).toEqual({
    name: "example",
    domain: "example.com",
    managementGroup: "management.example.com",
    storageGroup: "storage.example.com",
    projectNamespacePrefix: "p-",
    version: BUILD_INFO.version,
  });
  const policy = String(headers["content-security-policy"]).split("; ");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self' 'sha256-AAAA'");
  expect(policy).toContain("style-src 'self' 'sha256-BBBB'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(String(policy)).not.toMatch(/unsafe|https?:|\*/);
  expect(headers).toMatchObject({
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    vary: "Accept",
  });
});

it("sends the page once", async () => {
  const { headers } = await get("/", { accept: BROWSER });
  const etag = String(headers["etag"]);
  const again = await get("/", { accept: BROWSER, "if-none-match": `"other", W/${etag}` });
  expect([again.status, again.body.length]).toEqual([304, 0]);
  expect((await get("/", { accept: BROWSER, "if-none-match": '"other"' })).status).toBe(200);
});

it("sends files compressed and cacheable for ever, and nothing else below their folder", async () => {
  const path = "/console/index-1234.js";
  const plain = (bytes: Buffer): Buffer => bytes;
  for (const [accepted, coding, decode] of [
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip", "gzip", gunzipSync],
    ["identity", undefined, plain],
  ] as const) {
    const { headers, body } = await get(path, { "accept-encoding": accepted });
    expect([headers["content-encoding"], decode(body).toString()]).toEqual([coding, SCRIPT]);
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(headers["x-content-type-options"]).toBe("nosniff");
  }
  expect((await get(path, {}, "HEAD")).body.length).toBe(0);
  expect((await get("/console/../server.key")).status).not.toBe(200);
  expect((await get("/console/index-0000.js")).status).toBe(404);
  expect((await get(path, {}, "POST")).status).toBe(404);
});

it("hands out the CA of the server, and nothing where there is none of its own", async () => {
  const { status, headers, body } = await get("/console/ca.crt");
  expect([status, headers["content-type"], String(body).split("\n", 1)[0]]).toEqual([
    200,
    "application/x-pem-file",
    "-----BEGIN CERTIFICATE-----",
  ]);
  expect(String(body)).not.toContain("PRIVATE KEY");
  const handle = createConsoleRoute({
    load: loadConsole,
    settings: { name: "", domain: "", managementGroup: "", storageGroup: "", projectNamespacePrefix: "" },
    endpoint: { certificateAuthorityPem: undefined },
  });
  const context: any = { request: { method: "GET" }, info: { path: "/console/ca.crt" } };
  expect(await handle(context)).toMatchObject({ status: 204, body: { bytes: "" } });
});

it("can be switched off", async () => {
  await using off = await startPlatform({ ...ONE_THREAD, console: "false" }, { loadConsole });
  const { status, text } = await off.send({ path: "/", key: "", headers: { accept: BROWSER } });
  expect([status, JSON.parse(text).kind]).toEqual([403, "Status"]);
});

it("answers the files of a hundred browsers behind one address", async () => {
  const path = "/console/index-1234.js";
  const statuses: number[] = [];
  for (let at = 0; at < 1200; at += 100)
    statuses.push(...(await Promise.all(Array.from({ length: 100 }, () => get(path)))).map(({ status }) => status));
  expect(new Set(statuses)).toEqual(new Set([200]));
});

it.each(["br", "gzip", "identity"])("makes the content of a file in %s once", async (accepted) => {
  const build = { ...(await loadConsole()) };
  const handle = createConsoleRoute({
    load: () => Promise.resolve(build),
    settings: { name: "", domain: "", managementGroup: "", storageGroup: "", projectNamespacePrefix: "" },
    endpoint: { certificateAuthorityPem: undefined },
  });
  const request = { method: "GET", headers: { "accept-encoding": accepted } };
  const context: any = { request, info: { path: "/console/index-1234.js" } };
  const bytesOf = async () => ((await handle(context)) as any).body.bytes;
  expect(await bytesOf()).toBe(await bytesOf());
});
