// A store that moves: from SQLite into etcd with TLS and client certificates, to a second server there, and back; and what operators
// get wrong on the way. Keys that were made before work wherever it is, and those that were revoked nowhere.

import { cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import {
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const SQLITE = ["--store", "sqlite"];

const reason = whyNoEtcd();

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let etcd: EtcdCluster;
/** The flags by which the cluster is reached. */
let tls: readonly string[];
let store: string;
const at = (...names: readonly string[]): string => join(directory.path, ...names);

async function makeCertificates(): Promise<void> {
  const openssl = (...args: readonly string[]) => succeed(tool("openssl", args));
  const key = (name: string) => ["-newkey", "rsa:2048", "-nodes", "-keyout", at(`${name}.key`)];
  const authority = ["-subj", "/CN=etcd-ca", "-days", "1", "-out", at("etcd-ca.crt")];
  await openssl("req", "-x509", ...key("etcd-ca"), ...authority);
  for (const name of ["member", "client"]) {
    const names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
    await openssl("req", ...key(name), "-subj", `/CN=${name}`, ...names, "-out", at(`${name}.csr`));
    const signer = ["-CA", at("etcd-ca.crt"), "-CAkey", at("etcd-ca.key"), "-CAcreateserial", "-days", "1"];
    await openssl(
      "x509",
      "-req",
      "-in",
      at(`${name}.csr`),
      ...signer,
      "-copy_extensions",
      "copy",
      "-out",
      at(`${name}.crt`),
    );
  }
}

beforeAll(async () => {
  if (reason !== undefined) return;
  directory = await temporaryDirectory();
  await makeCertificates();
  const files = { "--cert-file": "member.crt", "--key-file": "member.key", "--trusted-ca-file": "etcd-ca.crt" };
  const flags = Object.entries(files).flatMap(([flag, name]) => [flag, at(name)]);
  etcd = await startEtcd({ size: 3, scheme: "https", flags: [...flags, "--client-cert-auth"] });
  store = `etcd://${etcd.endpoints.map((endpoint) => endpoint.replace("127.0.0.1", "localhost")).join(",")}`;
  tls = ["--etcd-cafile", at("etcd-ca.crt"), "--etcd-certfile", at("client.crt"), "--etcd-keyfile", at("client.key")];
});

afterAll(async () => {
  await etcd?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

async function refuses(outcome: ReturnType<typeof postern>, line: RegExp): Promise<void> {
  const { code, stderr } = await outcome;
  expect(stderr).toMatch(line);
  // Lines of the log come before it, as a warning where the directory is in memory.
  expect(stderr).toMatch(/^(?:\{[^\n]+\n)*postern: [^\n]+\n$/);
  expect(stderr).not.toContain("unexpected failure");
  expect(code).toBe(1);
}

async function make(http: HttpClient, key: string, name: string): Promise<string> {
  const { status, body } = await http(KEYS, { key, body: { metadata: { name }, spec: {} } });
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined });
  return body.spec.key;
}

const statusOf = async (server: PosternProcess, key: string): Promise<number> =>
  (await (await httpClient(server))("/apis", { key })).status;

async function copyFiles(from: string, to: string, files: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const file of files) await cp(join(from, file), join(to, file));
}

const copy = (from: string, to: string, ...flags: readonly string[]) =>
  postern("store", "copy", "--from", from, "--to", to, ...tls, ...flags);

describe.skipIf(reason !== undefined)("a store that moves", () => {
  let stays: string;
  let revoked: string;
  let data: string;

  beforeAll(async () => {
    data = at("data");
    await using server = await startPostern(data, SQLITE);
    const [http, admin] = [await httpClient(server), await adminKey(server)];
    stays = await make(http, admin, "stays");
    revoked = await make(http, admin, "revoked");
    await http(`${KEYS}/revoked`, { key: admin, method: "DELETE" });
    await refuses(copy(`sqlite:${data}/postern.db`, store), /in use by another server: stop it/);
    expect(await server.stop()).toBe(0);
  });

  it("is refused with the flag that is wrong", async () => {
    const database = `sqlite:${data}/postern.db`;
    await refuses(copy(`${data}/postern.db`, store), /--from must be sqlite, sqlite:<file>/);
    await refuses(copy(database, "https://localhost:2379"), /--to must be sqlite, sqlite:<file>/);
    await refuses(copy("memory", store), /a store in memory exists only in its server: .*--from/);
    await refuses(copy(`sqlite:${at("nowhere.db")}`, store), /nowhere\.db does not exist: correct --from/);
    await refuses(
      copy(store, `sqlite:${at("x.db")}`, "--etcd-prefix", "/nobody"),
      /nothing in .*\/nobody.*--etcd-prefix/,
    );
    const [ca, ...withoutCertificate] = [tls.slice(0, 2), "store", "copy", "--from", database, "--to", store];
    await refuses(postern(...withoutCertificate, ...ca), /cannot be used: .*client certificate.*--etcd-certfile/);
    expect(await readdir(directory.path)).not.toContain("x.db");
  });

  it("serves its keys from etcd and from SQLite again, also while a member of etcd is down", async () => {
    const there = await succeed(copy(`sqlite:${data}/postern.db`, store));
    expect(there).toMatch(/^[1-9]\d* entries copied and compared, SHA-256 [0-9a-f]{64}\n$/);
    await refuses(copy(`sqlite:${data}/postern.db`, store), /the store is not empty/);

    const second = at("second");
    {
      await using first = await startPostern(data, ["--store", store, ...tls]);
      expect([await statusOf(first, stays), await statusOf(first, revoked)]).toEqual([200, 401]);
      await refuses(copy(store, `sqlite:${at("early.db")}`), /a server runs on the store of --from/);

      // A directory that lacks a file of the first one: the message names it, and no new one is made that no client would trust.
      const serve = () => postern("serve", "--data-dir", second, "--secure-port", "0", "--store", store, ...tls);
      await refuses(serve(), /server\.key is missing.*copy it from another server on this store/);
      expect(await readdir(second)).toEqual(["server.lock"]);
      await copyFiles(data, second, ["server.key"]);
      await refuses(serve(), /ca\.crt and ca\.key are missing.*copy both from one of them/);
      await copyFiles(data, second, ["ca.crt", "ca.key"]);
      await using other = await startPostern(second, ["--store", store, ...tls]);
      expect([await statusOf(other, stays), await statusOf(other, revoked)]).toEqual([200, 401]);

      await etcd.members[0]?.kill();
      const [http, admin] = [await httpClient(first), await adminKey(first)];
      // The others may have to choose a leader first: until then writes are answered 503, and may be sent again.
      const made: string[] = [];
      const tryToMake = async (): Promise<number> => {
        const { status, body } = await http(KEYS, {
          key: admin,
          body: { metadata: { generateName: "late-" }, spec: {} },
        });
        if (status === 201) made.push(body.spec.key);
        return status;
      };
      await expect.poll(tryToMake).toBe(201);
      // Which of the others leads may not be known to it yet: then it says that it does not know, and never that the key is wrong.
      await expect.poll(() => statusOf(other, made[0] ?? "")).not.toBe(503);
      expect(await statusOf(other, made[0] ?? "")).toBe(200);
      for (const server of [first, other]) {
        await expect.poll(async () => (await (await httpClient(server))("/readyz")).text).toBe("ok");
      }
      await etcd.members[0]?.restart();
      expect([await first.stop(), await other.stop()]).toEqual([0, 0]);
    }

    await copyFiles(data, at("back"), ["server.key", "ca.crt", "ca.key", "admin.kubeconfig"]);
    await succeed(copy(store, `sqlite:${at("back", "postern.db")}`));
    await using back = await startPostern(at("back"), SQLITE);
    expect([await statusOf(back, stays), await statusOf(back, revoked)]).toEqual([200, 401]);
    expect(await statusOf(back, await adminKey(back))).toBe(200);
  });

  it("that is missed by its server costs no administrator the kubeconfig", async () => {
    const mine = await readFile(join(data, "admin.kubeconfig"), "utf8");
    // Another installation in the same place, on purpose.
    for (let start = 0; start < 2; start++) {
      await using server = await startPostern(data, [
        ...["--store", store, ...tls],
        ...["--etcd-prefix", "/slip", "--etcd-new-installation"],
      ]);
      expect(await statusOf(server, stays)).toBe(401);
      expect(await server.stop()).toBe(0);
    }
    const token = (text: string) => /token: (\S+)/.exec(text)?.[1];
    expect(token(await readFile(join(data, "admin.kubeconfig"), "utf8"))).not.toBe(token(mine));
    expect(token(await readFile(join(data, "admin.kubeconfig.1"), "utf8"))).toBe(token(mine));
    expect((await readdir(data)).filter((name) => name.startsWith("admin"))).toHaveLength(2);
  });
});

it("a backup from before the server key was replaced comes back, without what was revoked since", async () => {
  await using folder = await temporaryDirectory();
  const here = (...names: readonly string[]): string => join(folder.path, ...names);
  const files = ["ca.crt", "ca.key", "admin.kubeconfig"];
  let stays = "";
  let revoked = "";
  {
    await using server = await startPostern(here("data"), SQLITE);
    const [http, admin] = [await httpClient(server), await adminKey(server)];
    [stays, revoked] = [await make(http, admin, "stays"), await make(http, admin, "revoked")];
    await succeed(postern("backup", "--kubeconfig", server.adminKubeconfig, "--out", here("backup")));
    await server.stop();
  }
  await cp(here("data", "server.key"), here("old.key"));
  await succeed(tool("openssl", ["rand", "-hex", "-out", here("data", "server.key"), "32"]));
  const previous = ["--previous-server-key-file", here("old.key")];
  {
    await using server = await startPostern(here("data"), [...SQLITE, ...previous]);
    const [http, admin] = [await httpClient(server), await adminKey(server)];
    const before = await postern("encryption-key", "status", "--kubeconfig", server.adminKubeconfig);
    expect(before.stderr).toMatch(/encrypted with 2 server keys.*postern encryption-key rotate/);
    const rotated = await postern("encryption-key", "rotate", "--kubeconfig", server.adminKubeconfig);
    expect(rotated.stderr).toMatch(/encrypted with server key [0-9a-f]{8} only/);
    await http(`${KEYS}/revoked`, { key: admin, method: "DELETE" });
    await succeed(postern("backup", "--kubeconfig", server.adminKubeconfig, "--revocations-out", here("in-force")));
    await server.stop();
  }

  await copyFiles(here("data"), here("new"), ["server.key", ...files]);
  const restore = ["restore", "--in", here("backup"), "--data-dir", here("new")];
  const list = ["--revocations", here("in-force")];
  await refuses(postern(...restore, ...list), /another server key than the given one.*--previous-server-key-file/);
  const said = await succeed(postern(...restore, ...list, ...previous));
  expect(said).toMatch(/access keys: 2 kept, 0 disabled, 1 left out/);
  expect(said).toMatch(/encrypted with the previous server key: serve it with --previous-server-key-file/);
  await refuses(
    postern("serve", "--data-dir", here("new"), "--secure-port", "0", ...SQLITE),
    /encrypted with server key [0-9a-f]{8}, not with the given one/,
  );
  {
    await using server = await startPostern(here("new"), [...SQLITE, ...previous]);
    expect([await statusOf(server, stays), await statusOf(server, revoked)]).toEqual([200, 401]);
    await succeed(postern("encryption-key", "rotate", "--kubeconfig", server.adminKubeconfig));
    await server.stop();
  }
  await using server = await startPostern(here("new"), SQLITE);
  expect([await statusOf(server, stays), await statusOf(server, revoked)]).toEqual([200, 401]);
});
