// Each use of a key is in the audit log with its place, and no client can write another one.

import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import {
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { API, KEYS } from "./testing/attacked-server.ts";
import { connectRawHttp2, FLAG, FRAME } from "./testing/raw-http2.ts";
import { type Attack, prepareAttack } from "./testing/thief.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/demo";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let attack: Attack;
let log: string;
let keyFile: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  keyFile = join(directory.path, "audit.key");
  await writeFile(keyFile, randomBytes(32).toString("hex"));
  const dataDir = join(directory.path, "data");
  log = join(dataDir, "audit.log");
  const flags = [
    "--audit-log-key-file",
    keyFile,
    "--audit-log-mode",
    "blocking",
    "--access-key-keep-expired-seconds",
    "0",
    "--failed-logins-per-minute",
    "0",
  ];
  server = await startPostern(dataDir, flags);
  attack = await prepareAttack(server);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const lines = async (): Promise<readonly string[]> => (await readFile(log, "utf8")).trimEnd().split("\n");
const events = async (): Promise<readonly any[]> => (await lines()).map((line) => JSON.parse(line));
const search = async (...args: readonly string[]): Promise<any> =>
  JSON.parse(await succeed(postern("audit", "search", log, "-o", "json", ...args)));

describe("a cancelled request (security book 48)", () => {
  /** So often the server answers a PING before the stream is reset: from at once to after the answer. */
  const TURNS = [0, 1, 2, 3, 5, 8, 13, 21, 34];
  const AT_ONCE = 6;
  const CONFIG_MAPS = `${INSIDE}/api/v1/namespaces/default/configmaps`;

  it("leaves a record of whatever was done for it", async () => {
    const key = await attack.newKey("fleeting");
    const target = { url: server.url, ca: await readFile(server.caFile) };
    let unanswered = 0;
    const takeBack = async (turns: number): Promise<void> => {
      using session = await connectRawHttp2(target);
      const streams = Array.from({ length: AT_ONCE }, (_, index) => {
        const body = Buffer.from(JSON.stringify({ metadata: { name: `taken-back-${turns}-${index}` } }));
        const stream = session.request(
          {
            ":method": "POST",
            ":scheme": "https",
            ":authority": "localhost",
            ":path": CONFIG_MAPS,
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
          },
          false,
        );
        session.send(FRAME.data, FLAG.endStream, stream, body);
        return stream;
      });
      for (let turn = 0; turn < turns; turn++) {
        const payload = Buffer.from([turn % 256, turn >> 8, 0, 0, 0, 0, 0, 0]);
        session.send(FRAME.ping, 0, 0, payload);
        await session.frame(
          ({ type, flags, payload: got }) => type === FRAME.ping && flags === FLAG.ack && got.equals(payload),
        );
      }
      for (const stream of streams) {
        if (!session.received.some(({ type, stream: of }) => type === FRAME.headers && of === stream)) unanswered++;
        session.send(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8]));
      }
      const last = Buffer.from("the last");
      session.send(FRAME.ping, 0, 0, last);
      await session.frame(({ type, payload }) => type === FRAME.ping && payload.equals(last));
    };
    for (const turns of TURNS) await takeBack(turns);
    expect(unanswered).toBeGreaterThan(0);
    const made = async (): Promise<readonly string[]> => {
      const { body } = await attack.http(CONFIG_MAPS, { key: attack.admin });
      const names = body.items.map(({ metadata }: any) => metadata.name);
      return names.filter((name: string) => name.startsWith("taken-back-"));
    };
    const unrecorded = async (): Promise<readonly string[]> => {
      const names = await made();
      const recorded = (await events()).filter(
        ({ verb, annotations }) => verb === "create" && annotations["access-key/name"] === "fleeting",
      );
      const known = new Set(recorded.map(({ objectRef }) => objectRef.name));
      return names.filter((name) => !known.has(name));
    };
    // Some have to be begun; a thread that serves the cluster begins later than the server answers.
    for (let turns = 2 * (TURNS.at(-1) ?? 1); (await made()).length === 0; turns *= 2) await takeBack(turns);
    await expect.poll(unrecorded).toEqual([]);
  });
});

