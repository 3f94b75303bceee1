// Attacks on the one-time link that a starting server shows: use it twice, guess it, use it from another site, after a restart, or after the
// administrator's key has gone; and whether it is written anywhere.

import { randomBytes } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { startServer } from "@postern/platform/main";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { threadsOfTests } from "@postern/platform/testing/threads-of-tests";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Browse, browserOf, OWN, type PageAnswer, SESSION } from "./testing/signing-in.ts";

const PATH = "/login/link";
const NOT_VALID = "This link is not valid";

let platform: RunningPlatform;
let ca: Buffer;
let browse: Browse;

beforeAll(async () => {
  platform = await startPlatform({ "audit-log-mode": "blocking" });
  ca = await readFile(platform.server.caPath);
  browse = browserOf(platform.server.url, ca);
});
afterAll(async () => await platform?.[Symbol.asyncDispose]());

async function newLink(): Promise<{ readonly path: string; readonly code: string }> {
  const { pathname, search, searchParams } = new URL((await platform.server.createSignInLink()) ?? "");
  expect(pathname).toBe(PATH);
  return { path: `${pathname}${search}`, code: searchParams.get("code") ?? "" };
}

const use = (code: string, headers: { readonly [name: string]: string } = OWN, from = browse): Promise<PageAnswer> =>
  from(PATH, undefined, { code }, headers);

const whoIs = async ({ cookies }: PageAnswer): Promise<any> => {
  const { status, text } = await browse("/login/session", cookies, undefined, OWN);
  return { status, ...JSON.parse(text) };
};

describe("the one-time link", () => {
  it("signs in as the administrator, once", async () => {
    const { path, code } = await newLink();
    // Whatever looks at the link before the user does leaves it valid.
    for (let look = 0; look < 3; look++) expect(await browse(path)).toMatchObject({ status: 200 });
    expect(await browse(PATH, undefined, undefined)).toMatchObject({ status: 403 });
    const used = await use(code);
    expect(used.status).toBe(200);
    expect(used.headers["set-cookie"]?.at(-1)).toMatch(/; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect(await whoIs(used)).toMatchObject({ status: 200, user: { name: "admin" } });
    for (const again of [await use(code), await browse(path), await use(code, { ...OWN, cookie: "x=y" })]) {
      expect([again.status, again.cookies.has(SESSION)]).toEqual([403, false]);
      expect(again.text).toContain(NOT_VALID);
    }
  });

  it("gives a session to one of many that use it at the same time", async () => {
    const { code } = await newLink();
    const answers = await Promise.all(Array.from({ length: 12 }, () => use(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ cookies }) => cookies.has(SESSION))).toHaveLength(1);
  });

  it.each<[string, object]>([
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["another host of the same site", { "sec-fetch-site": "same-site" }],
    ["a page of another origin", { origin: "https://evil.example" }],
    ["a page without an origin", { origin: "null" }],
    ["a program that says nothing", {}],
  ])("is not used by %s", async (_, headers) => {
    const { code } = await newLink();
    const refused = await use(code, headers as { [name: string]: string });
    expect([refused.status, refused.cookies.has(SESSION)]).toEqual([403, false]);
    expect((await use(code)).status).toBe(200);
  });

  it("is not guessed, and guesses do not end it", async () => {
    const { code } = await newLink();
    const near = [code.slice(0, -1), `${code}A`, `${code}=`, ` ${code}`, code.toLowerCase(), "", "%00", "undefined"];
    const far = Array.from({ length: 20 }, () => randomBytes(32).toString("base64url"));
    for (const guess of [...near, ...far].filter((each) => each !== code)) {
      const { status, cookies } = await use(guess);
      expect([guess, status, cookies.has(SESSION)]).toEqual([guess, 403, false]);
    }
    expect((await use(code)).status).toBe(200);
  });

  it.each<[string, (code: string) => Promise<PageAnswer>]>([
    ["in the query of the POST", (code) => browse(`${PATH}?code=${code}`, undefined, {}, OWN)],
    [
      "as a bearer token",
      (code) => browse("/login/session", undefined, undefined, { authorization: `Bearer ${code}` }),
    ],
    ["as a session", (code) => browse("/login/session", new Map([[SESSION, code]]), undefined, OWN)],
    [
      "twice in the form",
      (code) =>
        browse(`${PATH}`, undefined, { code, code2: code, "code ": code }, { ...OWN, "content-type": "text/plain" }),
    ],
    ["as an access key", (code) => browse("/login/key", undefined, { key: code }, OWN)],
  ])("is worth nothing %s", async (_, attempt) => {
    const { code } = await newLink();
    const answer = await attempt(code);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.cookies.get(SESSION) ?? code).toBe(code);
    expect((await use(code)).status).toBe(200);
  });

  it("ends with the next one", async () => {
    const { code } = await newLink();
    const next = await newLink();
    expect((await use(code)).status).toBe(403);
    expect((await use(next.code)).status).toBe(200);
  });

  it("shows its page in no frame, to no cache, and sends its address to nobody", async () => {
    const { headers, text } = await browse((await newLink()).path);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "same-origin",
      "x-frame-options": "DENY",
    });
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(text).not.toContain("<script");
  });

  it("leads nowhere else", async () => {
    const { path, code } = await newLink();
    const used = await browse(`${path}&return=https://evil.example&next=//evil.example`);
    expect(used.text).not.toContain("evil.example");
    expect((await use(code)).text).toContain("url=/");
  });

  it("is in no log, and its use and its misuse are in the audit log", async () => {
    const { path, code } = await newLink();
    await browse(path);
    await use(code);
    await use(code);
    const names = (await readdir(platform.directory, { recursive: true })).filter((name) =>
      /\.(log|db|db-wal)$/.test(name),
    );
    expect(names).toEqual(expect.arrayContaining(["audit.log", "server.log"]));
    for (const name of names) expect(await readFile(join(platform.directory, name), "latin1")).not.toContain(code);
    const events = (await readFile(join(platform.directory, "audit.log"), "utf8"))
      .split("\n")
      .filter((line) => line.includes(`"requestURI":"${PATH}"`) && line.includes('"ResponseComplete"'))
      .map((line) => JSON.parse(line));
    const [used, refused] = events
      .filter(({ annotations = {} }) =>
        Object.keys(annotations).some((key) => key.includes("sign-in") || key.includes("issued")),
      )
      .slice(-2);
    expect(used.annotations).toMatchObject({ "postern/sign-in-user": "admin" });
    expect(used.annotations["authentication.kubernetes.io/issued-credential-id"]).toMatch(/./);
    expect(refused.annotations).toMatchObject({ "postern/sign-in-refusal": "the one-time link is not valid" });
  });
});

