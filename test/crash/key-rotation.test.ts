// The key ring under real processes: a rotation that is cut by kill -9, two servers on one store, and what is on disk meanwhile.

import { cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { type ExpectStatic, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient, insist } from "../e2e/testing/http-client.ts";
import {
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
} from "../e2e/testing/postern-process.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const CANARY = "canary-at-rest-b71f";
const COUNT = 500;
const WAIT = { timeout: 60_000, interval: 50 };
/** The tests read, copy and move its database file. */
const SQLITE = ["--store", "sqlite"];

type Ring = {
  readonly keys: readonly { readonly id: string; readonly isPrimary: boolean; readonly accessKeys: number }[];
  readonly reencryption: { readonly primary: string; readonly finishedAt?: number; readonly left: number } | null;
};

const keyIds = ({ keys }: Ring): readonly string[] => keys.map(({ id }) => id);

type Connected = Awaited<ReturnType<typeof connect>>;

async function connect(server: PosternProcess) {
  const [http, key] = [await httpClient(server), await adminKey(server)];
  return { http, key, ring: async (): Promise<Ring> => (await http("/keyring", { key })).body };
}

async function createSecret(http: HttpClient, key: string, name: string): Promise<void> {
  const data = { password: Buffer.from(CANARY).toString("base64") };
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name }, data };
  await insist(async () => {
    const { status, text } = await http(SECRETS, { key, body });
    // One that is sent again may have been done.
    expect([201, 409], text).toContain(status);
  });
}

async function createSecrets(http: HttpClient, key: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    const names = Array.from({ length: Math.min(50, count - from) }, (_, at) => `s${from + at}`);
    await Promise.all(names.map((name) => createSecret(http, key, name)));
  }
}

/** Resolves, when Secrets are being watched, with what resolves when one is changed. */
async function firstChange(server: PosternProcess, key: string): Promise<{ readonly seen: Promise<void> }> {
  const [http, ca] = [await httpClient(server), await readFile(server.caFile)];
  const { resourceVersion } = (await http(`${SECRETS}?limit=1`, { key })).body.metadata;
  const url = `${server.url}${SECRETS}?watch=1&resourceVersion=${resourceVersion}`;
  return await new Promise((resolve) => {
    let isSeen = false;
    const seen = new Promise<void>((onSeen) => {
      const open = (): void => {
        const sent = request(url, { ca, agent: false, headers: { authorization: `Bearer ${key}` } }, (response) => {
          // The server is killed with the watch open.
          response.on("error", () => {});
          response.once("data", () => {
            isSeen = true;
            onSeen();
          });
          resolve({ seen });
        });
        // Of a thread that has ended, until the server is killed.
        sent.on("error", () => {}).once("close", () => void (isSeen || setTimeout(open, 20)));
        sent.end();
      };
      open();
    });
  });
}

async function assertSecrets(http: HttpClient, key: string, count: number): Promise<void> {
  const { body } = await http(SECRETS, { key });
  const values = body.items.map(({ data }: any) => Buffer.from(data?.password ?? "", "base64").toString());
  expect(values).toEqual(Array.from({ length: count }, () => CANARY));
}

async function createKey(http: HttpClient, key: string, name: string): Promise<string> {
  let tries = 0;
  return await insist(async () => {
    // A name that was not answered may be taken.
    const metadata = { name: `${name}${"-again".repeat(tries++)}` };
    const body = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata };
    return (await http(KEYS, { key, body })).body.spec.key;
  });
}

/** Once. */
async function rotate({ http, key, ring }: Connected): Promise<void> {
  const before = keyIds(await ring())[0];
  await insist(async () => {
    if (keyIds(await ring())[0] === before) await http("/keyring", { key, body: { action: "rotate" } });
  });
}