describe("requests through the proxy", () => {
  it("are recorded with what they ask for inside, and with the name of the key", async () => {
    const key = await attack.newKey("inside");
    const send = (path: string, options: object = {}) => attack.http(`${INSIDE}${path}`, { key, ...options });
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } };
    const merge = { "content-type": "application/merge-patch+json" };
    await send("/api/v1/namespaces/default/configmaps");
    const { body } = await send("/api/v1/namespaces/default/configmaps", { body: configMap });
    const { name } = body.metadata;
    await send(`/api/v1/namespaces/default/configmaps/${name}`);
    await send(`/api/v1/namespaces/default/configmaps/${name}`, { method: "PATCH", body: "{}", headers: merge });
    await send(`/api/v1/namespaces/default/configmaps?labelSelector=x`, { method: "DELETE" });
    await send("/apis/rbac.authorization.k8s.io/v1/clusterroles/view");
    await send("/version");
    const seen = (await events()).filter(
      ({ requestURI, annotations }) => requestURI.startsWith(INSIDE) && annotations["access-key/name"] === "inside",
    );
    expect(seen.map(({ verb, objectRef }) => [verb, objectRef])).toEqual([
      ["list", { resource: "configmaps", namespace: "default", apiVersion: "v1" }],
      ["create", expect.objectContaining({ resource: "configmaps", namespace: "default", apiVersion: "v1" })],
      ["get", expect.objectContaining({ resource: "configmaps", name })],
      ["patch", expect.objectContaining({ resource: "configmaps", name })],
      ["deletecollection", expect.objectContaining({ resource: "configmaps" })],
      ["get", { resource: "clusterroles", name: "view", apiGroup: "rbac.authorization.k8s.io", apiVersion: "v1" }],
      ["get", undefined],
    ]);
    for (const { annotations } of seen)
      expect(annotations).toMatchObject({
        "access-key/name": "inside",
        "authentication.kubernetes.io/credential-id": key.split("_")[1],
        "proxy/target": "virtualcluster/default/demo",
      });
  });

  it("show where a stolen key was used, with everything created with it", async () => {
    const stolen = await attack.newKey("stolen");
    const loot = await attack.steal(stolen, "", 1);
    const token = loot.find(({ what }) => what === "token")?.token ?? "";
    await attack.http(`${INSIDE}/api/v1/secrets`, { key: token });
    expect(await attack.working(loot)).toContain("certificate");
    await attack.rotate("stolen", { compromised: true });
    await attack.http(`${INSIDE}/api/v1/secrets`, { key: stolen });
    const rows = await search("--key", "stolen", "--cluster", "default/demo");
    // With the token; and with the certificate and the old value, which is refused: those are the key's own.
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual(expect.objectContaining({ key: "stolen", user: "admin", requests: 2, refused: 1 }));
    const requests = await search("--key", "stolen", "--requests", "--verb", "list", "--since", "1h");
    expect(requests).toContainEqual(
      expect.objectContaining({ object: "secrets", verb: "list", cluster: "virtualcluster/default/demo", code: 200 }),
    );
    expect(await search("--key", "stolen", "--refused", "--requests")).toEqual([
      expect.objectContaining({ code: 401, refusal: "replaced by a rotation", key: "stolen" }),
    ]);
    expect(await search("--key", "stolen", "--until", "2020-01-01")).toEqual([]);
    expect(await search("--user", "nobody")).toEqual([]);
    const table = await succeed(postern("audit", "search", log, "--key", "stolen"));
    expect(table).toMatch(/^KEY +USER +CLUSTER +REQUESTS +REFUSED +VERBS +FROM +FIRST +LAST\n/);
    expect(table).toMatch(/\nstolen +admin +<platform> +\d/);
  });
});

it("shows the use of a compromised key and rotates it with one command", async () => {
  const stolen = await attack.newKey("bad-day");
  const loot = await attack.steal(stolen, "", 1);
  await attack.working(loot);
  await attack.report(stolen);
  await expect.poll(async () => (await attack.get("bad-day")).spec.disabled).toBe(true);
  const args = ["key", "compromised", "bad-day", "--kubeconfig", server.adminKubeconfig, "--audit-log", log];
  const { code, stdout, stderr } = await postern(...args);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(`created with the old value and revoked: ${loot.length}\n`),
  ]);
  expect(stderr).toContain("virtualcluster/default/demo");
  expect(stderr).not.toContain(stdout.trim());
  expect(await attack.works(stdout.trim())).toBe(true);
  expect(await attack.working(loot)).toEqual([]);
  const key = await attack.get("bad-day");
  expect([key.spec.disabled, key.metadata.annotations]).toEqual([false, undefined]);
});