describe("the session of the link", () => {
  it("ends with the administrator's key, and so does the link", async () => {
    await using other = await startPlatform();
    const from = browserOf(other.server.url, await readFile(other.server.caPath));
    const codeOf = async () => new URL((await other.server.createSignInLink()) ?? "").searchParams.get("code") ?? "";
    const used = await use(await codeOf(), OWN, from);
    const session = () => from("/login/session", used.cookies, undefined, OWN);
    expect((await session()).status).toBe(200);
    const unused = await codeOf();
    const disabled = { method: "PATCH", path: "ownedaccesskeys/admin", body: { spec: { disabled: true } } };
    expect((await other.send(disabled)).status).toBe(200);
    expect((await session()).status).toBe(401);
    const refused = await use(unused, OWN, from);
    expect([refused.status, refused.cookies.has(SESSION)]).toEqual([403, false]);
  });

  it("is not started without the administrator's kubeconfig", async () => {
    await using other = await startPlatform();
    const from = browserOf(other.server.url, await readFile(other.server.caPath));
    const code = new URL((await other.server.createSignInLink()) ?? "").searchParams.get("code") ?? "";
    await rm(other.server.adminKubeconfigPath);
    expect((await use(code, OWN, from)).status).toBe(403);
    expect(await other.server.createSignInLink()).toBeUndefined();
  });
});

it("a link of before a restart is worth nothing afterwards", async () => {
  await using other = await startPlatform({ store: "sqlite" });
  const code = new URL((await other.server.createSignInLink()) ?? "").searchParams.get("code") ?? "";
  await other.server.close();
  const again = await startServer(other.configuration, {
    ...threadsOfTests(other.directory).surroundings,
    logDestination: { write: () => {} },
  });
  try {
    const from = browserOf(again.url, await readFile(again.caPath));
    expect((await use(code, OWN, from)).status).toBe(403);
    const next = new URL((await again.createSignInLink()) ?? "").searchParams.get("code") ?? "";
    expect((await use(code, OWN, from)).status).toBe(403);
    expect((await use(next, OWN, from)).status).toBe(200);
  } finally {
    await again.close();
  }
});