/** Which keys of the ring the Secrets in a database file are under, and how many under each. */
async function keysOnDisk(path: string): Promise<ReadonlyMap<string, number>> {
  await using storage = await openSqliteStorage({ path });
  const { entries } = await storage.list("/registry/management/core/secrets/");
  const found = new Map<string, number>();
  for (const { value } of entries) {
    const id = /^postern:aes256gcm:v1:([0-9a-f]{8}):/.exec(Buffer.from(value).toString("latin1"))?.[1] ?? "plain";
    found.set(id, (found.get(id) ?? 0) + 1);
  }
  return found;
}

async function bytesOf(folder: string, pattern: RegExp): Promise<string> {
  const names = (await readdir(folder)).filter((name) => pattern.test(name));
  expect(names.length).toBeGreaterThan(0);
  return (await Promise.all(names.map((name) => readFile(join(folder, name), "latin1")))).join("\n");
}

type CutRotation = {
  readonly dataDir: string;
  /** The key of the ring before it. */
  readonly before: string;
  /** Access keys: an unused one, and the administrator's. */
  readonly unused: string;
  readonly admin: string;
};

/** Kills a server in the middle of a rotation; undefined where the machine was so busy that all was over by then. */
async function cutRotation(dataDir: string, expect: ExpectStatic): Promise<CutRotation | undefined> {
  await using server = await startPostern(dataDir, SQLITE);
  const connected = await connect(server);
  const { http, key, ring } = connected;
  await createSecrets(http, key, COUNT);
  const unused = await createKey(http, key, "unused");
  const before = (await ring()).keys[0]?.id ?? "";
  expect(await bytesOf(dataDir, /^postern\.db/)).not.toContain(Buffer.from(CANARY).toString("base64"));
  const rewritten = await firstChange(server, key);
  // The answer may come when all is over; the first change comes before most others.
  rotate(connected).catch(() => {});
  await rewritten.seen;
  await server.stop("SIGKILL");
  // A step has 64 values.
  const onDisk = await keysOnDisk(join(dataDir, "postern.db"));
  expect([...onDisk.values()].reduce((sum, count) => sum + count, 0)).toBe(COUNT);
  return onDisk.size === 2 ? { dataDir, before, unused, admin: key } : undefined;
}

it.concurrent(`a killed rotation continues after the next start, and no access key stops working`, async ({
  expect,
}) => {
  await using directory = await temporaryDirectory();
  let cut: CutRotation | undefined;
  for (let tried = 0; cut === undefined; tried++)
    cut = await cutRotation(join(directory.path, `data-${tried}`), expect);
  const { dataDir, before, unused, admin } = cut;

  await using server = await startPostern(dataDir, SQLITE);
  const { http, key, ring } = await connect(server);
  expect(key).toBe(admin);
  await assertSecrets(http, key, COUNT);
  const rotated = await ring();
  expect(keyIds(rotated)).toEqual([expect.not.stringMatching(before), before]);
  await expect.poll(async () => (await ring()).reencryption?.finishedAt, WAIT).toBeGreaterThan(0);
  // The administrator's key has been used since, the other one not: its digest holds the old key on the ring.
  await expect.poll(async () => (await ring()).keys[1]?.accessKeys, WAIT).toBe(1);
  const flags = ["--kubeconfig", server.adminKubeconfig];
  await insist(async () => {
    expect((await postern("encryption-key", "status", ...flags)).stderr).toContain("unused");
  });
  expect((await http("/apis", { key: unused })).status).toBe(200);
  await expect.poll(async () => keyIds(await ring()), WAIT).toEqual([rotated.keys[0]?.id]);
  expect((await http("/apis", { key: unused })).status).toBe(200);
  expect((await http("/apis", { key: admin })).status).toBe(200);
  await assertSecrets(http, key, COUNT);
  await server.stop();
  expect([...(await keysOnDisk(join(dataDir, "postern.db")))]).toEqual([[rotated.keys[0]?.id, COUNT]]);
});

