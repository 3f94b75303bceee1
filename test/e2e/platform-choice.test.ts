// Which platform the command line finds: each file, variable and login alone and together, before and after kubeconfigs of virtual clusters were
// merged. With real files, the real server and the real kubectl, in a folder and a home directory of its own.

import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { casesOf } from "../../tools/test-cost/by-night.ts";
import { adminKey } from "./testing/http-client.ts";
import {
  ENTRY,
  NODE,
  type Outcome,
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let key: string;
let count = 0;
let place: string;
let home: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startPostern(join(directory.path, "installation", "data"));
  key = await adminKey(server);
});
beforeEach(async () => {
  place = join(directory.path, `place-${++count}`);
  home = join(place, "home");
  await mkdir(home, { recursive: true });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

type Surroundings = { readonly KUBECONFIG?: string; readonly folder?: string; readonly HOME?: string | null };

/** Runs a program with nothing in its environment but what is given. */
function run(surroundings: Surroundings, args: readonly string[], input?: string): Promise<Outcome> {
  const { KUBECONFIG, folder = place, HOME = home } = surroundings;
  const variables = [
    `PATH=${process.env["PATH"]}`,
    ...(HOME === null ? [] : [`HOME=${HOME}`]),
    ...(KUBECONFIG === undefined ? [] : [`KUBECONFIG=${KUBECONFIG}`]),
  ];
  return tool("env", ["-i", "-C", folder, ...variables, ...args], input);
}
const cli = (surroundings: Surroundings, ...args: readonly string[]): Promise<Outcome> =>
  run(surroundings, [NODE, ENTRY, ...args]);
const namespaces = (surroundings: Surroundings): Promise<Outcome> =>
  run(surroundings, ["kubectl", "get", "namespaces", "--output", "name"]);
const login = (name = "here"): Promise<string> =>
  succeed(run({}, [NODE, ENTRY, "login", server.url, "--ca", server.caFile, "--name", name], key));
const usedBy = async (surroundings: Surroundings): Promise<string> =>
  /Signed in by: +(.*)\n/.exec(await succeed(cli(surroundings, "whoami")))?.[1] ?? "";
/** The states that `postern status` marks as used. */
const used = async (surroundings: Surroundings): Promise<readonly any[]> =>
  JSON.parse(await succeed(cli(surroundings, "status", "--output", "json"))).filter((each: any) => each.used);

const foreign = (user: object, current = "work") =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "work", cluster: { server: "https://work.example.com" } }],
    users: [{ name: "work", user }],
    contexts: [{ name: "work", context: { cluster: "work", user: "work" } }],
    "current-context": current,
  });
const EXEC = { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "cloud", interactiveMode: "Never" } };

/** Everything that may be wrong with a platform after a merge. */
const MISLED = /not supported|is not Postern|no platform/;

const STORIES = {
  "admin.kubeconfig alone": async () => ({ KUBECONFIG: server.adminKubeconfig }),
  "a list that begins with admin.kubeconfig": async () => ({
    KUBECONFIG: `${server.adminKubeconfig}:${await written("mine.yaml", foreign(EXEC))}`,
  }),
  "a list that ends with admin.kubeconfig": async () => ({
    KUBECONFIG: `${await written("mine.yaml", foreign(EXEC, ""))}:${server.adminKubeconfig}`,
  }),
  "a list of a missing file and admin.kubeconfig": async () => ({
    KUBECONFIG: `${join(place, "new.yaml")}:${server.adminKubeconfig}`,
  }),
  "a login": async () => {
    await login();
    return {};
  },
  "a login, with a kubeconfig of other clusters": async () => {
    await login();
    await mkdir(join(home, ".kube"));
    await writeFile(join(home, ".kube", "config"), foreign(EXEC));
    return {};
  },
  "a login, admin.kubeconfig and a list": async () => {
    await login();
    return { KUBECONFIG: `${server.adminKubeconfig}:${await written("mine.yaml", foreign({ token: "x" }))}` };
  },
  "the folder of the server": async () => ({ folder: join(directory.path, "installation") }),
  "the folder of the server, with a kubeconfig of other clusters": async () => {
    await mkdir(join(home, ".kube"));
    await writeFile(join(home, ".kube", "config"), foreign({ token: "x" }));
    return { folder: join(directory.path, "installation") };
  },
} as const satisfies Record<string, () => Promise<Surroundings>>;