describe("the value of a deleted key", () => {
  it("is found by the name and by the ID that the key had, and a made-up value by neither", async () => {
    const key = await attack.newKey("forgotten");
    const id = key.split("_")[1] ?? "";
    const statusWith = async (value: string): Promise<number> => (await attack.http("/api", { key: value })).status;
    expect(await statusWith(key)).toBe(200);
    const deleted = await attack.http(`${KEYS}/forgotten`, { key: attack.admin, method: "DELETE" });
    expect(deleted.status).toBe(200);
    expect(await statusWith(key)).toBe(401);
    expect(await statusWith(`${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`)).toBe(401);
    for (const asked of ["forgotten", id]) {
      const refused = async () => await search("--key", asked, "--requests", "--refused");
      await expect
        .poll(refused)
        .toMatchObject([{ key: "", keyID: "", presentedID: id, code: 401, refusal: "unknown" }]);
    }
  });
});

describe("a key that a controller deletes", () => {
  it("has a record of its deletion: after its user, and after its time", async () => {
    const users = `${API}/users`;
    const made = await attack.http(users, { key: attack.admin, body: { metadata: { name: "leaver" } } });
    expect(made.status).toBe(201);
    for (const spec of [{ user: "leaver" }, { user: "admin", ttl: 1 }]) {
      const body = { metadata: { name: `of-${spec.user}` }, spec };
      expect((await attack.http(KEYS, { key: attack.admin, body })).status).toBe(201);
    }
    await attack.http(`${users}/leaver`, { key: attack.admin, method: "DELETE" });
    const deleted = async (name: string) =>
      (await events()).filter(({ verb, objectRef }) => verb === "delete" && objectRef?.name === name);
    for (const name of ["of-leaver", "of-admin"])
      await expect
        .poll(() => deleted(name), { timeout: 60_000 })
        .toMatchObject([
          {
            user: { username: "system:apiserver" },
            requestURI: `${KEYS}/${name}`,
            objectRef: { resource: "ownedaccesskeys", apiGroup: "management.postern" },
            responseStatus: { code: 200 },
          },
        ]);
  });
});