it.concurrent("backups and copies of a store with a ring are whole; another server key is refused and changes nothing", async ({
  expect,
}) => {
  await using directory = await temporaryDirectory();
  const at = (...names: readonly string[]) => join(directory.path, ...names);
  let admin = "";
  {
    await using server = await startPostern(at("data"), SQLITE);
    const { http, key } = await connect(server);
    admin = key;
    await createSecrets(http, key, 50);
    const flags = ["--kubeconfig", server.adminKubeconfig];
    await insist(() => succeed(postern("encryption-key", "rotate", ...flags)));
    let tries = 0;
    const folder = () => at(`backup-${++tries}`);
    await insist(() => succeed(postern("backup", ...flags, "--out", folder())));
    await rename(at(`backup-${tries}`), at("backup"));
    await server.stop();
  }
  for (const name of ["restored", "copied", "wrong"]) {
    await mkdir(at(name));
    for (const file of ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"])
      await cp(at("data", file), at(name, file));
  }
  await succeed(postern("restore", "--in", at("backup"), "--data-dir", at("restored"), "--keep-keys"));
  const [from, to] = [at("data", "postern.db"), at("copied", "postern.db")];
  await succeed(postern("store", "copy", "--from", `sqlite:${from}`, "--to", `sqlite:${to}`));
  for (const name of ["restored", "copied"]) {
    await using server = await startPostern(at(name), SQLITE);
    const { http } = await connect(server);
    await assertSecrets(http, admin, 50);
    await server.stop();
  }

  await cp(from, at("wrong", "postern.db"));
  await writeFile(at("wrong", "server.key"), `${"ab".repeat(32)}\n`, { mode: 0o600 });
  const refused = await postern("serve", "--data-dir", at("wrong"), "--secure-port", "0");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(
    /key ring is encrypted with server key [0-9a-f]{8}, not with the given one .*--previous/,
  );
  // The right one, from a command, as a key management service would give it.
  const command = `cat ${at("data", "server.key")}`;
  await writeFile(at("wrong", "config.yaml"), `serverKeyCommand: ${JSON.stringify(command)}\n`);
  await using server = await startPostern(at("wrong"), [...SQLITE, "--config", at("wrong", "config.yaml")]);
  await assertSecrets((await connect(server)).http, admin, 50);
});

it.concurrent("two servers on etcd share the ring: each decrypts at once what the other encrypted with a new key", async ({
  expect,
  skip,
}) => {
  const reason = whyNoEtcd();
  if (reason !== undefined) return skip(reason);
  await using etcd = await startEtcd();
  await using directory = await temporaryDirectory();
  const [first, second] = [join(directory.path, "a"), join(directory.path, "b")];
  const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`];
  await using a = await startPostern(first, flags);
  await mkdir(second);
  for (const file of ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"])
    await cp(join(first, file), join(second, file));
  await using b = await startPostern(second, flags);
  const [onA, onB] = [await connect(a), await connect(b)];
  const key = onA.key;
  const data = { password: Buffer.from(CANARY).toString("base64") };
  for (let round = 0; round < 3; round++) {
    const [here, there] = round % 2 === 0 ? [onA, onB] : [onB, onA];
    await rotate(here);
    const name = `s${round}`;
    await createSecret(here.http, key, name);
    expect((await there.http(`${SECRETS}/${name}`, { key })).body.data).toEqual(data);
    const made = await createKey(here.http, key, `k${round}`);
    expect((await there.http("/apis", { key: made })).status).toBe(200);
    expect(keyIds(await there.ring())).toEqual(keyIds(await here.ring()));
  }
  // Another server may still be about to write under them: for ten minutes no key goes.
  expect((await onB.ring()).keys).toHaveLength(4);
  await expect.poll(async () => (await onB.ring()).reencryption?.finishedAt, WAIT).toBeGreaterThan(0);
  expect((await onA.ring()).keys).toHaveLength(4);
  await assertSecrets(onB.http, key, 3);
});