async function written(name: string, text: string): Promise<string> {
  const path = join(place, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const CASES = Object.entries(STORIES).flatMap(([name, prepare]) =>
  [[], ["--exec"]].map((flags) => ({ name, prepare, flags })),
);

/** By day each story once: those at odd places with --exec. */
const isByDay = ({ flags }: (typeof CASES)[number], at: number): boolean =>
  at % 4 === 0 || (at % 4 === 3 && flags.length > 0);

describe("the platform is found before and after", () => {
  it.each(casesOf(CASES, isByDay))(
    "--merge $flags with $name, and kubectl finds the cluster",
    async ({ prepare, flags }) => {
      const surroundings: Surroundings = await prepare();
      const admin = await readFile(server.adminKubeconfig, "utf8");
      expect(await succeed(cli(surroundings, "key", "list"))).toContain("admin");
      const merged = await cli(surroundings, "kubeconfig", "demo", ...flags, "--merge");
      expect(merged).toMatchObject({ code: 0, stdout: "" });
      const [, file = "", rest = ""] = /^Wrote context default-demo to (\S+)\. (.*)\n/.exec(merged.stderr) ?? [];
      // The file of the platform stays as it is.
      expect(await readFile(server.adminKubeconfig, "utf8")).toBe(admin);
      expect(file).not.toBe(server.adminKubeconfig);
      expect(await readFile(file, "utf8")).toContain("default-demo");

      // kubectl agrees with what was said about the current context.
      const current = (await run(surroundings, ["kubectl", "config", "current-context"])).stdout.trim();
      if (rest === "It is the current context.") {
        expect(current).toBe("default-demo");
        expect(await succeed(namespaces(surroundings))).toContain("namespace/default");
      } else if (rest.startsWith("kubectl reads KUBECONFIG")) {
        expect(await succeed(namespaces({ ...surroundings, KUBECONFIG: file }))).toContain("namespace/default");
      } else expect(rest).toContain(`The current context is ${current}: `);

      expect(await used(surroundings)).toMatchObject([{ state: "ok", accessKey: "admin" }]);

      // Wherever the user goes on from here, the platform is the same.
      const all = [surroundings, { ...surroundings, folder: place, KUBECONFIG: file }];
      if (surroundings.KUBECONFIG !== undefined) all.push({ KUBECONFIG: `${file}:${surroundings.KUBECONFIG}` });
      for (const each of all) {
        const whoami = await cli(each, "whoami");
        expect(whoami.stderr).not.toMatch(MISLED);
        expect(whoami.stdout).toMatch(/Name: +user admin\n/);
      }
    },
  );
});

test("flags outweigh the environment, it outweighs the login, and the login outweighs kubeconfigs", async () => {
  await login("mine");
  const admin = { KUBECONFIG: server.adminKubeconfig };
  const platform = [`POSTERN_URL=${server.url}`, `POSTERN_TOKEN=${key}`, `POSTERN_CA=${server.caFile}`];
  const inCi = (...args: readonly string[]) => run(admin, ["env", ...platform, NODE, ENTRY, ...args]);
  expect(await succeed(inCi("whoami", "--server", "mine"))).toContain("postern login mine");
  expect(await succeed(inCi("whoami", "--kubeconfig", server.adminKubeconfig))).toContain("context postern of ");
  expect(await succeed(inCi("whoami"))).toContain("POSTERN_URL and POSTERN_TOKEN");
  expect(await usedBy(admin)).toBe("postern login mine");
  const states = JSON.parse(await succeed(inCi("status", "-o", "json")));
  expect(states.map(({ source, used }: any) => [source, used])).toEqual([
    ["environment", true],
    ["kubeconfig", false],
    ["login", false],
  ]);
  await succeed(cli({}, "logout"));
  expect(await usedBy(admin)).toBe(`context postern of ${server.adminKubeconfig}`);
});

test("the kubeconfig of a platform is not merged into, by any of its names", async () => {
  const admin = { KUBECONFIG: server.adminKubeconfig };
  const copy = await written("platform.yaml", await readFile(server.adminKubeconfig, "utf8"));
  for (const file of [server.adminKubeconfig, copy]) {
    const { code, stderr } = await cli(admin, "kubeconfig", "demo", "--merge", file);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is the kubeconfig of a platform")]);
  }
  expect((await cli({ KUBECONFIG: copy }, "kubeconfig", "demo", "--merge")).stderr).toContain(
    `to ${join(home, ".kube", "config")}. kubectl reads KUBECONFIG (${copy}) instead: run unset KUBECONFIG first.`,
  );
});

test("a context whose platform is gone says which one it was", async () => {
  await login("gone");
  await succeed(cli({}, "kubeconfig", "demo", "--merge"));
  await succeed(cli({}, "logout"));
  expect((await cli({}, "whoami")).stderr).toBe(
    `postern: context default-demo of ~/.kube/config is a virtual cluster of the platform ${server.url}: sign in with postern login ${server.url}\n`,
  );
  // Another login to the same address is the same platform.
  await login("again");
  expect(await usedBy({})).toBe("postern login again");

  const moved = join(place, "moved.yaml");
  const platform = await written("platform.yaml", await readFile(server.adminKubeconfig, "utf8"));
  await succeed(cli({}, "kubeconfig", "demo", "--kubeconfig", platform, "--merge", moved));
  await succeed(run({}, ["rm", platform]));
  await succeed(cli({}, "logout"));
  const { stderr } = await cli({ KUBECONFIG: moved }, "whoami");
  expect(stderr).toContain(`a virtual cluster of the platform ${server.url}/kubernetes/management, but `);
  expect(stderr).toContain(": sign in with postern login");
});

test("other clusters are named as what they are", async () => {
  const file = await written("work.yaml", foreign(EXEC));
  expect((await cli({ KUBECONFIG: file }, "whoami")).stderr).toBe(
    `postern: context work of ${file} is no platform: it authenticates with exec; sign in with postern login, or name a platform with --kubeconfig, or with --context\n`,
  );
  const plain = join(place, "plain.yaml");
  await succeed(postern("kubeconfig", "demo", "--kubeconfig", server.adminKubeconfig, "--out", plain));
  expect((await cli({ KUBECONFIG: plain }, "whoami")).stderr).toContain("is no platform: it is a virtual cluster");
  expect((await cli({ KUBECONFIG: plain }, "whoami", "--context", "nope")).stderr).toBe(
    `postern: ${plain} has no context nope: it has default-demo\n`,
  );
});

test("contexts of earlier builds, which have no extension, lead to the platform of their address", async () => {
  const platform = (name: string, address: string) => ({
    clusters: [{ name, cluster: { server: address } }],
    users: [{ name, user: { token: "x" } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
  const of = (current: string, ...parts: readonly ReturnType<typeof platform>[]) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: parts.flatMap(({ clusters }) => clusters),
      users: parts.flatMap(({ users }) => users),
      contexts: parts.flatMap(({ contexts }) => contexts),
      "current-context": current,
    });
  const management = (address: string) => `${address}/kubernetes/management`;
  const demo = (address: string) => platform("demo", `${address}/kubernetes/project/default/virtualcluster/demo`);
  const [A, B] = ["https://127.0.0.1:1", "https://127.0.0.2:1"];
  const [a, b] = [platform("a", management(A)), platform("b", management(B))];
  const errorFor = async (text: string, ...flags: readonly string[]) =>
    (await cli({ KUBECONFIG: await written("old.yaml", text) }, "whoami", ...flags)).stderr;

  // The one with its address, whatever else there is.
  for (const flags of [[], ["--context", "demo"]]) {
    expect(await errorFor(of("demo", a, b, demo(A)), ...flags)).toContain("127.0.0.1:1: connection refused");
    expect(await errorFor(of("demo", a, b, demo(B)), ...flags)).toContain("127.0.0.2:1: connection refused");
  }
  // The only one, which may have several addresses.
  expect(await errorFor(of("demo", a, demo(B)))).toContain("127.0.0.1:1: connection refused");
  const choice = `choose with --context a (${management(A)}) or --context b (${management(B)})\n`;
  const file = join(place, "old.yaml");
  expect(await errorFor(of("demo", a, b, demo("https://c.example.com")))).toBe(
    `postern: context demo of ${file} is no platform: it is a virtual cluster; several platforms are possible: ${choice}`,
  );
  expect(await errorFor(of("", a, b))).toBe(
    `postern: ${file} has no current context; several platforms are possible: ${choice}`,
  );
  expect(await errorFor(of("demo", a, platform("b", management(A)), demo(A)))).toContain(
    `choose with --context a (${management(A)}) or --context b (${management(A)})\n`,
  );
  expect(await errorFor(of("demo", demo("https://c.example.com")))).toBe(
    `postern: context demo of ${file} is no platform: it is a virtual cluster; sign in with postern login https://c.example.com, or name a platform with --kubeconfig, or with --context\n`,
  );
});

test("status lists the file of the folder once, by whatever name KUBECONFIG has it", async () => {
  const folder = join(directory.path, "installation");
  const link = join(place, "link.yaml");
  await symlink(server.adminKubeconfig, link);
  const sources = async (KUBECONFIG?: string) =>
    JSON.parse(
      await succeed(cli({ folder, ...(KUBECONFIG === undefined ? {} : { KUBECONFIG }) }, "status", "-o", "json")),
    ).map(({ source, used }: any) => [source, used]);
  expect(await sources()).toEqual([["folder", true]]);
  for (const file of [server.adminKubeconfig, "data/admin.kubeconfig", link, `${place}/none:${server.adminKubeconfig}`])
    expect([file, await sources(file)]).toEqual([file, [["kubeconfig", true]]]);
  const merged = join(place, "merged.yaml");
  await succeed(cli({ folder }, "kubeconfig", "demo", "--merge", merged));
  expect(await sources(merged)).toEqual([["kubeconfig", true]]);
  const copy = await written("copy.yaml", await readFile(server.adminKubeconfig, "utf8"));
  expect(await sources(copy)).toEqual([
    ["kubeconfig", true],
    ["folder", false],
  ]);
});

test("login and logout say for programs what they did", async () => {
  const known = { name: "here", server: server.url };
  const json = async (input: string | undefined, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await run({}, [NODE, ENTRY, ...args, "-o", "json"], input);
    return [code, stderr, JSON.parse(stdout)];
  };
  const signedIn = { ...known, user: "user admin", accessKey: "admin", expires: "never" };
  expect(await json(key, "login", server.url, "--ca", server.caFile, "--name", "here")).toEqual([0, "", signedIn]);
  expect(await json(undefined, "login", "here")).toEqual([0, "", signedIn]);
  expect(await json(undefined, "logout", "--all")).toEqual([0, "", [{ ...known, deletedAccessKey: null }]]);
  await succeed(cli({ KUBECONFIG: server.adminKubeconfig }, "key", "create", "short", "--ttl", "1h"));
  expect(await json(undefined, "key", "revoke", "short", "--yes", "--kubeconfig", server.adminKubeconfig)).toEqual([
    ...[0, ""],
    [{ name: "short", revoked: true }],
  ]);
});

test("a file that others could have written into a folder chooses no platform", async () => {
  await mkdir(join(place, "data"));
  const text = await readFile(server.adminKubeconfig, "utf8");
  const file = join(place, "data", "admin.kubeconfig");
  await writeFile(file, text, { mode: 0o644 });
  expect((await cli({}, "whoami")).stderr).toContain("no platform is named");
  await succeed(run({}, ["chmod", "600", file]));
  expect(await usedBy({})).toBe(`context postern of ${file}`);
  // A path in it would send the content of that file, or sign in with it; and the server has to be one of this machine.
  for (const [before, after] of [
    [/token: .*/, "tokenFile: /etc/hostname"],
    [/token: .*/, "client-certificate: /etc/hostname\n    client-key: /etc/hostname"],
    [/127\.0\.0\.1/, "platform.example.com"],
    [/127\.0\.0\.1/, "127.0.0.1.example.com"],
    [/127\.0\.0\.1:\d+/, "127.0.0.1@example.com"],
  ] as const) {
    await writeFile(file, text.replace(before, after));
    expect((await cli({}, "whoami")).stderr).toContain("no platform is named");
  }
  await rm(file);
  await symlink(server.adminKubeconfig, file);
  expect((await cli({}, "whoami")).stderr).toContain("no platform is named");
});

test.each([null, ""])(
  "without HOME (%j), files below it are those of the user, and flags and variables work",
  async (HOME) => {
    const bare = { HOME, KUBECONFIG: server.adminKubeconfig };
    expect(await usedBy(bare)).toContain("context postern of ");
    const file = join(place, "bare.yaml");
    expect((await cli(bare, "kubeconfig", "demo", "--exec", "--merge", file)).code).toBe(0);
    const caches = { ...bare, KUBECONFIG: file };
    expect(await usedBy(caches)).toContain("the platform of context default-demo");
    // A user ID without an entry has no home directory at all.
    const lost = (...args: readonly string[]) =>
      run({ HOME }, ["setpriv", "--reuid", "54321", "--clear-groups", NODE, ENTRY, ...args]);
    if (process.getuid?.() !== 0) return;
    // Other users cannot enter the folder of this run.
    const open = await mkdtemp("/tmp/postern-lost-");
    await chmod(open, 0o777);
    const target = join(open, "lost.yaml");
    const platform = [
      `POSTERN_URL=${server.url}`,
      `POSTERN_TOKEN=${key}`,
      `POSTERN_CA=${await readFile(server.caFile, "utf8")}`,
    ];
    const merged = await run({ HOME }, [
      ...["setpriv", "--reuid", "54321", "--clear-groups", "env", ...platform],
      ...[NODE, ENTRY, "kubeconfig", "demo", "--merge", target],
    ]);
    expect(merged).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`Use it with kubectl --kubeconfig ${target}.`),
    });
    await rm(open, { recursive: true });
    expect((await lost("status")).stderr).toBe("postern: there is no home directory: set HOME\n");
    expect((await lost("kubeconfig", "demo", "--merge")).stderr).toBe(
      "postern: there is no home directory: set HOME\n",
    );
  },
);
