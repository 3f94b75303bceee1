// Recordings of exec through the proxy, with real kubectls: those that speak WebSockets, and Debian's, which speaks SPDY.

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { httpClient } from "./testing/http-client.ts";
import { kubectlClients } from "./testing/kubectl-clients.ts";
import { kubectlWith, type Outcome, startPostern } from "./testing/postern-process.ts";
import { INSTANCES, MANAGEMENT, POD_PATH, type ProxiedPod, proxyPod } from "./testing/proxied-pod.ts";

const WAIT = { timeout: 60_000, interval: 50 };
const FIRST_WITH_WEB_SOCKETS = 31;
const PROJECT = `${MANAGEMENT}/projects/default`;
const MIB = 1 << 20;

const { clients } = await kubectlClients();
const modern = clients.filter(({ minor }) => minor >= FIRST_WITH_WEB_SOCKETS);
const old = clients.filter(({ minor }) => minor < FIRST_WITH_WEB_SOCKETS);
let proxied: ProxiedPod;
let directory: string;
let config: string;

beforeAll(async () => {
  const parent = join(process.env["TMPDIR"] ?? "/tmp", `recordings-${process.pid}`);
  directory = join(parent, "recordings");
  proxied = await proxyPod(undefined, [
    "--session-recording-dir",
    directory,
    "--session-recording-max-mib",
    "1",
    "--session-recording-max-total-mib",
    "64",
  ]);
  const made = await proxied.post(`${MANAGEMENT}/ownedaccesskeys`, {
    metadata: { name: "k" },
    spec: { user: "admin" },
  });
  const answer = await proxied.http(`${INSTANCES}/pods/kubeconfig`, { key: made.spec.key, body: { spec: {} } });
  config = join(proxied.folder, "kubeconfig");
  await writeFile(config, answer.body.status.kubeConfig, { mode: 0o600 });
});
afterAll(async () => {
  await proxied?.[Symbol.asyncDispose]();
  await rm(join(directory, ".."), { recursive: true, force: true });
});

async function setRecording(sessionRecording: object | null, key = proxied.admin) {
  return await proxied.http(PROJECT, {
    key,
    method: "PATCH",
    body: { spec: { sessionRecording } },
    headers: { "content-type": "application/merge-patch+json" },
  });
}

const list = async (query = "", key = proxied.admin) => await proxied.http(`/sessionrecordings${query}`, { key });
const items = async (): Promise<any[]> => (await list()).body.items;

