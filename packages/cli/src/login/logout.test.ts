import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { listPlatforms, savePlatform } from "./platforms.ts";

let server: TestServer;
let home: string;
let environment: { readonly [name: string]: string };

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "postern-logout-"));
  environment = { HOME: home };
  server.respond(({ url }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    sendJson(response, { metadata: {}, status: { accessKey: "mine", accessKeyType: "User" } });
  });
  // Nothing listens on port 1.
  const down = "https://localhost:1";
  for (const [name, address] of [
    ["down", down],
    ["one", server.url],
    ["down-too", down],
    ["two", server.url],
  ] as const)
    await savePlatform(environment, {
      name,
      server: address,
      token: "secret",
      certificateAuthorityPem: server.certificatePem,
    });
  return () => rm(home, { recursive: true });
});

const left = async () => (await listPlatforms(environment)).map(({ name }) => name);

it("revokes the keys of the platforms that are up, and says at the end which are left", async () => {
  const { code, stdout, stderr } = await runCommand(["logout", "--all", "--revoke", "-o", "name"], environment);
  expect([code, stdout]).toEqual([1, "one\ntwo\n"]);
  const refused = (name: string) =>
    `postern: ${name}: 127.0.0.1:1: connection refused: check the address, and that the server is running\n`;
  expect(stderr).toBe(
    `${refused("down")}${refused("down-too")}postern: still signed in to down, down-too, whose access key was not deleted: try again, or run postern logout without --revoke\n`,
  );
  expect(await left()).toEqual(["down", "down-too"]);
});

it("signs out of platforms that are down without --revoke", async () => {
  const { code, stderr } = await runCommand(["logout", "--all"], environment);
  expect([code, stderr]).toEqual([
    0,
    "Signed out of down.\nSigned out of one.\nSigned out of down-too.\nSigned out of two.\n",
  ]);
  expect(await left()).toEqual([]);
});
