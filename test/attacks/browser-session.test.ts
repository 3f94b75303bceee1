// Attacks with the session in a person's browser: from other sites, with cookies of their own, and with pages that tenants serve.

import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { type PlatformAnswer, type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newPerson, startBrowser } from "../e2e/testing/browser.ts";

const COOKIE = "__Host-session";
const OWN = { "sec-fetch-site": "same-origin" };
const INSIDE = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default/configmaps";

let platform: RunningPlatform;
let person = 0;

beforeAll(async () => {
  platform = await startPlatform({ "failed-logins-per-minute": "20", "audit-log-mode": "blocking" });
  await platform.until({ path: "namespaces/p-default/virtualclusterinstances/demo" }, ({ body }) => {
    return body.status?.phase === "Ready";
  });
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
});

type Asked = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
};

const ask = (path: string, { headers = {}, ...call }: Asked = {}): Promise<PlatformAnswer> =>
  platform.send({ path, key: "", headers, ...call });

/** The key of a user who administers the platform. */
async function newKey(spec: object = {}): Promise<{ name: string; value: string; user: string }> {
  const user = `person-${++person}`;
  await platform.create("users", { metadata: { name: user } });
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" };
  await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: user },
    subjects,
    roleRef,
  });
  const key = await platform.create("ownedaccesskeys", { metadata: { name: user }, spec: { user, ...spec } });
  return { name: user, value: key.spec.key, user };
}

const cookieIn = ({ headers }: PlatformAnswer): string =>
  new RegExp(`^${COOKIE}=([^;]*)`).exec(headers["set-cookie"]?.[0] ?? "")?.[1] ?? "";

const signIn = (key: string, headers: object = OWN): Promise<PlatformAnswer> =>
  ask("/login/session", { body: { key }, headers: { ...headers } });

const administrator = () => ({ name: "", value: platform.adminKey, user: "admin" });

const newSession = async (spec: object = {}) => await sessionOf(await newKey(spec));

async function sessionOf(key: Awaited<ReturnType<typeof newKey>>) {
  const answer = await signIn(key.value);
  expect(answer.status).toBe(200);
  const value = cookieIn(answer);
  const cookie = { cookie: `${COOKIE}=${value}` };
  const csrf: string = answer.body.csrfToken;
  return { key, answer, value, cookie, csrf, own: { ...cookie, ...OWN, "x-postern-csrf": csrf } };
}

const teams = (name = `team-${randomBytes(6).toString("hex")}`) => ({ body: { metadata: { name }, spec: {} } });

