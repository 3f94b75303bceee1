// `postern doctor` over installations in which one thing at a time is really broken.

import { spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { whyNoFakeTime } from "../crash/testing/fake-time.ts";
import { mountSmallDisk } from "../crash/testing/small-disk.ts";
import { ahead, doctor, SQLITE } from "./testing/doctor.ts";
import { adminKey } from "./testing/http-client.ts";
import {
  ENTRY,
  kubectlWith,
  NODE,
  type PosternProcess,
  REPOSITORY,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";
import { makeSelfSigned } from "./testing/self-signed.ts";

/** Also where Node has one of its own. */
const DRIVER = "@photostructure/sqlite";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let copies = 0;
const file = (name: string): string => join(directory.path, name);

beforeAll(async () => {
  directory = await temporaryDirectory();
  await using server = await startPostern(file("sound"), SQLITE);
  await server.stop();
});
afterAll(() => directory?.[Symbol.asyncDispose]());

/** A data directory of a server that was stopped. */
function soundCopy(): string {
  const copy = file(`copy-${++copies}`);
  cpSync(file("sound"), copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

const DAY = 86_400;

const expectFault = async (check: string, message: RegExp, ...args: Parameters<typeof doctor>): Promise<void> => {
  const { errors } = await doctor(...args);
  expect(errors).toEqual([expect.objectContaining({ check, message: expect.stringMatching(message) })]);
};

it("finds nothing wrong with an installation that a server has just left, and changes nothing", async () => {
  const dataDir = soundCopy();
  const before = readFileSync(join(dataDir, "postern.db"));
  const { findings, errors } = await doctor(dataDir, [], []);
  expect(errors).toEqual([]);
  const checks = [
    "options",
    "node",
    "files",
    "server key",
    "disk",
    "authority",
    "certificate",
    "store",
    "key ring",
    "clusters",
  ];
  // Temporary folders of some machines are in memory, which is a finding.
  expect(findings.map(({ check }) => check).filter((check) => check !== "file system")).toEqual(checks);
  expect(readFileSync(join(dataDir, "postern.db"))).toEqual(before);
});

it("prints a line for people, with what to do below it", async () => {
  const dataDir = soundCopy();
  await chmod(join(dataDir, "server.key"), 0o644);
  const { code, stdout } = await tool(NODE, [ENTRY, "doctor", "--data-dir", dataDir, ...SQLITE]);
  expect(code).toBe(1);
  const path = join(dataDir, "server.key");
  expect(stdout).toContain(
    `ERROR   files: ${path} contains secrets, and others may read or write it\n        → chmod 600 ${path}\n`,
  );
  expect(stdout).toMatch(/^ok {6}store: /m);
});

it("fails where no server can have started: without the directory, or without that of the store", async () => {
  const nothing = file("nothing");
  for (const args of [
    ["--data-dir", nothing],
    ["--data-dir", file("sound"), "--store", `sqlite:${nothing}/postern.db`],
    ["--data-dir", file("sound/server.key/nothing")],
  ]) {
    const { code, stdout, stderr } = await tool(NODE, [ENTRY, "doctor", ...args]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^ERROR {3}(files|store): .*nothing/m)]);
    expect(stderr).toMatch(/^postern: \d errors? (was|were) found\n$/);
  }
});

describe("files", () => {
  it("that others may read or write", async () => {
    const dataDir = soundCopy();
    await chmod(dataDir, 0o777);
    await expectFault("files", /others may write to/, dataDir);
    await chmod(dataDir, 0o700);
    await chmod(join(dataDir, "admin.kubeconfig"), 0o640);
    await expectFault("files", /admin\.kubeconfig contains secrets/, dataDir);
  });

  it("a server key that is none, or another one", async () => {
    const dataDir = soundCopy();
    await writeFile(join(dataDir, "server.key"), "short\n");
    const { errors } = await doctor(dataDir);
    expect(errors.map(({ check }) => check)).toEqual(["server key", "key ring"]);
    await succeed(tool("openssl", ["rand", "-hex", "-out", join(dataDir, "server.key"), "32"]));
    await expectFault("key ring", /server\.key/, dataDir);
  });

  it("a disk that is nearly full", async ({ skip }) => {
    const dataDir = soundCopy();
    const moved = file("small");
    await mkdir(moved);
    const disk = mountSmallDisk(moved, 20 << 20);
    if (disk === undefined) return skip("only root may mount a disk");
    try {
      cpSync(dataDir, moved, { recursive: true });
      await chmod(moved, 0o700);
      await expectFault("disk", /MiB are free/, moved);
    } finally {
      disk[Symbol.dispose]();
    }
  });
});

describe("certificates", () => {
  const certificate = async (name: string, days: number): Promise<readonly string[]> => {
    const [crt, key] = [file(`${name}.crt`), file(`${name}.key`)];
    await makeSelfSigned({
      certificate: crt,
      key,
      subject: `/CN=${name}`,
      days,
      extensions: [`subjectAltName=DNS:${name}.example.com`],
    });
    return ["--tls-cert-file", crt, "--tls-private-key-file", key];
  };

  it("that expire soon, are for another name, or not of their key", async () => {
    const flags = await certificate("a", 10);
    const named = [...flags, "--external-hostname", "a.example.com"];
    const { of, errors } = await doctor(soundCopy(), named);
    expect(errors).toEqual([]);
    expect(of("certificate")[0]).toMatchObject({
      status: "warning",
      message: expect.stringMatching(/expires in \d+ days/),
    });
    await expectFault("certificate", /is not for b\.example\.com/, soundCopy(), [
      ...flags,
      "--external-hostname",
      "b.example.com",
    ]);
    const other = await certificate("other", 100);
    const mixed = ["--tls-cert-file", flags[1] ?? "", "--tls-private-key-file", other[3] ?? ""];
    await expectFault("certificate", /other\.key is not the key of \S+a\.crt/, soundCopy(), mixed);
    await expectFault("certificate", /none\.crt cannot be read \(ENOENT\)/, soundCopy(), [
      ...["--tls-cert-file", file("none.crt"), "--tls-private-key-file", other[3] ?? ""],
    ]);
  });

  it("of the server's own, for a name that it has not yet", async () => {
    const { of } = await doctor(soundCopy(), ["--external-hostname", "new.example.com"]);
    expect(of("certificate")[0]).toMatchObject({ status: "warning", remedy: "restart the server" });
  });

  it("that another authority has signed", async () => {
    const dataDir = soundCopy();
    const [, crt = "", , key = ""] = await certificate("ca", 100);
    cpSync(crt, join(dataDir, "ca.crt"));
    cpSync(key, join(dataDir, "ca.key"));
    await expectFault("certificate", /ca\.crt has not signed/, dataDir);
  });

  it.skipIf(whyNoFakeTime() !== undefined)("that have expired, or are of a time to come", async () => {
    const late = await doctor(soundCopy(), [], await ahead(file("late"), 12 * 365 * DAY));
    expect(late.errors.map(({ check }) => check)).toEqual(["authority", "certificate"]);
    expect(late.errors[0]?.message).toMatch(/ca\.crt has expired on 20/);
    const early = await doctor(soundCopy(), [], await ahead(file("early"), -10 * DAY));
    expect(early.errors[0]?.message).toMatch(/is not valid before 20/);
  });
});

describe("a database file", () => {
  const require = createRequire(join(REPOSITORY, "packages/stores/package.json"));
  const withDatabase = (path: string, sql: string): void => {
    // In a process of its own: not every driver lets go of the file before that ends.
    const driver = require.resolve(DRIVER);
    const code = `const { DatabaseSync } = require(${JSON.stringify(driver)}); new DatabaseSync(process.argv[1]).exec(process.argv[2])`;
    const { status, stderr } = spawnSync(process.execPath, ["-e", code, path, sql], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };

  it("that is damaged", async () => {
    const dataDir = soundCopy();
    const path = join(dataDir, "postern.db");
    const database = await open(path, "r+");
    const { size } = await stat(path);
    await database.write(Buffer.alloc(8192, 0xa5), 0, 8192, Math.floor(size / 2 / 4096) * 4096);
    await database.close();
    await expectFault("store", /postern\.db is damaged/, dataDir);
  });

  it("of a newer release, or of another application", async () => {
    const dataDir = soundCopy();
    withDatabase(join(dataDir, "postern.db"), "PRAGMA user_version = 99");
    await expectFault("store", /schema version 99, this release knows up to \d/, dataDir);
    withDatabase(join(dataDir, "postern.db"), "PRAGMA application_id = 1");
    await expectFault("store", /is the database of another application/, dataDir);
  });

  it("that was being restored, or lies elsewhere", async () => {
    const dataDir = soundCopy();
    const path = join(dataDir, "postern.db");
    await rename(path, `${path}.partial`);
    await expectFault("store", /restore or copy into it is running, or was interrupted/, dataDir);
    await rm(`${path}.partial`);
    expect((await doctor(dataDir)).of("store")[0]).toMatchObject({ status: "skipped" });
    await writeFile(`${path}-wal`, "left behind", { mode: 0o600 });
    await expectFault("store", /postern\.db-wal exists without it/, dataDir);
  });
});

describe("a server that runs", () => {
  it("is asked, and everything that it reaches", async () => {
    await using server = await startPostern(file("running"), SQLITE);
    const asked = await doctor(server.dataDir);
    expect(asked.errors).toEqual([]);
    expect(asked.of("server")).toEqual([
      expect.objectContaining({ status: "ok", message: expect.stringContaining(server.url) }),
    ]);
    expect(asked.of("store")[0]?.message).toContain("a server is running on");

    const kubectl = kubectlWith(server.adminKubeconfig, file("cache"));
    const cluster = {
      kind: "Cluster",
      metadata: { name: "far" },
      spec: { kubeConfigRef: { secretNamespace: "p-default", secretName: "gone" } },
    };
    await succeed(kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "management.postern/v1", ...cluster })));
    await expect
      .poll(async () => (await doctor(server.dataDir)).of("cluster far"), { interval: 200 })
      .toEqual([
        expect.objectContaining({ status: "warning", message: expect.stringContaining("KubeConfigNotFound") }),
      ]);

    // A user of sign-in from before this server was asked for another cluster's users.
    const spec = { subject: "host:jane", identities: [{ provider: "company", subject: "1" }] };
    const users = [
      { kind: "User", metadata: { name: "jane" }, spec },
      { kind: "User", metadata: { name: "given" }, spec: { subject: "host:joe" } },
    ];
    for (const user of users)
      await succeed(kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "management.postern/v1", ...user })));
    expect((await doctor(server.dataDir)).of("names")).toEqual([]);
    const forwarding = ["--requestheader-client-ca-file", server.caFile];
    expect((await doctor(server.dataDir, forwarding)).of("names")).toEqual([
      expect.objectContaining({ status: "warning", message: expect.stringMatching(/have them: jane$/) }),
    ]);

    const kubeConfig = await readFile(server.adminKubeconfig, "utf8");
    await writeFile(server.adminKubeconfig, kubeConfig.replace(/token: (\S{20})\S+/, "token: $1"));
    await expectFault("server", /cannot be reached with its kubeconfig/, server.dataDir);
    await rm(server.adminKubeconfig);
    expect((await doctor(server.dataDir)).of("server")[0]).toMatchObject({ status: "skipped" });
  });
});

