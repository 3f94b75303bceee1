// Real servers on real stores: what goes into a backup, comes back, and does not.

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfiguration } from "@postern/platform/foundation/config/configuration";
import { type RunningServer, startServer } from "@postern/platform/main";
import { findBackupKey } from "@postern/platform/operations/backup/backup-key";
import { readBackup, readBackupHeader } from "@postern/platform/operations/backup/read-backup";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const PASSPHRASE = "correct horse battery staple";

let root: string;
let passphraseFile: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "postern-cli-backup-"));
  passphraseFile = join(root, "passphrase");
  await writeFile(passphraseFile, `${PASSPHRASE}\n`);
});
afterAll(() => rm(root, { recursive: true, force: true }));

type Server = AsyncDisposable & {
  readonly kubeConfig: string;
  readonly adminKey: string;
  /** As the administrator, or with another key. */
  call(method: string, path: string, body?: object, key?: string): Promise<{ status: number; body: any }>;
};

async function start(dataDir: string): Promise<Server> {
  const configuration = await loadConfiguration({
    flags: new Map(
      Object.entries({
        "data-dir": dataDir,
        "secure-port": "0",
        "log-level": "silent",
        "shutdown-drain-seconds": "0",
      }),
    ),
    workingDirectory: root,
  });
  const server: RunningServer = await startServer(configuration);
  const ca = await readFile(server.caPath);
  const adminKey = /token: (\S+)/.exec(await readFile(server.adminKubeconfigPath, "utf8").catch(() => ""))?.[1] ?? "";
  return {
    kubeConfig: server.adminKubeconfigPath,
    adminKey,
    call: (method, path, body, key = adminKey) =>
      new Promise((resolve, reject) => {
        const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
        const headers = { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": type }) };
        const sent = request(new URL(path, server.url), { method, ca, agent: false, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : text });
          });
        });
        sent.on("error", reject);
        sent.end(body === undefined ? undefined : JSON.stringify(body));
      }),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** The value of a new key. */
async function makeKey(server: Server, name: string, spec: object = {}): Promise<string> {
  const { status, body } = await server.call("POST", KEYS, { metadata: { name }, spec });
  expect(status).toBe(201);
  return body.spec.key;
}

const isAccepted = async (server: Server, key: string): Promise<boolean> =>
  (await server.call("POST", "/apis/management.postern/v1/selves", {}, key)).status === 201;

/** A data directory with what a person brings there by hand. */
async function newDataDir(from: string, name: string): Promise<string> {
  const dataDir = join(root, name);
  for (const file of ["server.key", "ca.crt", "ca.key"])
    await cp(join(from, file), join(dataDir, file), { recursive: true });
  return dataDir;
}

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

const refusal = async (...args: string[]): Promise<string> => {
  const { code, stderr } = await runCommand(args);
  expect(code).toBe(1);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  return stderr;
};