async function cast(name: string): Promise<any[]> {
  const { status, text } = await proxied.http(`/sessionrecordings/${name}`, { key: proxied.admin });
  expect(status, text).toBe(200);
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const shown = (lines: any[], code = "o"): string =>
  lines
    .slice(1)
    .filter(([, each]) => each === code)
    .map(([, , text]) => text)
    .join("");

/** The newest complete recording, once there are more than before. */
async function afterSession(run: () => Promise<Outcome>): Promise<{ outcome: Outcome; item: any }> {
  const before = (await items()).length;
  const outcome = await run();
  await expect
    .poll(async () => (await items()).filter(({ state }) => state === "Complete").length, WAIT)
    .toBe(before + 1);
  return { outcome, item: (await items())[0] };
}

const kubectl = (program: string, args: readonly string[], input?: string) =>
  kubectlWith(config, join(proxied.folder, "cache"), program)(args, input);

describe.each(modern)("kubectl 1.$minor ($tag)", ({ program, minor }) => {
  it("is recorded: both outputs, the command and how it ended, but no input", async () => {
    expect((await setRecording({ mode: "BestEffort" })).status).toBe(200);
    const script = "read line; echo shown é; echo wrong >&2; exit 3";
    const { outcome, item } = await afterSession(() =>
      kubectl(program, ["exec", "-i", "web", "--", "sh", "-c", script], "typed secret\n"),
    );
    expect(outcome).toMatchObject({ code: 3, stdout: "shown é\n" });
    expect(item).toMatchObject({
      user: "admin",
      project: "default",
      instance: "pods",
      namespace: "default",
      pod: "web",
      subresource: "exec",
      command: ["sh", "-c", script],
      state: "Complete",
    });
    const lines = await cast(item.name);
    expect(lines[0]).toMatchObject({ version: 2, width: 80, height: 24 });
    expect(shown(lines)).toContain("shown é\n");
    expect(shown(lines)).toContain("wrong\n");
    expect(shown(lines, "m")).toContain("exit status 3");
    expect(JSON.stringify(lines)).not.toContain("typed secret");
    expect(minor).toBeGreaterThanOrEqual(FIRST_WITH_WEB_SOCKETS);
  });

  it("copies files whole, and the recording says which", async () => {
    await setRecording({ mode: "Required" });
    const [here, copy] = [`here-${minor}.bin`, `copy-${minor}.bin`].map((file) => join(proxied.folder, file));
    const bytes = randomBytes(200_000);
    await writeFile(String(here), bytes);
    const { outcome, item } = await afterSession(() => kubectl(program, ["cp", `default/web:${here}`, String(copy)]));
    expect([outcome.code, bytes.equals(await readFile(String(copy)))]).toEqual([0, true]);
    expect(item.command).toEqual(["tar", "cf", "-", here]);
  });

  it("carries many bytes whole beyond the end of a recording that is no must", async () => {
    await setRecording({ mode: "BestEffort" });
    const size = 20_000_000;
    const script = `head -c ${size} /dev/zero | tr '\\0' x`;
    const { outcome, item } = await afterSession(() => kubectl(program, ["exec", "web", "--", "sh", "-c", script]));
    expect([outcome.code, outcome.stdout.length, /[^x]/.test(outcome.stdout)]).toEqual([0, size, false]);
    expect(item.bytes).toBeLessThan(1.2 * MIB);
    expect(shown(await cast(item.name), "m")).toContain("largest size");
  });

  it("is ended at the end of a recording that is a must, and says why", async () => {
    await setRecording({ mode: "Required" });
    const script = "head -c 3000000 /dev/zero | tr '\\0' x";
    const { outcome, item } = await afterSession(() => kubectl(program, ["exec", "web", "--", "sh", "-c", script]));
    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain("sessions here must be recorded");
    expect(outcome.stdout.length).toBeLessThan(1.2 * MIB);
    expect(shown(await cast(item.name)).replaceAll(/[^x]/g, "").length).toBeGreaterThanOrEqual(
      outcome.stdout.replaceAll(/[^x]/g, "").length,
    );
    await expect.poll(() => proxied.pods.open.size, WAIT).toBe(0);
  });

  it("is refused where recordings cannot be written, and says why", async () => {
    await setRecording({ mode: "Required" });
    await rm(directory, { recursive: true });
    try {
      const { code, stderr } = await kubectl(program, ["exec", "web", "--", "echo", "unseen"]);
      expect(code).not.toBe(0);
      expect(stderr).toContain("their directory cannot be written (ENOENT)");
      await setRecording({ mode: "BestEffort" });
      expect(await kubectl(program, ["exec", "web", "--", "echo", "seen"])).toMatchObject({
        code: 0,
        stdout: "seen\n",
      });
    } finally {
      await mkdir(directory, { mode: 0o700 });
    }
  });
});

describe.each(old)("kubectl 1.$minor ($tag), which speaks SPDY", ({ program }) => {
  it("is refused where recording is a must, and says what to do; otherwise it works unrecorded", async () => {
    await setRecording({ mode: "Required" });
    const { code, stderr } = await kubectl(program, ["exec", "web", "--", "echo", "unseen"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("use kubectl 1.31 or later");
    await setRecording({ mode: "BestEffort" });
    const before = (await items()).length;
    expect(await kubectl(program, ["exec", "web", "--", "echo", "seen"])).toMatchObject({ code: 0, stdout: "seen\n" });
    expect((await items()).length).toBe(before);
  });
});

describe("recordings", () => {
  /** A session of the administrator, as a browser opens it. */
  async function open(
    command: readonly string[],
    protocol = "v5.channel.k8s.io",
    { subresource = "exec", ...more }: { readonly subresource?: string; readonly [option: string]: unknown } = {},
  ) {
    const query = new URLSearchParams({ stdout: "true", stdin: "true" });
    for (const word of command) query.append("command", word);
    const socket = new WebSocket(
      `${proxied.server.url.replace("https", "wss")}${POD_PATH}/${subresource}?${query}`,
      [protocol],
      {
        agent: new Agent({ rejectUnauthorized: false }),
        headers: { authorization: `Bearer ${proxied.admin}` },
        ...more,
      },
    );
    const received: Buffer[] = [];
    socket.on("message", (data: Buffer) => received.push(data)).on("error", () => undefined);
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const [event] = await Promise.race([
      once(socket, "open").then(() => ["open"]),
      once(socket, "unexpected-response").then(([, response]) => [response.statusCode]),
    ]);
    return { socket, received, event, closed };
  }

  it("have sizes of the terminal, and the input where it is asked for", async () => {
    await setRecording({ mode: "Required", input: true });
    const before = (await items()).length;
    const { socket, received } = await open(["cat"]);
    const send = (channel: number, text: string) =>
      socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
    send(4, JSON.stringify({ Width: 132, Height: 43 }));
    send(0, "typed\n");
    await expect.poll(() => Buffer.concat(received).toString(), WAIT).toContain("typed");
    send(4, JSON.stringify({ Width: 100, Height: 30 }));
    send(0, "more\n");
    await expect.poll(() => Buffer.concat(received).toString(), WAIT).toContain("more");
    // Of the session that goes on.
    await expect.poll(async () => (await items()).length, WAIT).toBe(before + 1);
    const [item] = await items();
    expect(item.state).toBe("Open");
    await expect.poll(async () => shown(await cast(item.name)), WAIT).toContain("more\n");
    socket.terminate();
    await expect.poll(async () => (await items())[0].state, WAIT).toBe("Complete");
    const lines = await cast(item.name);
    expect(lines[0]).toMatchObject({ width: 132, height: 43 });
    expect([shown(lines, "i"), shown(lines, "r")]).toEqual(["typed\nmore\n", "100x30"]);
    await expect.poll(() => proxied.pods.open.size, WAIT).toBe(0);
  });

  it("are in the audit event of the session, with the hash of the file", async () => {
    await setRecording({ mode: "Required" });
    const { closed } = await open(["echo", "one"]);
    await closed;
    await expect.poll(async () => (await items())[0].command, WAIT).toEqual(["echo", "one"]);
    const find = async () => {
      const [{ auditID, state }] = await items();
      if (state !== "Complete") return undefined;
      const log = await readFile(join(proxied.folder, "data/audit.log"), "utf8");
      const events = log
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      return events.find((event) => event.auditID === auditID && event.stage === "ResponseComplete");
    };
    await expect.poll(find, WAIT).toBeDefined();
    const { annotations } = await find();
    const [{ name }] = await items();
    const file = await readFile(join(directory, `${name}.cast`));
    expect(annotations).toMatchObject({
      "postern/session-recording": name,
      "postern/session-recording-sha256": createHash("sha256").update(file).digest("hex"),
      "postern/session-recording-result": "Complete",
    });
    expect(file.includes("one")).toBe(false);
    expect([(await stat(directory)).mode & 0o777, (await stat(join(directory, `${name}.cast`))).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  });

  it("refuse protocols that cannot be read, and what the kubelet executes", async () => {
    await setRecording({ mode: "Required" });
    expect((await open(["true"], "base64.channel.k8s.io")).event).not.toBe("open");
    const node = POD_PATH.replace(/namespaces.*/, "nodes/one/proxy/run/default/web/main?cmd=id");
    const answer = await proxied.http(node, { key: proxied.admin, method: "POST", body: {} });
    expect([answer.status, answer.body.details.causes[0].reason]).toEqual([403, "RecordingRequired"]);
    // Before Kubernetes 1.14.
    const old = POD_PATH.replace(/namespaces.*/, "proxy/nodes/one/run/default/web/main?cmd=id");
    expect((await proxied.http(old, { key: proxied.admin, method: "POST", body: {} })).status).toBe(403);
    await setRecording({ mode: "BestEffort" });
    expect((await proxied.http(node, { key: proxied.admin, method: "POST", body: {} })).status).toBe(404);
  });

  it.each(["EXEC", "exec/", "exec/more", "%65xec", "exec;a", "attached"])(
    "are made of whatever a cluster might take for a session: %s",
    async (subresource) => {
      await setRecording({ mode: "Required" });
      const before = (await items()).length;
      const { socket, event } = await open(["echo", "one"], "v5.channel.k8s.io", { subresource });
      expect(event).toBe("open");
      socket.terminate();
      await expect
        .poll(async () => (await items()).filter(({ state }) => state === "Complete").length, WAIT)
        .toBe(before + 1);
    },
  );

  it("leave nothing of a session that the cluster refuses", async () => {
    await setRecording({ mode: "Required" });
    const before = (await readdir(directory)).length;
    expect((await open(["true"], "unknown.example.com")).event).not.toBe("open");
    expect((await readdir(directory)).length).toBe(before);
  });

  it("are listed by user, pod and time, and a mistyped parameter is an error", async () => {
    for (const query of ["?user=nobody", "?pod=other", "?until=2020-01-01T00:00:00Z", "?cluster=c"])
      expect((await list(query)).body).toEqual({ items: [] });
    expect((await list("?user=admin&limit=1")).body).toMatchObject({
      items: [{ user: "admin" }],
      continue: expect.any(String),
    });
    for (const query of ["?users=x", "?limit=0", "?since=yesterday"]) expect((await list(query)).status).toBe(400);
    const none = await proxied.http("/sessionrecordings/none", { key: proxied.admin });
    expect([none.status, none.body.message]).toEqual([404, 'this server has no recording "none"']);
    expect((await proxied.http("/sessionrecordings/..%2fx", { key: proxied.admin })).status).toBeGreaterThanOrEqual(
      400,
    );
  });

  it("are for administrators alone, and the owner of a project cannot switch them off", async () => {
    await setRecording({ mode: "Required" });
    await proxied.post(`${MANAGEMENT}/users`, { metadata: { name: "olga" }, spec: {} });
    const { spec } = await proxied.post(`${MANAGEMENT}/ownedaccesskeys`, {
      metadata: { name: "o" },
      spec: { user: "olga" },
    });
    const owner = { spec: { owner: { user: "olga" } } };
    const merge = { "content-type": "application/merge-patch+json" };
    expect(
      (await proxied.http(PROJECT, { key: proxied.admin, method: "PATCH", body: owner, headers: merge })).status,
    ).toBe(200);
    const [{ name }] = await items();
    expect((await list("", spec.key)).status).toBe(403);
    expect((await proxied.http(`/sessionrecordings/${name}`, { key: spec.key })).status).toBe(403);
    for (const setting of [null, { mode: "BestEffort" }, { mode: "Off" }]) {
      const refused = await setRecording(setting, spec.key);
      expect([refused.status, refused.body.message]).toEqual([
        403,
        expect.stringContaining("requires the verb restrict"),
      ]);
    }
    const described = { spec: { displayName: "hers" } };
    expect(
      (await proxied.http(PROJECT, { key: spec.key, method: "PATCH", body: described, headers: merge })).status,
    ).toBe(200);
  });

  it("are read as far as they were written when the server is killed, and further ones follow", async () => {
    await setRecording({ mode: "Required" });
    const { received } = await open(["sh", "-c", "echo before the end; exec sleep 1000"]);
    await expect.poll(() => Buffer.concat(received).toString(), WAIT).toContain("before the end");
    const { name } = (await items())[0];
    await expect.poll(async () => shown(await cast(name)), WAIT).toContain("before the end");
    await proxied.server.stop("SIGKILL");
    await using again = await startPostern(join(proxied.folder, "data"), ["--session-recording-dir", directory]);
    const http = await httpClient(again);
    const { text } = await http(`/sessionrecordings/${name}`, { key: proxied.admin });
    expect(text).toContain("before the end");
    const listed = await http("/sessionrecordings?limit=1", { key: proxied.admin });
    expect(listed.body.items[0]).toMatchObject({ name, state: "Open" });
    const long = new Date(Date.now() - 600_000);
    await utimes(join(directory, `${name}.cast.part`), long, long);
    const later = await http("/sessionrecordings?limit=1", { key: proxied.admin });
    expect(later.body.items[0]).toMatchObject({ name, state: "Interrupted" });
    const broken = await http(`/sessionrecordings/${name}`, { key: proxied.admin });
    expect(broken.text).toContain("recording broke off");
  });
});
