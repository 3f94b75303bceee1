// A kubeconfig that only reads: with real kubectl, by token and by certificate.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectlWith } from "./testing/postern-process.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform?.[Symbol.asyncDispose]());

test.each([false, true])("it reads and nothing else, and no Secrets (certificate: %s)", async (clientCert) => {
  const ask = async (spec: object): Promise<string> => {
    const path = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
    const { status, body, text } = await platform.send({ path, body: { spec: { clientCert, ...spec } } });
    expect([status, text]).toEqual([201, expect.any(String)]);
    return body.status.kubeConfig;
  };
  const fileOf = async (name: string, text: string): Promise<string> => {
    const file = join(platform.directory, `${name}-${clientCert}.yaml`);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  const cache = join(platform.directory, `cache-${clientCert}`);
  const all = kubectlWith(await fileOf("all", await ask({})), cache, "kubectl");
  const reader = kubectlWith(await fileOf("reader", await ask({ role: "view" })), cache, "kubectl");
  const name = `made-${clientCert}`;
  expect((await all(["create", "configmap", name, "-n", "default"])).code).toBe(0);
  expect((await reader(["get", "configmap", name, "-n", "default", "-o", "name"])).stdout).toContain(name);
  expect((await reader(["get", "namespaces", "-o", "name"])).stdout).toContain("namespace/default");
  expect((await reader(["auth", "can-i", "list", "configmaps"])).stdout).toContain("yes");
  for (const refused of [
    ["create", "configmap", "other", "-n", "default"],
    ["delete", "configmap", name, "-n", "default"],
    ["label", "configmap", name, "-n", "default", "a=b"],
    ["get", "secrets", "-A"],
    ["create", "token", "default", "-n", "default"],
    ["create", "clusterrolebinding", "x", "--clusterrole=cluster-admin", "--user=x"],
  ])
    expect([refused.join(" "), (await reader(refused)).stderr]).toEqual([
      refused.join(" "),
      expect.stringMatching(/forbidden|Forbidden/),
    ]);
});
