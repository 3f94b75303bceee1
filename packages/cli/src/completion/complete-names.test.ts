import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
    const namespace = /instances|generators/.test(url) ? { namespace: "p-shop" } : {};
    const names = ["web", "a b", "-rf", "--kubeconfig", "$(reboot)", "`x`", "x;y", "api.eu"];
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
  ["virtual-clusters", "shop/web\nshop/-rf\nshop/--kubeconfig\nshop/api.eu\n", "virtualclusterinstances"],
  ["projects", "web\napi.eu\n", "projects"],
  ["generators", "shop/web\nshop/-rf\nshop/--kubeconfig\nshop/api.eu\n", "kubeconfiggenerators"],
  ["clusters", "web\napi.eu\n", "clusters"],
])("prints %s that are words of a shell", async (kind, stdout, resource) => {
  expect(await runCommand(["complete-names", kind], environment)).toEqual({ code: 0, stdout, stderr: "" });
  expect(server.requests.at(-1)).toBe(`GET /apis/management.example.com/v1/${resource}?limit=500`);
});

it("prints names of the platform that was typed", async () => {
  const file = join(home, "typed.yaml");
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        { name: "typed", cluster: { server: server.url, "certificate-authority-data": btoa(server.certificatePem) } },
      ],
      users: [{ name: "typed", user: { token: "x" } }],
      contexts: [{ name: "typed", context: { cluster: "typed", user: "typed" } }],
      "current-context": "typed",
    }),
  );
  const elsewhere = { HOME: home, POSTERN_URL: "https://127.0.0.1:1", POSTERN_TOKEN: "x" };
  const names = async (...args: readonly string[]) => (await runCommand(["complete-names", ...args], elsewhere)).stdout;
  expect(await names("projects")).toBe("");
  expect(await names("projects", `--kubeconfig=${file}`)).toBe("web\napi.eu\n");
  expect(await names("projects", `--kubeconfig=${file}`, "--context=typed")).toBe("web\napi.eu\n");
  expect(await names("contexts", `--kubeconfig=${file}`)).toBe("typed\n");
  expect(await names("projects", "--server=unknown")).toBe("");
  expect(await names("projects", `--kubeconfig=${file}`, "--server=typed")).toBe("");
});

it.each(["keys", "contexts", "logins"])("prints no %s, and no error, where there is no platform", async (kind) => {
  const none = { HOME: home, POSTERN_DATA_DIR: home };
  expect(await runCommand(["complete-names", kind], none)).toEqual({ code: 0, stdout: "", stderr: "" });
});
