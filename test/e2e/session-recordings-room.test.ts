// The room for recordings, in a server with two threads: a tenant that fills its share leaves room for others, and no byte is shown that has none.

import { once } from "node:events";
import { readdir, rm, stat } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { NODE_WITH_THREADS, WHY_NO_THREADS } from "./testing/front-threads.ts";
import { INSTANCES, MANAGEMENT, POD_PATH, type ProxiedPod, proxyPod } from "./testing/proxied-pod.ts";

const WAIT = { timeout: 30_000, interval: 50 };
const MIB = 1 << 20;
const TOTAL_MIB = 4;
const SESSIONS = 8;
const MIN_FILE_BYTES = 16 << 10;
const FILL = ["sh", "-c", "head -c 2000000 /dev/zero | tr '\\0' x"];

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

describe.skipIf(NODE_WITH_THREADS === undefined)("recordings of two projects, with two threads", () => {
  let proxied: ProxiedPod;
  let directory: string;

  beforeAll(async () => {
    directory = join(process.env["TMPDIR"] ?? "/tmp", `recordings-room-${process.pid}`);
    const flags = ["--threads", "2", "--session-recording-dir", directory];
    proxied = await proxyPod({ node: NODE_WITH_THREADS ?? "" }, [
      ...flags,
      "--session-recording-max-total-mib",
      String(TOTAL_MIB),
    ]);
    const required = { spec: { sessionRecording: { mode: "Required" } } };
    const merge = { "content-type": "application/merge-patch+json" };
    const key = proxied.admin;
    await proxied.post(`${MANAGEMENT}/projects`, { metadata: { name: "other" }, ...required });
    const patched = await proxied.http(`${MANAGEMENT}/projects/default`, {
      key,
      method: "PATCH",
      body: required,
      headers: merge,
    });
    expect(patched.status, patched.text).toBe(200);
    const secrets = "/kubernetes/management/api/v1/namespaces/p-other/secrets";
    const { body: secret } = await proxied.http(secrets.replace("p-other", "p-default").concat("/vc-pods"), { key });
    await proxied.post(secrets, { metadata: { name: "vc-pods" }, data: secret.data });
    await proxied.post(INSTANCES.replace("p-default", "p-other"), {
      metadata: { name: "pods" },
      spec: { external: true },
    });
  });
  afterAll(async () => {
    await proxied?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  /** Runs the command; resolves when the session is over. */
  async function run(project: string, command: readonly string[]) {
    const query = new URLSearchParams({ stdout: "true" });
    for (const word of command) query.append("command", word);
    const path = POD_PATH.replace("/default/", `/${project}/`);
    const socket = new WebSocket(
      `${proxied.server.url.replace("https", "wss")}${path}/exec?${query}`,
      ["v5.channel.k8s.io"],
      {
        agent: new Agent({ rejectUnauthorized: false }),
        headers: { authorization: `Bearer ${proxied.admin}` },
      },
    );
    const received: Buffer[] = [];
    socket.on("message", (data: Buffer) => received.push(data)).on("error", () => undefined);
    const status = await Promise.race([
      once(socket, "open").then(() => 101),
      once(socket, "unexpected-response").then(([, { statusCode }]) => Number(statusCode)),
    ]);
    if (status === 101 && socket.readyState !== WebSocket.CLOSED) await once(socket, "close");
    const of = (channel: number): string =>
      received.flatMap((message) => (message[0] === channel ? [message.subarray(1).toString()] : [])).join("");
    return { status, output: of(1).replaceAll("\0", ""), error: of(3) };
  }

  const usedBytes = async (): Promise<number> => {
    const sizes = await Promise.all(
      (await readdir(directory)).map((file) =>
        stat(join(directory, file)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    return sizes.reduce((sum, size) => sum + Math.max(size, MIN_FILE_BYTES), 0);
  };
  const items = async (): Promise<any[]> =>
    (await proxied.http("/sessionrecordings", { key: proxied.admin })).body.items;
  async function shownIn(name: string): Promise<string> {
    const { text } = await proxied.http(`/sessionrecordings/${name}`, { key: proxied.admin });
    const lines = text.trim().split("\n").slice(1);
    return lines
      .map((line) => JSON.parse(line))
      .flatMap(([, code, shown]: string[]) => (code === "o" ? [shown] : []))
      .join("");
  }

  it("end at the share of their user, show nothing that is not recorded, and leave room for another project", async () => {
    await expect.poll(async () => (await run("other", ["echo", "ready"])).status, WAIT).toBe(101);
    const first = await Promise.all(Array.from({ length: SESSIONS }, () => run("default", FILL)));
    expect(first.some(({ error }) => error.includes("TotalLimit"))).toBe(true);
    await expect.poll(() => proxied.pods.open.size, WAIT).toBe(0);
    await expect.poll(async () => (await items()).every(({ state }) => state === "Complete"), WAIT).toBe(true);
    // As much as sessions that begin with what is left.
    for (let status = 101; status === 101; ) ({ status } = await run("default", FILL));
    const used = await usedBytes();
    expect(used).toBeGreaterThan(TOTAL_MIB * MIB * 0.5);
    expect(used).toBeLessThanOrEqual(TOTAL_MIB * MIB * 0.65);
    const recorded = await Promise.all(
      (await items()).filter(({ project }) => project === "default").map(({ name }) => shownIn(name)),
    );
    for (const { output } of first) expect(recorded.some((text) => text.startsWith(output))).toBe(true);
    const count = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0);
    expect(count(first.map(({ output }) => output))).toBeLessThanOrEqual(count(recorded));

    expect((await run("default", ["echo", "more"])).status).toBe(503);
    for (let session = 0; session < 5; session++) {
      expect(await run("other", ["echo", "seen"])).toMatchObject({ status: 101, output: "seen\n" });
    }
    await expect
      .poll(
        async () => (await items()).filter(({ project, state }) => project === "other" && state === "Complete").length,
        WAIT,
      )
      .toBeGreaterThanOrEqual(5);
    expect(await usedBytes()).toBeLessThanOrEqual(TOTAL_MIB * MIB);
  });
});