describe("postern backup and restore", () => {
  const file = (name: string) => join(root, name);
  let origin: string;
  const values: Record<string, string> = {};

  beforeAll(async () => {
    origin = file("origin");
    await using server = await start(origin);
    for (const name of ["stays", "deleted", "disabled", "rotated", "narrowed"])
      values[name] = await makeKey(server, name);
    values["own"] = await makeKey(server, "own", { key: "a-value-that-the-client-chose-0123456789" });
    values["admin"] = server.adminKey;
    await ok("backup", "--kubeconfig", server.kubeConfig, "--out", file("online"));
    await ok("backup", "--kubeconfig", server.kubeConfig, "--out", file("sealed"), "--backup-key-file", passphraseFile);

    expect((await server.call("DELETE", `${KEYS}/deleted`)).status).toBe(200);
    await server.call("PATCH", `${KEYS}/disabled`, { spec: { disabled: true } });
    expect(
      (await server.call("POST", `${KEYS}/rotated/rotate`, { spec: { gracePeriodSeconds: 0, nonce: "once" } })).status,
    ).toBeLessThan(300);
    await server.call("PATCH", `${KEYS}/narrowed`, { spec: { scope: { projects: [{ project: "default" }] } } });
    await ok("backup", "--kubeconfig", server.kubeConfig, "--revocations-out", file("in-force"));
  });

  it("is refused to everybody but administrators", async () => {
    await using server = await start(origin);
    await server.call("POST", "/apis/management.postern/v1/users", {
      metadata: { name: "dev" },
      spec: { username: "dev", subject: "dev" },
    });
    const dev = await makeKey(server, "dev", { user: "dev" });
    const narrow = await makeKey(server, "narrow", { scope: { projects: [{ project: "*" }] } });
    for (const key of [dev, narrow]) expect((await server.call("POST", "/backup", {}, key)).status).toBe(403);
    expect((await server.call("POST", "/backup", {}, "nobody")).status).toBe(401);
    expect((await server.call("GET", "/backup")).status).toBe(405);
    expect((await server.call("POST", "/backup", { content: "x" })).status).toBe(400);
    await server.call("DELETE", `${KEYS}/dev`);
    await server.call("DELETE", `${KEYS}/narrow`);
  });

  it("a backup holds no value of a key, even when it is decrypted (security book 43)", async () => {
    const { key: source } = await readBackupHeader(file("sealed"));
    const key = await findBackupKey(source, { server: undefined, passphrase: PASSPHRASE });
    if (key === undefined) throw new Error("no key");
    const entries: Buffer[] = [];
    for await (const part of readBackup(file("sealed"), key)) {
      entries.push(...part.entries.map((entry) => Buffer.from(`${entry.key}\n${Buffer.from(entry.value)}`)));
    }
    const text = Buffer.concat([...entries, await readFile(file("sealed")), await readFile(file("in-force"))]).toString(
      "latin1",
    );
    expect(text).toContain("ownedaccesskeys/stays");
    const secrets = [...Object.values(values), (await readFile(join(origin, "server.key"), "utf8")).trim(), PASSPHRASE];
    for (const secret of secrets) {
      expect(text.includes(secret), secret).toBe(false);
      expect(text.includes(Buffer.from(secret).toString("base64").replace(/=+$/, "")), secret).toBe(false);
    }
    expect(text).not.toContain("PRIVATE KEY");
  });

  it("brings the same objects back", async () => {
    const dataDir = await newDataDir(origin, "same");
    const sealing = ["--backup-key-file", passphraseFile];
    // The same file as below: controllers may write between two backups.
    expect(await ok("restore", "--in", file("sealed"), "--data-dir", dataDir, "--keep-keys", ...sealing)).toMatch(
      /entries restored; access keys: 7 kept, 0 disabled, 0 left out/,
    );
    const again = file("again");
    await ok("backup", "--data-dir", dataDir, "--out", again, ...sealing);
    const summary = async (path: string): Promise<string> => {
      const copy = await newDataDir(origin, `copy-of-${path.split("/").at(-1)}`);
      await ok("restore", "--in", path, "--data-dir", copy, "--keep-keys", ...sealing);
      return (
        await ok("store", "copy", "--from", `sqlite:${copy}/postern.db`, "--to", `sqlite:${copy}/copy.db`)
      ).trim();
    };
    expect(await summary(again)).toBe(await summary(file("sealed")));
    await using server = await start(dataDir);
    expect(server.adminKey).toBe("");
    expect(await isAccepted(server, values["stays"] ?? "")).toBe(true);
  });

  it.each([
    ["a list of the keys in force", () => ["--revocations", file("in-force")]],
    ["the newer store", () => ["--newer-store", `sqlite:${join(origin, "postern.db")}`]],
  ])("does not bring revoked keys back with %s", async (name, choice) => {
    const dataDir = await newDataDir(origin, name.replaceAll(" ", "-"));
    const said = await ok("restore", "--in", file("online"), "--data-dir", dataDir, ...choice());
    expect(said).toMatch(/access keys: 3 kept, 2 disabled, 2 left out/);
    await using server = await start(dataDir);
    for (const name of ["stays", "own", "admin"]) expect(await isAccepted(server, values[name] ?? ""), name).toBe(true);
    for (const name of ["deleted", "disabled", "rotated", "narrowed"]) {
      expect(await isAccepted(server, values[name] ?? ""), name).toBe(false);
    }
  });

  it("disables all keys on demand, and the next start gives the administrator another one", async () => {
    const dataDir = await newDataDir(origin, "disable");
    await ok("restore", "--in", file("online"), "--data-dir", dataDir, "--disable-all-keys");
    await using server = await start(dataDir);
    for (const [name, value] of Object.entries(values)) expect(await isAccepted(server, value), name).toBe(false);
    expect(await isAccepted(server, server.adminKey)).toBe(true);
  });

  it("refuses what it cannot do right, in one line, and writes nothing", async () => {
    const dataDir = await newDataDir(origin, "refused");
    const restore = (...args: string[]) => refusal("restore", "--data-dir", dataDir, ...args);
    expect(await restore("--in", file("online"))).toMatch(/use one of --revocations/);
    expect(await restore("--in", file("online"), "--keep-keys", "--disable-all-keys")).toMatch(/use one of/);
    expect(await restore("--in", file("nowhere"), "--keep-keys")).toMatch(/cannot be read \(ENOENT\)/);
    expect(await restore("--in", passphraseFile, "--keep-keys")).toMatch(/not a backup of Postern/);
    expect(await restore("--in", file("sealed"), "--keep-keys")).toMatch(/--backup-key-file/);

    await writeFile(file("wrong"), "another passphrase");
    expect(await restore("--in", file("sealed"), "--keep-keys", "--backup-key-file", file("wrong"))).toMatch(
      /another passphrase/,
    );
    const bytes = await readFile(file("online"));
    await writeFile(file("truncated"), bytes.subarray(0, bytes.length - 20));
    expect(await restore("--in", file("truncated"), "--keep-keys")).toMatch(/incomplete/);
    bytes.writeUInt8(bytes.readUInt8(5_000) ^ 1, 5_000);
    await writeFile(file("tampered"), bytes);
    expect(await restore("--in", file("tampered"), "--keep-keys")).toMatch(/damaged/);

    const list = await readFile(file("in-force"), "utf8");
    await writeFile(file("forged"), list.replace('"inForce":false', '"inForce":true '));
    expect(await restore("--in", file("online"), "--revocations", file("forged"))).toMatch(/--revocations is damaged/);
    await ok("backup", "--data-dir", origin, "--out", file("newer"));
    expect(await restore("--in", file("newer"), "--revocations", file("in-force"))).toMatch(/newer than the backup/);

    await expect(readFile(join(dataDir, "postern.db"))).rejects.toThrow("ENOENT");
    expect(await refusal("restore", "--in", file("online"), "--data-dir", origin, "--keep-keys")).toMatch(
      /already exists/,
    );
    await rm(join(dataDir, "server.key"));
    expect(await restore("--in", file("online"), "--keep-keys")).toMatch(/server\.key is missing/);
    await writeFile(join(dataDir, "server.key"), "ab".repeat(32));
    expect(await restore("--in", file("online"), "--keep-keys")).toMatch(/another server key/);
    expect(await refusal("backup", "--data-dir", origin)).toMatch(/nothing to write/);
    expect(await refusal("backup", "--data-dir", file("void"), "--out", file("x"))).toMatch(/missing|does not exist/);
  });

  it("reports a server that runs on the database", async () => {
    await using _ = await start(origin);
    expect(await refusal("backup", "--data-dir", origin, "--out", file("locked"))).toMatch(/in use by another server/);
  });
});

