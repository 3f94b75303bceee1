// Operators' mistakes at the start, with the real program: one line that says what it is and how to mend it, and nothing lost.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { appendFile, cp, mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight, casesOf } from "../../tools/test-cost/by-night.ts";
import { adminKey } from "./testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";
import { defaultStoreFlags, defaultStoreName } from "./testing/stores.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
/** A directory that a server has used and left in order. */
let used: string;
let copies = 0;

const storeName = defaultStoreName();
const isDurable = storeName !== "memory";
/** The store of that directory, which its copies have too. */
const storeOfUsed = (): readonly string[] => defaultStoreFlags(used);

beforeAll(async () => {
  directory = await temporaryDirectory();
  used = join(directory.path, "used");
  const server = await startPostern(used, storeOfUsed());
  expect(await server.stop()).toBe(0);
});

afterAll(async () => await directory?.[Symbol.asyncDispose]());

async function copyOfUsed(): Promise<string> {
  copies += 1;
  const copy = join(directory.path, `copy-${copies}`);
  await cp(used, copy, { recursive: true });
  return copy;
}

/** Every file with a digest of what it holds. */
async function contentOf(path: string): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(path, { recursive: true, withFileTypes: true });
  const digests = files
    .filter((file) => file.isFile())
    .map(async (file): Promise<[string, string]> => {
      const name = join(file.parentPath, file.name);
      return [
        name,
        createHash("sha256")
          .update(await readFile(name))
          .digest("hex"),
      ];
    });
  return new Map((await Promise.all(digests)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const serve = (dataDir: string, ...flags: readonly string[]) =>
  postern("serve", "--data-dir", dataDir, "--secure-port", "0", ...defaultStoreFlags(dataDir), ...flags);

/** One line on standard error, nothing on the other, a failure. */
async function refuses(outcome: ReturnType<typeof postern>, line: RegExp): Promise<void> {
  const { code, stdout, stderr } = await outcome;
  expect(stderr).toMatch(line);
  expect(stderr).toMatch(/^postern: [^\n]+\n$/);
  expect(stderr).not.toContain("unexpected failure");
  expect(stdout).toBe("");
  expect(code).not.toBe(0);
}

type Refused = readonly [flags: readonly string[], line: RegExp];

const FIRST_REFUSED: Refused = [["--secure-prot", "1"], /unknown option '--secure-prot'.*--secure-port/];
const REFUSED_FLAGS: readonly Refused[] = [
  FIRST_REFUSED,
  [["extra"], /too many arguments/],
  [["--secure-port", "http"], /--secure-port must be a whole number from 0 to 65535, not "http"/],
  [
    ["--store", "etcd://127.0.0.1:1"],
    /etcd at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1: check that etcd runs/,
  ],
  [["--tls-cert-file", "/nowhere/x", "--tls-private-key-file", "/nowhere/y"], /\/nowhere\/x does not exist/],
  [
    ["--bind-address", "192.0.2.1"],
    /192\.0\.2\.1 is not an address of this machine: choose another with --bind-address/,
  ],
];

/** Of values of options, one each: the others are those of configuration.test.ts. By day one that is read, and one that is used. */
describe("a command line", () => {
  it.each(casesOf(REFUSED_FLAGS, (each, index) => each === FIRST_REFUSED || index === REFUSED_FLAGS.length - 1))(
    "with %j is refused",
    async (flags, line) => {
      await refuses(serve(join(directory.path, "never"), ...flags), line);
    },
  );

  it("with an unknown command is refused", () => refuses(postern("sevre"), /unknown command 'sevre'.*serve/));
});

describe("a configuration file", () => {
  const texts: readonly (readonly [text: string, line: RegExp])[] = [
    ["a: [", /is not valid YAML/],
    ["nonsense: 1", /unknown option nonsense/],
    ["shutdownDrainSeconds: many", /shutdownDrainSeconds must be a whole number/],
  ];
  it.each(casesOf(texts, (_, index) => index === 0))("that holds %j is refused", async (text, line) => {
    const file = join(directory.path, "config.yaml");
    await writeFile(file, text);
    await refuses(serve(join(directory.path, "never"), "--config", file), line);
  });

  it("that is not there is refused", () =>
    refuses(
      serve(join(directory.path, "never"), "--config", "/nowhere/c.yaml"),
      /cannot read .*\/nowhere\/c\.yaml.*--config/,
    ));
});

/** The damage, how it is done, and the line that reports it. */
type Damage = readonly [what: string, damage: (path: string) => Promise<unknown>, line: RegExp];

const DAMAGES_OF_DATABASE: readonly Damage[] = [
  [
    "a database that is none",
    (path) => writeFile(join(path, "postern.db"), "x".repeat(8192)),
    /postern\.db cannot be used: .*restore it from a backup/,
  ],
  [
    "a database that was cut off",
    (path) => truncate(join(path, "postern.db"), 5000),
    /postern\.db cannot be used: .*restore it from a backup/,
  ],
];

/** Where the store remembers that a key was there. */
const LOSS_OF_SERVER_KEY: Damage = [
  "no server key any more",
  (path) => rm(join(path, "server.key")),
  /server\.key is missing.*copy it from another server on this store/,
];

describe("a data directory", () => {
  const damages: readonly Damage[] = [
    [
      "a server key that is none",
      (path) => writeFile(join(path, "server.key"), "garbage\n"),
      /server\.key does not contain the server key.*restore your separate copy/,
    ],
    [
      "an authority that is no certificate",
      (path) => writeFile(join(path, "ca.crt"), "garbage"),
      /ca\.crt cannot be used.*restore/,
    ],
    ["an authority's key that is none", (path) => writeFile(join(path, "ca.key"), "garbage"), /private key.*restore/],
    ["an authority without its key", (path) => rm(join(path, "ca.key")), /no private key beside it: restore/],
    [
      "a server certificate that is none",
      (path) => writeFile(join(path, "tls.crt"), "garbage"),
      /tls\.crt is not a PEM certificate: move it away/,
    ],
    ...(isDurable ? [LOSS_OF_SERVER_KEY] : []),
    ...(storeName === "sqlite" ? DAMAGES_OF_DATABASE : []),
  ];
  // One of the files, and one of the database where there is one.
  it.each(casesOf(damages, (_, index) => index === 0 || index === damages.length - 1))(
    "with %s is refused and unchanged",
    async (_, damage, line) => {
      const copy = await copyOfUsed();
      await damage(copy);
      const before = await contentOf(copy);
      await refuses(serve(copy, ...storeOfUsed()), line);
      expect(await contentOf(copy)).toEqual(before);
    },
  );

  it("that is a file is refused", async () => {
    const file = join(directory.path, "file");
    await appendFile(file, "mine");
    await refuses(serve(file), /cannot create the directory .*file/);
    expect(await readFile(file, "utf8")).toBe("mine");
  });

  it.each(casesOf(["/proc/nothing", "/sys/nothing"], (_, index) => index === 0))(
    "in %s, which is not writable, is refused",
    (path) => refuses(serve(path), /cannot create the directory .*: choose a directory/),
  );

  byNight("behind a link that leads nowhere is refused", async () => {
    const link = join(directory.path, "link");
    await symlink("/nowhere/at/all", link);
    await refuses(serve(join(link, "data")), /cannot create the directory/);
  });

  it("that was never used gets what is missing above it", async () => {
    const deep = join(directory.path, "a/b/c");
    await using server = await startPostern(deep);
    const database = storeName === "sqlite" ? ["postern.db"] : [];
    expect(await readdir(deep)).toEqual(
      expect.arrayContaining(["admin.kubeconfig", "ca.crt", "server.key", ...database]),
    );
    expect(await server.stop()).toBe(0);
  });
});

describe("a running server", () => {
  let server: PosternProcess;
  let port: number;

  beforeAll(async () => {
    server = await startPostern(await copyOfUsed(), storeOfUsed());
    port = Number(new URL(server.url).port);
  });

  afterAll(async () => await server?.[Symbol.asyncDispose]());

  it("prints the port that it was left to choose", () => {
    expect(server.output()).toMatch(/^Postern is ready at https:\/\/127\.0\.0\.1:[1-9]\d*\n/);
  });

  it("keeps its data directory to itself", async () => {
    const secrets = async () =>
      [...(await contentOf(server.dataDir))].filter(([name]) => /\.(key|crt|kubeconfig)$/.test(name));
    const before = await secrets();
    await refuses(
      serve(server.dataDir),
      /copy-\d+ is in use by another server: stop that one, or choose another directory with --data-dir/,
    );
    expect(await secrets()).toEqual(before);
    const kubectl = kubectlWith(server.adminKubeconfig, join(directory.path, "cache"));
    expect(await succeed(kubectl(["get", "--raw", "/readyz"]))).toBe("ok");
  });

  it("keeps its port to itself", async () => {
    const other = join(directory.path, "other");
    await refuses(
      postern("serve", "--data-dir", other, "--secure-port", String(port)),
      new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use: .*--secure-port`),
    );
    const mine = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => mine.once("listening", resolve));
    const { port: taken } = mine.address() as { port: number };
    await refuses(postern("serve", "--data-dir", other, "--secure-port", String(taken)), /is in use/);
    mine.close();
    await using started = await startPostern(other);
    const kubectl = kubectlWith(started.adminKubeconfig, join(directory.path, "cache-other"));
    expect(await succeed(kubectl(["get", "projects", "-o", "name"]))).toBe("project.management.postern/default\n");
  });

  it.runIf(isDurable)("stops on a signal with exit code 0, and finds everything again", async () => {
    const key = JSON.stringify({
      apiVersion: "management.postern/v1",
      kind: "OwnedAccessKey",
      metadata: { name: "kept" },
      spec: {},
    });
    const earlier = kubectlWith(server.adminKubeconfig, join(directory.path, "cache"));
    await succeed(earlier(["create", "-f", "-"], key));
    const listed = JSON.parse(
      await succeed(earlier(["get", "oak,users,projects,clusters,secrets", "-A", "-o", "json"])),
    );
    expect(await server.stop("SIGINT")).toBe(0);

    server = await startPostern(server.dataDir, storeOfUsed());
    const later = kubectlWith(server.adminKubeconfig, join(directory.path, "cache-2"));
    const again = JSON.parse(await succeed(later(["get", "oak,users,projects,clusters,secrets", "-A", "-o", "json"])));
    // The last activity of keys may have been written in between.
    const essence = ({ items }: any) =>
      items.map(({ kind, metadata, spec }: any) => [kind, metadata.name, metadata.uid, spec]);
    expect(essence(again)).toEqual(essence(listed));
    expect(await succeed(later(["get", "oak", "kept", "-o", "name"]))).toContain("kept");
  });

  it("ends at once on a second signal, though a request is still under way", async () => {
    const ca = await readFile(server.caFile);
    const headers = {
      authorization: `Bearer ${await adminKey(server)}`,
      "content-type": "application/json",
      "content-length": 1000,
      expect: "100-continue",
    };
    const post = request(`${server.url}/api/v1/namespaces`, { method: "POST", ca, headers, agent: false });
    post.on("error", () => {}).flushHeaders();
    await once(post, "continue");
    post.write("{");
    const ending = { isOver: false };
    const ended = server.stop("SIGTERM").finally(() => {
      ending.isOver = true;
    });
    await expect.poll(server.output).toContain("SIGTERM received, stopping; send it again to stop immediately");
    // One that comes right behind the first is taken for its echo.
    while (!ending.isOver) {
      process.kill(server.pid, "SIGTERM");
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toBe(143);
    server = await startPostern(server.dataDir, storeOfUsed());
  });

  it.runIf(isDurable)("starts again after it was killed", async () => {
    expect(await server.stop("SIGKILL")).toBe("SIGKILL");
    server = await startPostern(server.dataDir, storeOfUsed());
    const kubectl = kubectlWith(server.adminKubeconfig, join(directory.path, "cache-3"));
    expect(await succeed(kubectl(["get", "oak", "kept", "-o", "name"]))).toContain("kept");
  });
});

describe("the program", () => {
  it("says its version", async () => {
    expect(await succeed(postern("version"))).toMatch(/^postern \d+\.\d+\.\d+\S* \(commit [0-9a-f]{12}, /);
  });

  it("shows help for each command", async () => {
    for (const command of casesOf([[], ["serve"], ["key"], ["kubeconfig"], ["completion"]], (_, index) => index < 2)) {
      expect(await succeed(postern(...command, "--help"))).toContain("Usage: postern");
    }
  });

  it("prints completions that the shell can read", async () => {
    await mkdir(join(directory.path, "completion"));
    for (const shell of ["bash", "zsh", "fish"]) {
      const script = await succeed(postern("completion", shell));
      const file = join(directory.path, "completion", shell);
      await writeFile(file, script);
      expect(script).toContain("serve");
      if (shell === "bash") await succeed(tool("bash", ["-n", file]));
    }
    await refuses(postern("completion", "tcsh"), /bash, zsh, fish/);
  });
});
