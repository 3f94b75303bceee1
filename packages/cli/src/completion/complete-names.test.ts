import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const home = mkdtempSync(join(tmpdir(), "postern-complete-names-"));
let server: TestServer;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await startTestServer();
  environment = {
    ...{ HOME: home, POSTERN_URL: server.url, POSTERN_TOKEN: "x", POSTERN_CA: server.certificatePem },
  };
  server.respond(({ url = "" }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    const namespace = /instances/.test(url) ? { namespace: "p-shop" } : {};
    const names = ["web", "a b", "$(reboot)", "`x`", "x;y", "api.eu"];
    sendJson(response, {
      kind: "List",
      metadata: {},
      items: names.map((name) => ({ metadata: { ...namespace, name } })),
    });
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

it.each([
  ["keys", "web\napi.eu\n", "ownedaccesskeys"],
  ["virtual-clusters", "shop/web\nshop/api.eu\n", "virtualclusterinstances"],
  ["projects", "web\napi.eu\n", "projects"],
  ["clusters", "web\napi.eu\n", "clusters"],
])("prints %s that are words of a shell", async (kind, stdout, resource) => {
  expect(await runCommand(["complete-names", kind], environment)).toEqual({ code: 0, stdout, stderr: "" });
  expect(server.requests.at(-1)).toBe(`GET /apis/management.example.com/v1/${resource}?limit=500`);
});

it.each(["keys", "contexts", "logins"])("prints no %s, and no error, where there is no platform", async (kind) => {
  const none = { HOME: home, POSTERN_DATA_DIR: home };
  expect(await runCommand(["complete-names", kind], none)).toEqual({ code: 0, stdout: "", stderr: "" });
});