describe("access for a time and one-time values", () => {
  const API = "/apis/management.postern/v1";
  const file = (name: string) => join(root, `once-${name}`);
  const origin = () => file("origin");
  const UNKNOWN = /is unknown or has expired/;
  const people: Record<string, string> = {};
  const wrapped: Record<string, string> = {};

  const made = async (server: Server, path: string, body: object, key?: string): Promise<any> => {
    const answer = await server.call("POST", `${API}/${path}`, body, key);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body;
  };
  const seesProject = async (server: Server, name: string): Promise<boolean> =>
    (await server.call("GET", `${API}/projects/default`, undefined, people[name])).status === 200;
  /** "" where it reads its credential. */
  const refusalOf = async (server: Server, name: string): Promise<string> => {
    const { status, body } = await server.call("POST", "/unwrap", { value: wrapped[name] }, "");
    return status === 200 ? "" : body.message;
  };

  beforeAll(async () => {
    await using server = await start(origin());
    for (const name of ["keeps", "loses"]) {
      await made(server, "users", { metadata: { name } });
      people[name] = await makeKey(server, name, { user: name });
    }
    await made(server, "clusteraccesspolicies", {
      metadata: { name: "viewers" },
      spec: {
        requesters: { users: ["keeps", "loses"] },
        targets: [{ kind: "Project", projects: ["default"], roles: ["postern:project-viewer"] }],
        maxDurationSeconds: 86_400,
        autoApprove: "true",
      },
    });
    for (const name of ["keeps", "loses"]) {
      const spec = {
        policy: { name: "viewers" },
        target: { project: "default" },
        role: "postern:project-viewer",
        durationSeconds: 86_400,
        reason: "test",
      };
      await made(server, "accessrequests", { metadata: { name }, spec }, people[name]);
      expect(await seesProject(server, name)).toBe(true);
    }
    for (const name of ["read", "later", "before"]) {
      const { status } = await made(server, "ownedaccesskeys?wrap=1h", {
        metadata: { name: `wrapped-${name}` },
        spec: {},
      });
      wrapped[name] = status.wrapped.value;
    }
    expect(await refusalOf(server, "before")).toBe("");
    await ok("backup", "--kubeconfig", server.kubeConfig, "--out", file("backup"));

    await made(server, "accessrequests/loses/approval", { spec: { decision: "Revoke" } });
    expect(await seesProject(server, "loses")).toBe(false);
    expect(await refusalOf(server, "read")).toBe("");
    await ok("backup", "--kubeconfig", server.kubeConfig, "--revocations-out", file("in-force"));
  });

  const restored = async (name: string, ...choice: readonly string[]) => {
    const dataDir = await newDataDir(origin(), `once-${name}`);
    await cp(join(origin(), "admin.kubeconfig"), join(dataDir, "admin.kubeconfig"));
    const said = await ok("restore", "--in", file("backup"), "--data-dir", dataDir, ...choice);
    return { said, server: await start(dataDir) };
  };

  it.each([
    ["a list", () => ["--revocations", file("in-force")]],
    ["a newer store", () => ["--newer-store", `sqlite:${join(origin(), "postern.db")}`]],
  ])("what was revoked or used after the backup does not come back with %s", async (name, choice) => {
    const { said, server } = await restored(name.replaceAll(" ", "-"), ...choice());
    await using _ = server;
    expect(said).toContain("1 approved access requests left out");
    expect(said).toContain("2 one-time values left out");
    expect(await seesProject(server, "keeps")).toBe(true);
    expect(await seesProject(server, "loses")).toBe(false);
    // The key inside is good: the value is what is refused.
    expect(await refusalOf(server, "read")).toMatch(UNKNOWN);
    expect(await refusalOf(server, "later")).toMatch(UNKNOWN);
    // A reading before the backup is still noticed.
    expect(await refusalOf(server, "before")).toMatch(/was read at/);
  });

  it("nothing of it comes back with --disable-all-keys, and all of it with --keep-keys", async () => {
    const disabled = await restored("disable", "--disable-all-keys");
    expect(disabled.said).toContain("2 approved access requests left out");
    expect(await refusalOf(disabled.server, "later")).toMatch(UNKNOWN);
    await disabled.server[Symbol.asyncDispose]();

    const kept = await restored("keep", "--keep-keys");
    await using server = kept.server;
    expect(kept.said).not.toContain("left out,");
    for (const name of ["keeps", "loses"]) expect(await seesProject(server, name)).toBe(true);
  });
});
