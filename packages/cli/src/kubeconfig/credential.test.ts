// The cache of the credential plugin: whose files it uses, and when they end.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "../testing/run-command.ts";

let platform: TestServer;
let cache: string;
let environment: Record<string, string>;
let issued: number;

beforeAll(async () => {
  platform = await startTestServer();
  platform.respond(({ url = "" }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    if (url.endsWith("/selfsubjectreviews")) return sendJson(response, {}, 201);
    const authority = Buffer.from(platform.certificatePem).toString("base64");
    const kubeConfig = stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "default-web", cluster: { server: platform.url, "certificate-authority-data": authority } }],
      users: [{ name: "default-web", user: { token: `token-${++issued}` } }],
      contexts: [{ name: "default-web", context: { cluster: "default-web", user: "default-web" } }],
      "current-context": "default-web",
    });
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    sendJson(response, { status: { kubeConfig, expirationTimestamp } }, 201);
  });
});
beforeEach(() => {
  issued = 0;
  cache = mkdtempSync(join(tmpdir(), "postern-credential-cache-"));
  environment = {
    ...{ HOME: cache, XDG_CACHE_HOME: cache },
    ...{ POSTERN_URL: platform.url, POSTERN_TOKEN: "secret", POSTERN_CA: platform.certificatePem },
  };
  return () => rmSync(cache, { recursive: true });
});
afterAll(() => platform[Symbol.asyncDispose]());

const credentials = (): string => join(cache, "postern", "credentials");
const kept = (): readonly string[] =>
  existsSync(credentials())
    ? readdirSync(credentials(), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"))
    : [];

async function token(): Promise<string> {
  const { code, stdout, stderr } = await runCommand(["credentials", "get", "web"], environment);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout).status.token;
}

it("keeps a credential for the next call", async () => {
  expect([await token(), await token()]).toEqual(["token-1", "token-1"]);
  expect(kept()).toHaveLength(1);
});

it.each(["postern", "postern/credentials"])("keeps none where others may write to %s", async (directory) => {
  mkdirSync(credentials(), { recursive: true });
  chmodSync(join(cache, directory), 0o777);
  expect([await token(), await token()]).toEqual(["token-1", "token-2"]);
  expect(kept()).toEqual([]);
});

it("keeps none in the directory of another user, also behind a link", async () => {
  const own = process.getuid;
  if (own?.() !== 0) return;
  const { chownSync } = await import("node:fs");
  mkdirSync(join(cache, "elsewhere"));
  mkdirSync(join(cache, "postern"));
  symlinkSync(join(cache, "elsewhere"), credentials());
  expect([await token(), await token()]).toEqual(["token-1", "token-1"]);
  chownSync(join(cache, "elsewhere"), 4242, 4242);
  expect([await token(), await token()]).toEqual(["token-2", "token-3"]);
});

it("deletes credentials that have expired, and directories that are empty for a day", async () => {
  const write = (place: string, expires?: number): string => {
    const directory = join(credentials(), place);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, "a.json");
    const time = expires === undefined ? {} : { expires: new Date(expires).toISOString() };
    writeFileSync(file, JSON.stringify({ user: {}, ...time }), { mode: 0o600 });
    return file;
  };
  const ended = write("ended", Date.now() - 1000);
  const valid = write("valid", Date.now() + 60_000);
  const lasting = write("lasting");
  const empty = join(credentials(), "empty");
  mkdirSync(empty, { mode: 0o700 });
  utimesSync(empty, 0, 0);
  for (const name of ["", "postern", "postern/credentials"]) chmodSync(join(cache, name), 0o700);
  await token();
  expect([ended, valid, lasting, empty].map((path) => existsSync(path))).toEqual([false, true, true, false]);
});
