// Signing in on the command line, and what the commands find afterwards. Against the real server, with a home directory of its own.

import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { adminKey } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { ENTRY, kubectlWith, NODE, type Outcome, postern, succeed, tool } from "./testing/postern-process.ts";

let server: OwnServer;
let key: string;
let count = 0;
let home: string;

beforeAll(async () => {
  server = await startOwnServer();
  key = await adminKey(server);
});
beforeEach(() => {
  home = join(server.directory, `home-${++count}`);
});
afterAll(() => server?.[Symbol.asyncDispose]());

const cliWith = (environment: readonly string[], args: readonly string[], input?: string): Promise<Outcome> =>
  tool("env", [`HOME=${home}`, ...environment, NODE, ENTRY, ...args], input);
const cli = (...args: readonly string[]): Promise<Outcome> => cliWith([], args);
const login = (input: string, ...args: readonly string[]): Promise<Outcome> =>
  cliWith([], ["login", server.url, "--ca", server.caFile, ...args], input);
const makeKey = async (name: string): Promise<string> =>
  (await succeed(postern("key", "create", name, "--ttl", "1h", "--kubeconfig", server.adminKubeconfig))).trim();

test("a key that was signed in with is used by all commands, from a file for its owner alone", async () => {
  expect(await login(`${key}\n`)).toMatchObject({
    code: 0,
    stdout: "",
    stderr: `Signed in to ${server.url} as user admin, with access key admin, expires never.\n`,
  });
  const file = join(home, ".config/postern/platforms.yaml");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await succeed(cli("key", "list"))).toContain("admin");
  const whoami = await succeed(cli("whoami"));
  expect(whoami).toMatch(/^Platform: +https:/);
  expect(whoami).toMatch(/Name: +user admin\n/);
  expect(whoami).toMatch(/Expires: +never\n$/);
  expect(JSON.parse(await succeed(cli("whoami", "-o", "json")))).toMatchObject({ accessKey: "admin" });
  // kubectl reads the same file.
  const kubectl = kubectlWith(file, join(home, "cache"), "kubectl");
  expect(await succeed(kubectl(["get", "virtualclusterinstances", "-n", "p-default", "-o", "name"]))).toContain("demo");
});

byNight("several platforms are listed, chosen by name or address, and left", async () => {
  const second = await makeKey("second");
  await succeed(login(key, "--name", "one"));
  await succeed(login(second, "--name", "two"));
  const states = JSON.parse(await succeed(cli("status", "-o", "json")));
  expect(states).toMatchObject([
    { name: "one", current: false, accessKey: "admin", expires: "never", state: "ok" },
    { name: "two", current: true, accessKey: "second", state: "ok", version: expect.stringMatching(/^v\d/) },
  ]);
  expect(await succeed(cli("status"))).toMatch(/^CURRENT +NAME/);
  expect(await succeed(cli("whoami", "--server", "one"))).toMatch(/Access key: +admin\n/);
  expect(await succeed(cli("whoami", "--server", server.url))).toMatch(/Access key: +admin\n/);
  expect((await cli("login", "one")).stderr).toContain("already; other commands now use this platform");
  expect(await succeed(cli("whoami"))).toMatch(/Access key: +admin\n/);
  await succeed(cli("login", "two"));
  expect((await cli("whoami", "--server", "three")).stderr).toBe(
    "postern: you are not signed in to three: run postern login (signed in: one, two)\n",
  );
  expect(await cli("logout", "--revoke")).toMatchObject({
    code: 0,
    stderr: "Access key second deleted.\nSigned out of two.\n",
  });
  expect(await succeed(cli("whoami"))).toMatch(/Access key: +admin\n/);
  expect((await readFile(join(home, ".config/postern/platforms.yaml"), "utf8")).includes(second)).toBe(false);
  await succeed(cli("logout", "--all"));
  expect((await cli("status")).stderr).toContain("not signed in to any platform");
});

byNight("a credential that has ended is shown as such, and says what to do", async () => {
  const short = await makeKey("short");
  await succeed(login(short, "--name", "one"));
  await succeed(postern("key", "revoke", "--yes", "short", "--kubeconfig", server.adminKubeconfig));
  expect(await succeed(cli("status"))).toContain("signed out: run postern login again");
  expect((await cli("whoami")).stderr).toContain("(401)");
});

test("a wrong key, an unknown authority and a wrong address are refused with what to do, and nothing is kept", async () => {
  expect(await login(`${key}x`)).toMatchObject({ code: 1, stderr: expect.stringContaining("(401)") });
  expect(await cliWith([], ["login", server.url], key)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/does not trust the certificate of the platform.*--ca/),
  });
  expect((await cliWith([], ["login", "http://127.0.0.1:1"], key)).stderr).toContain("write https://host:port");
  expect((await login("")).stderr).toBe("postern: no access key: pipe it in, or type it at the prompt\n");
  expect((await cli("status")).stderr).toContain("not signed in to any platform");
});

test("a key is read from a file and from standard input alike", async () => {
  const signedIn = { code: 0, stderr: expect.stringContaining("as user admin") };
  const file = join(server.directory, "key.txt");
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  expect(await login("", "--key-file", file)).toMatchObject(signedIn);
  await rm(file);
  expect(await login(key, "--key-file", "-")).toMatchObject(signedIn);
  expect((await login("", "--key-file", "-")).stderr).toBe("postern: no access key in standard input\n");
  expect((await login("", "--key-file", join(home, "nope"))).stderr).toContain("(ENOENT)");
});

test("CI sets three variables and signs in nowhere", async () => {
  const ca = await readFile(server.caFile, "utf8");
  const environment = [`POSTERN_URL=${server.url}`, `POSTERN_TOKEN=${key}`];
  expect(await succeed(cliWith([...environment, `POSTERN_CA=${ca}`], ["whoami"]))).toContain("POSTERN_URL");
  expect(await succeed(cliWith([...environment, `POSTERN_CA=${server.caFile}`], ["key", "list"]))).toContain("admin");
  expect((await cliWith([`POSTERN_TOKEN=${key}`], ["whoami"])).stderr).toContain("without POSTERN_URL");
  expect((await cliWith([`POSTERN_URL=${server.url}`], ["whoami"])).stderr).toContain("without POSTERN_TOKEN");
});

byNight("a kubeconfig that is named outweighs the login, and the login outweighs KUBECONFIG", async () => {
  await succeed(login(await makeKey("mine"), "--name", "one"));
  const other = join(server.directory, "other.yaml");
  await writeFile(other, await readFile(server.adminKubeconfig, "utf8"), { mode: 0o600 });
  expect(await succeed(cliWith([`KUBECONFIG=${other}`], ["whoami"]))).toMatch(/Access key: +mine\n/);
  expect(await succeed(cliWith([], ["whoami", "--kubeconfig", other]))).toMatch(/Access key: +admin\n/);
  await succeed(cli("logout"));
  expect(await succeed(cliWith([`KUBECONFIG=${other}`], ["whoami"]))).toMatch(/Access key: +admin\n/);
  const both = await cli("whoami", "--kubeconfig", other, "--server", "one");
  expect(both.stderr).toContain("cannot be combined");
});