describe("a session", () => {
  it("begins with an access key, reads and writes like it, and ends", async () => {
    const { key, answer, value, own, cookie } = await newSession();
    const set = /; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=(\d+)$/.exec(
      answer.headers["set-cookie"]?.[0] ?? "",
    );
    // Twelve hours, less the time since the key was created.
    expect(Number(set?.[1])).toBeLessThanOrEqual(43_200);
    expect(Number(set?.[1])).toBeGreaterThan(43_100);
    expect(answer.text).not.toContain(value);
    expect(answer.body).toMatchObject({ user: { name: key.user }, keyName: expect.stringMatching(/^login-/) });
    const shown = await ask("/login/session", { headers: { ...cookie, ...OWN } });
    expect([shown.status, shown.body]).toEqual([200, answer.body]);
    expect((await ask("users", { headers: { ...cookie, ...OWN } })).status).toBe(200);
    expect((await ask("teams", { headers: own, ...teams() })).status).toBe(201);
    const ended = await ask("/login/session", { method: "DELETE", headers: own });
    expect([ended.status, cookieIn(ended)]).toEqual([204, ""]);
    expect((await platform.send({ path: `ownedaccesskeys/${answer.body.keyName}` })).status).toBe(404);
    expect((await ask("users", { headers: { ...cookie, ...OWN } })).status).toBe(401);
    const none = await ask("/login/session", { headers: { ...cookie, ...OWN } });
    expect([none.status, none.body]).toEqual([401, { providers: [] }]);
    expect(none.headers["set-cookie"]?.[0]).toContain("Max-Age=0");
  });

  it.each([
    ["that ends before others do", { ttl: 86_400 }, 401],
    ["as others are", {}, 200],
  ])("begun with a key %s makes keys as that key does", async (_, spec, afterwards) => {
    const { key, own } = await newSession(spec);
    const made = await ask("ownedaccesskeys", { headers: own, body: { metadata: { generateName: "ci-" }, spec: {} } });
    expect(made.status).toBe(201);
    const endsWithKey = made.warnings.some((text) => text.includes(`as the access key "${key.name}" that makes it`));
    expect(endsWithKey).toBe(afterwards === 401);
    const usable = async () =>
      (await ask("users", { headers: { authorization: `Bearer ${made.body.spec.key}` } })).status;
    expect((await ask("/login/session", { method: "DELETE", headers: own })).status).toBe(204);
    expect(await usable()).toBe(200);
    await platform.send({ method: "DELETE", path: `ownedaccesskeys/${key.name}` });
    await expect.poll(usable).toBe(afterwards);
  });

  it("gives access to the clusters behind the platform too", async () => {
    const { own, cookie } = await sessionOf(administrator());
    expect((await ask(INSIDE, { headers: own, body: { metadata: { name: "made" } } })).status).toBe(201);
    expect((await ask(`${INSIDE}/made`, { headers: { ...cookie, ...OWN } })).status).toBe(200);
  });

  it.each<[string, (name: string) => Promise<PlatformAnswer>]>([
    ["deleted", (name) => platform.send({ method: "DELETE", path: `ownedaccesskeys/${name}` })],
    [
      "disabled",
      (name) => platform.send({ method: "PATCH", path: `ownedaccesskeys/${name}`, body: { spec: { disabled: true } } }),
    ],
    [
      "narrowed",
      (name) =>
        platform.send({
          method: "PATCH",
          path: `ownedaccesskeys/${name}`,
          body: { spec: { rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods"] }] }] } },
        }),
    ],
    [
      "compromised",
      (name) =>
        platform.send({ path: `ownedaccesskeys/${name}/rotate`, body: { spec: { nonce: "n", compromised: true } } }),
    ],
  ])("ends with its key, which is %s, and so does what it watches", async (_, end) => {
    const { key, cookie } = await newSession();
    const watch = await platform.open({ path: "users?watch=1", key: "", headers: { ...cookie, ...OWN } });
    expect(watch.status).toBe(200);
    expect((await end(key.name)).status).toBeLessThan(300);
    await watch.ended;
    expect((await ask("users", { headers: { ...cookie, ...OWN } })).status).toBe(401);
  });

  it("lives no longer than its key, and reaches no further", async () => {
    const rules = [{ verbs: ["get", "list"], resources: [{ group: "management.postern", resources: ["teams"] }] }];
    const { answer, cookie, own } = await newSession({ ttl: 600, rules });
    const left = Date.parse(answer.body.expiresAt) - Date.now();
    expect([left > 0, left <= 600_000]).toEqual([true, true]);
    expect((await ask("teams", { headers: { ...cookie, ...OWN } })).status).toBe(200);
    expect((await ask("users", { headers: { ...cookie, ...OWN } })).status).toBe(403);
    expect((await ask("teams", { headers: own, ...teams() })).status).toBe(403);
    // A session without permissions can still sign out.
    expect((await ask("/login/session", { method: "DELETE", headers: own })).status).toBe(204);
  });

  it("is given for no wrong key, and to no bot", async () => {
    const { value } = await newKey();
    const wrong = value.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
    const refused = await signIn(wrong);
    expect([refused.status, refused.body.kind, cookieIn(refused)]).toEqual([401, "Status", ""]);
    expect(refused.text).not.toContain(wrong);
    await platform.create("users", { metadata: { name: "robot" }, spec: { kind: "Bot" } });
    const robot = await platform.create("ownedaccesskeys", { metadata: { name: "robot" }, spec: { user: "robot" } });
    expect((await signIn(robot.spec.key)).status).toBe(403);
  });
});

describe("pages of other sites", () => {
  const foreign: readonly (readonly [string, { readonly [name: string]: string }])[] = [
    ["cross-site", { "sec-fetch-site": "cross-site" }],
    ["a neighbour's host", { "sec-fetch-site": "same-site" }],
    ["another origin", { origin: "https://evil.test" }],
    ["a frame without origin", { ...OWN, origin: "null" }],
    ["a script tag", { ...OWN, "sec-fetch-dest": "script" }],
    ["a frame", { ...OWN, "sec-fetch-dest": "iframe" }],
    ["a service worker", { ...OWN, "sec-fetch-dest": "serviceworker" }],
  ];

  it.each(foreign)("read nothing: %s", async (_, headers) => {
    const { cookie, csrf } = await newSession();
    for (const path of ["users", INSIDE, "/login/session", "/kubernetes/management/apis"]) {
      const { status, body } = await ask(path, { headers: { ...cookie, ...headers } });
      expect([path, status, body?.kind]).toEqual([path, 403, "Status"]);
    }
    // Nor do they write, should they know the token.
    const { status } = await ask("teams", { headers: { ...cookie, ...headers, "x-postern-csrf": csrf }, ...teams() });
    expect(status).toBe(403);
  });

  it("write nothing by a form, or with any type that needs no permission", async () => {
    const { cookie } = await newSession();
    const name = `csrf-${randomBytes(6).toString("hex")}`;
    const body = JSON.stringify({ metadata: { name }, spec: {} });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"])
      for (const more of [{}, OWN, { origin: "https://evil.test" }, { "sec-fetch-site": "none" }]) {
        const headers = { ...cookie, ...more, "content-type": type };
        const { status, body: refusal } = await ask("teams", { method: "POST", headers, body });
        expect([type, status, refusal.reason]).toEqual([type, 403, "Forbidden"]);
      }
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      const { status } = await ask(`teams/${name}`, { method, headers: { ...cookie, ...OWN } });
      expect([method, status]).toEqual([method, 403]);
    }
    expect((await platform.send({ path: `teams/${name}` })).status).toBe(404);
    expect((await ask("teams", { headers: { ...cookie, ...OWN }, ...teams(name) })).body.message).toContain(
      "X-Postern-Csrf",
    );
  });

  it("are no help with the token of another session", async () => {
    const [mine, theirs] = [await newSession(), await newSession()];
    const headers = { ...theirs.own, "x-postern-csrf": mine.csrf };
    expect((await ask("teams", { headers, ...teams() })).status).toBe(403);
    for (const wrong of ["", "x", `${theirs.csrf}x`, `${theirs.csrf}, ${theirs.csrf}`])
      expect((await ask("teams", { headers: { ...headers, "x-postern-csrf": wrong }, ...teams() })).status).toBe(403);
  });

  it("open no stream that leaves HTTP", async () => {
    const { cookie, own } = await sessionOf(administrator());
    const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    const headers = { ...upgrade, "sec-websocket-key": randomBytes(16).toString("base64") };
    const path = `${INSIDE}?watch=1`;
    for (const more of [cookie, { ...cookie, ...OWN }, { ...own, origin: "https://evil.test" }])
      expect((await ask(path, { headers: { ...headers, ...more } })).status).toBe(403);
    const ca = await readFile(platform.server.caPath);
    const opened = await new Promise<number>((resolve, reject) => {
      const request = httpsRequest(`${platform.server.url}${path}`, { ca, headers: { ...headers, ...own } });
      request.on("response", (response) => resolve(response.resume().statusCode ?? 0)).on("error", reject);
      request.on("upgrade", (_, socket) => {
        socket.destroy();
        resolve(101);
      });
      request.end();
    });
    expect(opened).toBe(101);
  });

  it("do not sign users in or out", async () => {
    const { cookie, own, answer } = await newSession();
    const { value } = await newKey();
    for (const headers of [{}, { "sec-fetch-site": "cross-site" }, { ...OWN, origin: "https://evil.test" }])
      expect((await signIn(value, headers)).status).toBe(403);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
      expect(
        (
          await ask("/login/session", {
            method: "POST",
            headers: { ...OWN, "content-type": type },
            body: `{"key":"x"}`,
          })
        ).status,
      ).toBe(415);
    const out = (headers: object) => ask("/login/session", { method: "DELETE", headers: { ...headers } });
    expect((await out({ ...cookie, ...OWN })).status).toBe(403);
    expect((await out({ ...own, "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await platform.send({ path: `ownedaccesskeys/${answer.body.keyName}` })).status).toBe(200);
  });
});

describe("cookies", () => {
  it("that another host could have set are none (tossing)", async () => {
    const [{ value, cookie }, evil] = [await newSession(), await newSession()];
    const read = async (text: string) => (await ask("users", { headers: { ...OWN, cookie: text } })).status;
    const anonymous = (await ask("users")).status;
    expect(await read(cookie.cookie)).toBe(200);
    for (const text of [
      `session=${value}`,
      `__Secure-session=${value}`,
      `__host-session=${value}`,
      // One of two belongs to another user.
      `${COOKIE}=${evil.value}; ${COOKIE}=${value}`,
      `${COOKIE}=`,
      `a="; ${COOKIE}=${evil.value}"`,
    ])
      expect([text.slice(0, 12), await read(text)]).not.toEqual([text.slice(0, 12), 200]);
    expect([401, 403]).toContain(anonymous);
    expect(await read(`session=${evil.value}; theme=dark; ${COOKIE}=${value}`)).toBe(200);
  });

  it("with keys that are not sessions are refused", async () => {
    const { value } = await newKey();
    for (const key of [platform.adminKey, value]) {
      const headers = { ...OWN, cookie: `${COOKIE}=${key}` };
      expect((await ask("users", { headers })).status).toBe(401);
      expect((await ask("/login/session", { headers })).status).toBe(401);
      expect((await ask("/profile/access-keys", { headers })).status).toBe(303);
    }
  });

  it("count for nothing beside a bearer token", async () => {
    const { own } = await newSession();
    const reviewed = async (key: string, headers: object) =>
      (await platform.send({ path: "selves", key, headers: { ...headers }, body: { spec: {} } })).body;
    const admin = await reviewed(platform.adminKey, {});
    expect((await reviewed(platform.adminKey, own)).status.accessKey).toBe(admin.status.accessKey);
    expect((await reviewed("not-a-key-of-anybody", own)).code).toBe(401);
    // A token needs no token of a page beside it, wherever it comes from.
    const { cookie } = own;
    const headers = { cookie, "sec-fetch-site": "cross-site" };
    expect((await reviewed(platform.adminKey, headers)).status.accessKey).toBe(admin.status.accessKey);
  });

  it("are replaced at sign-in (fixation)", async () => {
    const planted = await newSession();
    const { value, user } = await newKey();
    const answer = await signIn(value, { ...OWN, ...planted.cookie });
    expect([answer.status, answer.body.user.name]).toEqual([200, user]);
    expect(cookieIn(answer)).not.toBe(planted.value);
    expect(answer.body.csrfToken).not.toBe(planted.csrf);
  });

  it("are in no file that the server writes, and in no answer", async () => {
    const { value, key, csrf, own, cookie } = await newSession();
    const answers = [
      await ask("users", { headers: { ...cookie, ...OWN } }),
      await ask("users", { headers: { ...cookie, "sec-fetch-site": "cross-site", "user-agent": value } }),
      await ask(`nothing/${value}`, { headers: { ...cookie, ...OWN } }),
      // Stored, it would be in the files of the store.
      await ask(`${INSIDE}?dryRun=All`, {
        headers: own,
        body: { metadata: { name: "seen" }, data: { header: value } },
      }),
      await ask("/login/session", { headers: { ...cookie, "sec-fetch-site": "cross-site" } }),
      await ask("/login/session", {
        method: "POST",
        headers: { ...OWN, "content-type": "application/json" },
        body: `{"key":"${key.value}`,
      }),
      await ask("/login/session", { headers: OWN, body: { key: key.value, [value]: 1 } }),
    ];
    for (const [at, { text }] of answers.entries()) {
      if (at !== 3) expect([at, text.includes(value), text.includes(key.value)]).toEqual([at, false, false]);
    }
    const files = (await readdir(platform.directory, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "latin1")));
    expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(["audit.log", "server.log"]));
    expect(texts.some((text) => text.includes("/login/session"))).toBe(true);
    for (const secret of [value, key.value, csrf])
      expect(files.filter((_, at) => texts[at]?.includes(secret)).map(({ name }) => name)).toEqual([]);
  });
});

describe("stored text", () => {
  it("is shown as no page, and stays in no cache", async () => {
    const { cookie } = await newSession();
    for (const path of ["users", INSIDE]) {
      const { headers } = await ask(path, { headers: { ...cookie, ...OWN } });
      expect(headers["content-security-policy"]).toContain("sandbox");
      expect([headers["x-content-type-options"], headers["cache-control"]]).toEqual(["nosniff", "no-store"]);
    }
  });
});

describe("a browser", () => {
  it("keeps the session from scripts, and other sites out", async () => {
    const browser = await startBrowser();
    try {
      const { url } = platform.server;
      const context = await newPerson(browser);
      const page = await context.newPage();
      const { value } = await newKey();
      await page.goto(`${url}/version`);
      const begun = await page.evaluate(async (key) => {
        const headers = { "content-type": "application/json" };
        const answer = await fetch("/login/session", { method: "POST", headers, body: JSON.stringify({ key }) });
        const read = await fetch("/apis/management.postern/v1/users");
        return {
          status: answer.status,
          read: read.status,
          cookies: (globalThis as any).document.cookie,
          body: (await answer.json()) as any,
        };
      }, value);
      expect(begun).toMatchObject({ status: 200, read: 200, cookies: "" });
      const csrf: string = begun.body.csrfToken;
      const write = (name: string) =>
        page.evaluate(
          async ([name, token]) => {
            const headers = {
              "content-type": "application/json",
              ...(token === "" ? {} : { "x-postern-csrf": token }),
            };
            const body = JSON.stringify({ metadata: { name }, spec: {} });
            return (await fetch("/apis/management.postern/v1/teams", { method: "POST", headers, body })).status;
          },
          [name, name.endsWith("own") ? csrf : ""] as const,
        );
      expect([await write("browser-own"), await write("browser-without")]).toEqual([201, 403]);
      // If a person types an address, the object is shown, not a page that its author wrote.
      const typed = await page.goto(`${url}/apis/management.postern/v1/teams/browser-own`);
      expect([typed?.status(), typed?.headers()["content-security-policy"]]).toEqual([
        200,
        expect.stringContaining("sandbox"),
      ]);
      // The same server by another name is another site.
      await page.goto(`${url.replace("127.0.0.1", "localhost")}/version`);
      const tried = await page.evaluate(
        async ([base, token]) => {
          const path = `${base}/apis/management.postern/v1/teams`;
          const body = JSON.stringify({ metadata: { name: "browser-evil" }, spec: {} });
          const shared = { credentials: "include", mode: "no-cors", method: "POST", body } as const;
          await fetch(path, shared);
          const outcomes = await Promise.allSettled([
            fetch(path, { ...shared, mode: "cors", headers: { "content-type": "application/json" } }),
            fetch(path, { ...shared, mode: "cors", headers: { "x-postern-csrf": token } }),
            fetch(`${base}/login/session`, { credentials: "include" }),
            new Promise((resolve, reject) => {
              const socket = new WebSocket(`${path.replace("https:", "wss:")}?watch=1`);
              socket.onopen = resolve;
              socket.onerror = reject;
            }),
          ]);
          return outcomes.map(({ status }) => status);
        },
        [url, csrf] as const,
      );
      expect(tried).toEqual(["rejected", "rejected", "rejected", "rejected"]);
      await page.setContent(
        `<form method="post" enctype="text/plain" action="${url}/apis/management.postern/v1/teams">` +
          `<input name='{"metadata":{"name":"browser-evil"},"spec":{},"x":"' value='"}'><button>Win</button></form>`,
      );
      const sent = page.waitForResponse((response) => response.request().method() === "POST");
      await page.click("button");
      expect((await sent).status()).toBeGreaterThanOrEqual(400);
      expect((await platform.send({ path: "teams/browser-evil" })).status).toBe(404);
      expect((await context.request.get(`${url}/login/session`)).status()).toBe(200);
    } finally {
      await browser.close();
    }
  });
});

describe("a client that guesses keys", () => {
  it("waits for responses, and no other client does", async () => {
    const guess = () => signIn(randomBytes(24).toString("hex"));
    await Promise.all(Array.from({ length: 21 }, guess));
    const order: string[] = [];
    const held = guess().then(({ status }) => order.push(`guess ${status}`));
    await Promise.all([held, platform.send({ path: "users" }).then(({ status }) => order.push(`key ${status}`))]);
    expect(order).toEqual(["key 200", "guess 401"]);
  });
});
