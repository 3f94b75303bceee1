// Who used which key where stands in the audit log, and nobody writes another one in its place.

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
} from "../e2e/testing/postern-process.ts";
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
  const flags = ["--audit-log-key-file", keyFile, "--audit-log-mode", "blocking", "--failed-logins-per-minute", "0"];
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
  const TURNS = [0, 1, 2, 3, 5, 8, 13];
  const AT_ONCE = 6;
  const CONFIG_MAPS = `${INSIDE}/api/v1/namespaces/default/configmaps`;

  it("leaves a record of whatever was done for it", async () => {
    const key = await attack.newKey("fleeting");
    const target = { url: server.url, ca: await readFile(server.caFile) };
    let unanswered = 0;
    for (const turns of TURNS) {
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
        const payload = Buffer.from([turn, 0, 0, 0, 0, 0, 0, 0]);
        session.send(FRAME.ping, 0, 0, payload);
        await session.frame(
          ({ type, flags, payload: got }) => type === FRAME.ping && flags === FLAG.ack && got[0] === turn,
        );
      }
      for (const stream of streams) {
        if (!session.received.some(({ type, stream: of }) => type === FRAME.headers && of === stream)) unanswered++;
        session.send(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8]));
      }
      const last = Buffer.from("the last");
      session.send(FRAME.ping, 0, 0, last);
      await session.frame(({ type, payload }) => type === FRAME.ping && payload.equals(last));
    }
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
    await expect.poll(unrecorded).toEqual([]);
    // Some had been begun.
    expect((await made()).length).toBeGreaterThan(0);
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
    // With the token, with the certificate, and with the old value, which is refused.
    expect(rows).toHaveLength(3);
    expect(rows).toContainEqual(expect.objectContaining({ key: "stolen", refused: 1 }));
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
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${loot.length} access keys and certificates`)]);
  expect(stderr).toContain("virtualcluster/default/demo");
  expect(stderr).not.toContain(stdout.trim());
  expect(await attack.works(stdout.trim())).toBe(true);
  expect(await attack.working(loot)).toEqual([]);
  const key = await attack.get("bad-day");
  expect([key.spec.disabled, key.metadata.annotations]).toEqual([false, undefined]);
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