describe("a log with a key", () => {
  const verify = async (name: string, all: readonly string[], ...args: readonly string[]) => {
    const path = join(directory.path, name);
    await writeFile(path, `${all.join("\n")}\n`);
    return await postern("audit", "verify", path, ...args);
  };
  const sealed = () => ["--key-file", keyFile];
  /** A chain as anybody computes it. */
  const rechained = (all: readonly string[]) => {
    let previous = "0".repeat(64);
    return all.map((line) => {
      const event = JSON.parse(line);
      delete event.annotations["audit-chain/hmac-sha256"];
      event.annotations["audit-chain/previous-line-sha256"] = previous;
      const text = JSON.stringify(event);
      previous = createHash("sha256").update(text).digest("hex");
      return text;
    });
  };

  it("is whole as the server wrote it", async () => {
    expect(await verify("whole.log", await lines(), ...sealed())).toMatchObject({ code: 0 });
  });

  it("that is rewritten with a new chain is noticed without an anchor, and only with the key", async () => {
    const original = await lines();
    const forged = rechained(original.filter((line) => !line.includes("stolen")));
    expect(await verify("forged.log", forged)).toMatchObject({ code: 0 });
    const { code, stdout } = await verify("forged.log", forged, ...sealed());
    expect([code, stdout.match(/not authenticated with this key/g)?.length]).toEqual([1, forged.length]);
  });

  it.each<[string, (all: readonly string[]) => readonly string[]]>([
    ["without the seals", (all) => all.map((line) => line.replace(/,"audit-chain\/hmac-sha256":"[0-9a-f]+"/, ""))],
    ["with a line left out", (all) => all.toSpliced(3, 1)],
    ["with two lines exchanged", (all) => all.with(3, all[4] ?? "").with(4, all[3] ?? "")],
    ["with a line repeated", (all) => all.toSpliced(3, 0, all[3] ?? "")],
    [
      "with the user of a line changed",
      (all) => all.with(3, (all[3] ?? "").replace(/"username":"[^"]*"/, '"username":"x"')),
    ],
    [
      "with a seal taken from another line",
      (all) => all.with(3, (all[3] ?? "").replace(/[0-9a-f]{64}"}}$/, `${(all[4] ?? "").slice(-67)}`)),
    ],
    ["with a line of another key in between", (all) => all.toSpliced(3, 0, rechained(all)[3] ?? "")],
  ])("that is rewritten %s is noticed", async (_how, forge) => {
    expect(await verify("forged.log", forge(await lines()), ...sealed())).toMatchObject({ code: 1 });
  });

  byNight("does not continue a file without HMACs of the key: it is renamed first", async () => {
    await server.stop();
    const forged = rechained(await lines());
    await writeFile(log, `${forged.join("\n")}\n`);
    await using again = await startPostern(server.dataDir, ["--audit-log-key-file", keyFile]);
    await (await prepareAttack(again)).get("x");
    await again.stop();
    expect((await readFile(`${log}.1`, "utf8")).trimEnd().split("\n")).toEqual(forged);
    expect(await postern("audit", "verify", log, "--key-file", keyFile)).toMatchObject({ code: 0 });
  });
});

/** The events of requests, which are written before their answers. */
async function recordedFor(requests: () => Promise<unknown>): Promise<readonly { event: any; length: number }[]> {
  const before = (await readFile(log, "utf8")).length;
  await requests();
  const added = (await readFile(log, "utf8")).slice(before).trimEnd().split("\n");
  return added.filter((line) => line !== "").map((line) => ({ event: JSON.parse(line), length: line.length }));
}

describe("the share of strangers (ADR 141)", () => {
  const BASIC = `Basic ${Buffer.from("admin:admin").toString("base64")}`;
  const expired = async (): Promise<string> => {
    const key = await attack.newKey("over", { ttl: 3_600 });
    await attack.http("/apis/management.postern/v1/ownedaccesskeys/over", { key: attack.admin, method: "DELETE" });
    return key;
  };
  const foreign = async () => {
    const [cert, key] = [join(directory.path, "foreign.crt"), join(directory.path, "foreign.key")];
    const subject = ["-subj", "/O=system:masters/CN=admin", "-days", "1"];
    await succeed(
      tool("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...subject]),
    );
    return {
      what: "certificate",
      certificate: { cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") },
    };
  };
  const json = { "content-type": "application/json" };
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const preflight = { origin: "https://evil.example", "access-control-request-method": "DELETE" };

  it.each<[string, () => Promise<unknown>]>([
    ["no credential", () => attack.http("/api/v1/secrets")],
    ["a credential of another form", () => attack.http("/api/v1/secrets", { key: "x".repeat(5_000) })],
    ["a wrong key", () => attack.http("/api/v1/secrets", { key: `${attack.admin.slice(0, -8)}00000000` })],
    ["a key that has ended", async () => attack.http("/api/v1/secrets", { key: await expired() })],
    ["a password", () => attack.http("/api/v1/secrets", { headers: { authorization: BASIC } })],
    ["a certificate of an unknown CA", async () => attack.working([await foreign()])],
    [
      "impersonation without a credential",
      () => attack.http("/api/v1/secrets", { headers: { "impersonate-user": "admin" } }),
    ],
    ["a preflight", () => attack.http("/api/v1/secrets", { method: "OPTIONS", headers: preflight })],
    ["an unknown method", () => attack.http("/api/v1/secrets", { method: "PROPFIND" })],
    [
      "probes and the version",
      async () => {
        for (const path of ["/healthz", "/livez?verbose", "/readyz", "/version", "/metrics", "/openid/v1/jwks"])
          await attack.http(path);
      },
    ],
    [
      "the console and its assets",
      async () => {
        for (const path of ["/", "/ui", "/ui/assets/none.js", "/favicon.ico"]) await attack.http(path);
      },
    ],
    [
      "a sign-in with a wrong key",
      () => attack.http("/login/key", { method: "POST", headers: json, body: '{"key":"wrong"}' }),
    ],
    [
      "a sign-in that returns from no provider",
      () => attack.http("/login/callback/none?error=x&error_description=y&state=z"),
    ],
    [
      "a token exchange",
      () => attack.http("/oauth/token", { headers: form, body: "grant_type=x&subject_token=a.b.c" }),
    ],
    ["a test of a trust rule", () => attack.http("/apis/management.postern/v1/clustertrustrules/x/test", { body: {} })],
    ["provisioning", () => attack.http("/scim/v2/Users", { body: { userName: "x".repeat(9_000) } })],
    ["the proxy", () => attack.http(`${INSIDE}/api/v1/secrets`)],
    [
      "a cookie",
      () => attack.http("/api/v1/secrets", { headers: { cookie: `__Host-postern-session=${"x".repeat(99)}` } }),
    ],
  ])("holds %s", async (_, request) => {
    const recorded = await recordedFor(request);
    const others = recorded.filter(
      ({ event }) => event.annotations?.["access-key/name"] !== "admin" && event.user.username !== "admin",
    );
    expect(others).not.toEqual([]);
    // A key that has ended may be deleted meanwhile.
    const possible = [undefined, "system:anonymous", "system:apiserver"];
    for (const { event } of others) expect(possible).toContain(event.user.username);
  });
});

describe("texts that a client chooses (ADR 141)", () => {
  const LONG = "x".repeat(60_000);
  const PATH = "y".repeat(16_000);
  const header = (name: string) => (key: string | undefined) => attack.http("/api", { key, headers: { [name]: LONG } });
  const uri = (path: string) => (key: string | undefined) => attack.http(path, { key });

  const REQUESTS: readonly [string, (key: string | undefined) => Promise<unknown>][] = [
    ["User-Agent", header("user-agent")],
    [
      "X-Forwarded-For",
      (key) => attack.http("/api", { key, headers: { "x-forwarded-for": "10.0.0.1, ".repeat(5_000) } }),
    ],
    ["Impersonate-User", header("impersonate-user")],
    [
      "Impersonate-Group",
      (key) =>
        attack.http("/api", {
          key,
          headers: { "impersonate-user": "u", "impersonate-group": Array.from({ length: 900 }, (_, at) => `g${at}`) },
        }),
    ],
    [
      "Impersonate-Extra",
      (key) =>
        attack.http("/api", {
          key,
          headers: { "impersonate-user": "u", [`impersonate-extra-${"k".repeat(9_000)}`]: LONG },
        }),
    ],
    ["Audit-ID", header("audit-id")],
    ["a method", (key) => attack.http("/api", { key, method: "A".repeat(2_000) }).catch(() => undefined)],
    ["a name", uri(`/api/v1/namespaces/default/secrets/${PATH}`)],
    ["a namespace", uri(`/api/v1/namespaces/${PATH}/secrets`)],
    ["a resource", uri(`/apis/g/v1/${PATH}`)],
    ["a group and a version", uri(`/apis/${PATH.slice(8_010)}/${PATH.slice(8_010)}/r`)],
    ["a subresource", uri(`/api/v1/namespaces/default/pods/p/${PATH.slice(100)}`)],
    ["path segments", uri(`/${"a/".repeat(7_900)}`)],
    ["control characters", uri(`/api/v1/namespaces/default/secrets/${"%01".repeat(5_000)}`)],
    ["a field selector", uri(`/api/v1/secrets?fieldSelector=metadata.name%3D${LONG}${LONG}`)],
    ["a token of a list", uri(`/api/v1/secrets?continue=${LONG}`)],
    [
      "a field manager",
      (key) =>
        attack.http(`/api/v1/namespaces/default/configmaps?fieldManager=${LONG}`, {
          key,
          body: { metadata: { name: "x" } },
        }),
    ],
    [
      "the name in a body",
      (key) =>
        attack.http("/apis/management.postern/v1/ownedaccesskeys", {
          key,
          body: { metadata: { name: LONG, namespace: LONG, uid: LONG, resourceVersion: LONG } },
        }),
    ],
    [
      "unknown fields of a body",
      (key) =>
        attack.http("/apis/management.postern/v1/ownedaccesskeys?fieldValidation=Strict", {
          key,
          body: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`${at}${"f".repeat(900)}`, 1])),
        }),
    ],
    ["the words of a provider", uri(`/login/callback/none?error=${LONG}&error_description=${LONG}&state=s`)],
    ["the target of a proxy", uri(`/kubernetes/project/${PATH}/virtualcluster/x/api`)],
    ["a name at the proxy", uri(`${INSIDE}/api/v1/namespaces/default/secrets/${PATH.slice(200)}`)],
    ["a SCIM user", (key) => attack.http("/scim/v2/Users", { key, body: { userName: LONG, externalId: LONG } })],
    ["a SCIM filter", uri(`/scim/v2/Users?filter=userName%20eq%20%22${LONG}%22`)],
    [
      "a subject token",
      (key) =>
        attack.http("/oauth/token", {
          key,
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: `grant_type=${LONG}&audience=${LONG}`,
        }),
    ],
  ];

  it.each(REQUESTS)("are bounded in an event: %s", async (_, request) => {
    const key = await attack.newKey(`long-${randomBytes(4).toString("hex")}`);
    const recorded = await recordedFor(async () => {
      await request(undefined);
      await request(key);
    });
    // Each text has at most 1,024 characters, the URI 4,096, and a control character is six in JSON.
    for (const { length } of recorded) expect(length).toBeLessThan(40_000);
  });
});
