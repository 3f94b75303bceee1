// The credential of the plugin expires while kubectl watches: the watch ends with it, kubectl asks the plugin again, and goes on. With the
// newest kubectl, by night with each.

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { chosenKubernetesReleases, kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { ENTRY, NODE, type Outcome, startTool, succeed, tool } from "./testing/postern-process.ts";

/** Seconds. Long enough for a slow machine to ask something with a credential. */
const TTL = 10;

let server: OwnServer;
let http: HttpClient;

beforeAll(async () => {
  server = await startOwnServer();
  http = await httpClient(server);
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** Uses a key continuously until disposed. */
function usesIt(key: string): Disposable {
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) {
      await http("/apis/management.postern/v1/selves", { key, body: {} });
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };
  // A server that stops answers no more.
  work().catch(() => {});
  return {
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}

describe.each(chosenKubernetesReleases())("kubectl %s, in the middle of a watch", (release) => {
  it("runs the plugin again when the credential has expired, and continues", async () => {
    const { kubectl } = await kubernetesTools(release);
    const home = join(server.directory, `home-${release}`);
    const [bin, calls, config] = [join(home, "bin"), join(home, "calls"), join(home, "exec.kubeconfig")];
    await mkdir(bin, { recursive: true });
    await writeFile(calls, "");
    const plugin = join(bin, "plugin");
    for (const [path, script] of [
      [join(bin, "postern"), `exec ${NODE} ${ENTRY} "$@"`],
      [plugin, `echo asked >> ${calls}\nexec "$PLUGIN" "$@"`],
    ] as const) {
      await writeFile(path, `#!/bin/sh\n${script}\n`);
      await chmod(path, 0o755);
    }
    const flag = `flag-${release.replace(".", "-")}`;
    const environment = [`HOME=${home}`, `PATH=${bin}:${process.env["PATH"]}`];
    const run = (program: string, ...args: readonly string[]): Promise<Outcome> =>
      tool("env", [...environment, program, ...args]);
    const inside = (...args: readonly string[]) => succeed(run(kubectl, "--kubeconfig", config, ...args));
    const asked = async (): Promise<number> => (await readFile(calls, "utf8")).split("\n").length - 1;
    const start = (...args: readonly string[]) =>
      startTool("env", [...environment, kubectl, "--kubeconfig", config, ...args]);

    // A credential lives no longer than the key that it comes of has left, and this one lives on with every use.
    const key = (
      await http("/apis/management.postern/v1/ownedaccesskeys", {
        key: await adminKey(server),
        body: { metadata: { name: flag }, spec: { user: "admin", ttl: TTL, ttlAfterLastActivity: true } },
      })
    ).body.spec.key;
    using _person = usesIt(key);
    const login = ["login", server.url, "--ca", server.caFile, "--name", "here"];
    await succeed(tool("env", [...environment, "postern", ...login], key));
    await succeed(run("postern", "kubeconfig", "demo", "--exec", "--out", config));
    // The kubeconfig has the absolute path of the command: here one that counts, and then does the same.
    const written = await readFile(config, "utf8");
    const command = /^ *command: (\S+)$/m.exec(written)?.[1] ?? expect.unreachable(written);
    environment.push(`PLUGIN=${command}`);
    await writeFile(config, written.replace(`command: ${command}`, `command: ${plugin}`));
    await inside("create", "configmap", flag, "--from-literal=done=no");

    // `kubectl wait` lists again when its watch ends.
    using waiting = start("wait", "--for=jsonpath={.data.done}=yes", `configmap/${flag}`, "--timeout=120s");
    using watching = start("get", "configmaps", flag, "--watch", "-o", "name");
    await expect.poll(watching.output, { timeout: 30_000 }).toContain(flag);
    const before = await asked();
    // `kubectl get --watch` ends with its credential, and does not go on without one.
    await expect.poll(watching.isOver, { timeout: 40_000, interval: 200 }).toBe(true);
    await expect.poll(asked, { timeout: 40_000, interval: 200 }).toBeGreaterThan(before);
    expect([waiting.isOver(), waiting.output()]).toEqual([false, ""]);
    await inside("patch", "configmap", flag, "--type=merge", "-p", '{"data":{"done":"yes"}}');
    await expect.poll(waiting.output, { timeout: 30_000 }).toContain("condition met");

    // The same command once more is let in, and sees what happened meanwhile.
    using again = start("get", "configmaps", flag, "--watch", "-o", "jsonpath={.data.done}");
    await expect.poll(again.output, { timeout: 30_000 }).toContain("yes");
  }, 180_000);
});
