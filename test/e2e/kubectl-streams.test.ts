// kubectl exec, attach and port-forward through the proxy: the newest kubectls over WebSockets, Debian's over SPDY.

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubectlClients } from "./testing/kubectl-clients.ts";
import { kubectlWith, type Outcome, startTool, succeed } from "./testing/postern-process.ts";
import { INSTANCES, MANAGEMENT, type ProxiedPod, proxyPod } from "./testing/proxied-pod.ts";

const WAIT = { timeout: 60_000, interval: 50 };
/** From this release on kubectl asks for WebSockets, and for SPDY only where it gets none. */
const FIRST_WITH_WEB_SOCKETS = 31;

const { clients } = await kubectlClients();
let proxied: ProxiedPod;
let echo: Server;

beforeAll(async () => {
  proxied = await proxyPod();
  echo = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
});

afterAll(async () => {
  await proxied?.[Symbol.asyncDispose]();
  echo?.close();
});

/** The path of a kubeconfig with a key of its own, and the name of that key. */
async function kubeConfig(name: string): Promise<{ readonly path: string; readonly key: string }> {
  const made = await proxied.post(`${MANAGEMENT}/ownedaccesskeys`, {
    apiVersion: "management.postern/v1",
    kind: "OwnedAccessKey",
    metadata: { name },
    spec: { user: "admin" },
  });
  const answer = await proxied.http(`${INSTANCES}/pods/kubeconfig`, { key: made.spec.key, body: { spec: {} } });
  expect(answer.status, answer.text).toBe(201);
  const path = join(proxied.folder, `${name}.kubeconfig`);
  await writeFile(path, answer.body.status.kubeConfig, { mode: 0o600 });
  return { path, key: name };
}

const revoke = async (key: string): Promise<void> => {
  expect(
    (await proxied.http(`${MANAGEMENT}/ownedaccesskeys/${key}`, { key: proxied.admin, method: "DELETE" })).status,
  ).toBe(200);
};

describe.each(clients)("kubectl 1.$minor ($tag)", ({ program, minor, tag }) => {
  let config: string;
  let kubectl: (args: readonly string[], input?: string) => Promise<Outcome>;
  const cache = () => join(proxied.folder, `cache-${tag}`);

  beforeAll(async () => {
    config = (await kubeConfig(`streams-${tag}`)).path;
    kubectl = kubectlWith(config, cache(), program);
  });

  it("executes: input, both outputs and the exit code", async () => {
    const script = "cat; echo something else >&2; exit 3";
    const outcome = await kubectl(["exec", "-i", "web", "--", "sh", "-c", script], "what was typed\n");
    expect(outcome).toMatchObject({ code: 3, stdout: "what was typed\n" });
    expect(outcome.stderr).toContain("something else\n");
    expect(await succeed(kubectl(["exec", "web", "--", "echo", "a b", "c"]))).toBe("a b c\n");

    const { headers } = proxied.pods.upgrades.at(-1) ?? expect.unreachable();
    expect(headers.upgrade?.toLowerCase()).toBe(minor >= FIRST_WITH_WEB_SOCKETS ? "websocket" : "spdy/3.1");
    expect(headers).toMatchObject({
      authorization: "Bearer credential-of-the-platform",
      "impersonate-user": "admin",
      "impersonate-group": expect.stringContaining("postern:role:cluster-admin"),
    });
    await expect.poll(() => proxied.pods.open.size, WAIT).toBe(0);
  });

  it("carries many bytes whole", async () => {
    const size = 20_000_000;
    const script = `head -c ${size} /dev/zero | tr '\\0' x`;
    const { code, stdout } = await kubectl(["exec", "web", "--", "sh", "-c", script]);
    expect([code, stdout.length, /[^x]/.test(stdout)]).toEqual([0, size, false]);
  });

  it("attaches", async () => {
    expect(await succeed(kubectl(["attach", "-i", "web"], "to whom it is attached\n"))).toBe(
      "to whom it is attached\n",
    );
  });

  it("forwards a port: bytes both ways, an end, and connections one beside the other", async () => {
    const remote = (echo.address() as AddressInfo).port;
    const args = ["--kubeconfig", config, "--cache-dir", cache(), "port-forward", "pod/web", `:${remote}`];
    using forward = startTool(program, args);
    await expect.poll(() => forward.output(), WAIT).toMatch(/Forwarding from 127\.0\.0\.1:\d+/);
    const local = Number(/127\.0\.0\.1:(\d+)/.exec(forward.output())?.[1]);
    const sent = [Buffer.alloc(1_000_000, "ab"), Buffer.from([0, 1, 0x80, 0xff])];
    const received = await Promise.all(
      sent.map(async (bytes) => {
        const socket = connect({ port: local, host: "127.0.0.1", allowHalfOpen: true });
        const chunks: Buffer[] = [];
        socket.on("data", (chunk) => chunks.push(chunk)).end(bytes);
        await once(socket, "end");
        return Buffer.concat(chunks);
      }),
    );
    expect(received.map((bytes, index) => Buffer.compare(bytes, sent[index] ?? Buffer.alloc(0)))).toEqual([0, 0]);
  });

  it("is closed when the key is revoked, on the side of the pod, too", async () => {
    const { path, key } = await kubeConfig(`revoked-${tag}`);
    const script = "echo begun; exec sleep 1000";
    using running = startTool(program, [
      "--kubeconfig",
      path,
      "--cache-dir",
      cache(),
      "exec",
      "web",
      "--",
      "sh",
      "-c",
      script,
    ]);
    await expect.poll(() => running.output(), WAIT).toContain("begun");
    expect(proxied.pods.open.size).toBeGreaterThan(0);
    await revoke(key);
    await expect.poll(() => proxied.pods.open.size, WAIT).toBe(0);
    const refused = await kubectlWith(path, cache(), program)(["exec", "web", "--", "true"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/logged in|Unauthorized|login/i);
  });
});