it("asks the clusters that are connected, where no server does", async () => {
  const near = file("near");
  let far: PosternProcess | undefined;
  const remove = async () => await far?.[Symbol.asyncDispose]();
  try {
    far = await startPostern(file("far"), SQLITE);
    const kubeConfig = file("far.kubeconfig");
    const write = async (token: string) => {
      const text = await readFile(far?.adminKubeconfig ?? "", "utf8");
      const server = `${far?.url}/kubernetes/project/default/virtualcluster/demo`;
      await writeFile(
        kubeConfig,
        text.replace(/server: .*/, `server: ${server}`).replace(/token: .*/, `token: ${token}`),
      );
    };
    {
      await using server = await startPostern(near, SQLITE);
      const kubectl = kubectlWith(server.adminKubeconfig, file("cache"));
      for (const [name, token] of [
        ["good", await adminKey(far)],
        ["refused", "x".repeat(40)],
      ] as const) {
        await write(token);
        await succeed(
          kubectl(["create", "secret", "generic", name, "-n", "p-default", `--from-file=config=${kubeConfig}`]),
        );
        const spec = { kubeConfigRef: { secretNamespace: "p-default", secretName: name } };
        const cluster = { apiVersion: "management.postern/v1", kind: "Cluster", metadata: { name }, spec };
        await succeed(kubectl(["create", "-f", "-"], JSON.stringify(cluster)));
      }
      await server.stop();
    }
    const { of } = await doctor(near);
    expect(of("cluster good")[0]).toMatchObject({ status: "ok", message: expect.stringMatching(/ answers$/) });
    expect(of("cluster refused")[0]).toMatchObject({
      status: "error",
      message: expect.stringContaining("refuses the credential"),
    });
    await remove();
    expect((await doctor(near)).of("cluster good")[0]).toMatchObject({
      status: "error",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  } finally {
    await remove();
  }
});

it("says of options what contradicts another, and of a wrong one what is wrong", async () => {
  await expectFault("options", /--secure-port must be a whole number/, soundCopy(), ["--secure-port", "x"], []);
  const { of } = await doctor(soundCopy(), ["--bind-address", "0.0.0.0", "--bootstrap-drift", "overwrite"]);
  expect(of("options").map(({ message }) => message)).toEqual([
    "the server listens on all addresses, and kubeconfigs name 127.0.0.1",
    "--bootstrap-drift overwrite has no effect without --bootstrap-dir",
  ]);
});
