// `kubectl create token` in an embedded virtual cluster, and what the token then opens.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { tool } from "./testing/postern-process.ts";

let server: OwnServer;
let adminKey = "";

beforeAll(async () => {
  server = await startOwnServer();
  adminKey = /token: (\S+)/.exec(await readFile(server.adminKubeconfig, "utf8"))?.[1] ?? "";
});

afterAll(() => server?.[Symbol.asyncDispose]());

const kubectl = (token: string, ...args: string[]) =>
  tool("kubectl", [
    `--server=${server.url}/kubernetes/project/default/virtualcluster/demo`,
    `--certificate-authority=${server.caFile}`,
    `--token=${token}`,
    `--cache-dir=${join(server.directory, "cache")}`,
    ...args,
  ]);

async function ok(outcome: ReturnType<typeof tool>): Promise<string> {
  const { code, stdout, stderr } = await outcome;
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

describe("kubectl create token", () => {
  it("gives a token that makes its bearer the ServiceAccount, with the rights that it has", async () => {
    await ok(kubectl(adminKey, "create", "serviceaccount", "robot"));
    await ok(
      kubectl(adminKey, "create", "rolebinding", "robots", "--clusterrole=view", "--serviceaccount=default:robot"),
    );
    const token = await ok(kubectl(adminKey, "create", "token", "robot", "--duration=10m"));
    expect(token.split(".")).toHaveLength(3);
    expect(await ok(kubectl(token, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"))).toBe(
      "system:serviceaccount:default:robot",
    );
    expect(await ok(kubectl(token, "get", "configmaps", "-o", "name"))).toBe("configmap/kube-root-ca.crt");
    expect((await kubectl(token, "get", "secrets")).stderr).toContain("Forbidden");
    expect((await kubectl(token, "get", "configmaps", "-A")).stderr).toContain("Forbidden");
  });

  it("says what it does not do", async () => {
    expect((await kubectl(adminKey, "create", "token", "default", "--duration=5m")).stderr).toContain("10 minutes");
    expect((await kubectl(adminKey, "create", "token", "nobody")).stderr).toContain("not found");
  });
});
