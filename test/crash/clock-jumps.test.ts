// The time of day of a running server is set by hours, forwards and backwards: what has ended stays ended, what is good stays good, the
// leader stays the leader, and the audit log hangs together.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { createChainReader } from "@postern/apimachinery/audit/audit-chain";
import { sha256 } from "@postern/apiserver/audit/audit-chain";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, test } from "vitest";
import { httpClient } from "../e2e/testing/http-client.ts";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { patientClient } from "./testing/api-client.ts";
import { createFakeTime, whyNoFakeTime } from "./testing/fake-time.ts";
import { createKey, expectSuccess, KEYS, MANAGEMENT, statusFor } from "./testing/keys.ts";
import { type ServerProcess, startServerProcess } from "./testing/server-process.ts";

const HOUR_S = 3_600;
const WAIT = { timeout: 60_000, interval: 200 };
const missing = whyNoFakeTime();

/** A thread that ends takes its virtual clusters with it, and others are started. */
async function startServer(...args: Parameters<typeof startServerProcess>): Promise<ServerProcess> {
  const server = await startServerProcess(...args);
  return { ...server, client: patientClient(server.client) };
}

const dateOf = async ({ client }: ServerProcess, key: string, name: string): Promise<number> => {
  const { body } = await expectSuccess(client.send(`${KEYS}/${name}`, { key }));
  return Date.parse(body.metadata.creationTimestamp);
};

/** The certificate that clients see begins. */
const servedFrom = ({ url, caFile }: Pick<ServerProcess, "url" | "caFile">): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const ca = readFileSync(caFile);
    // Clients with the right time refuse it, which is what this looks for.
    const socket = connect({ host: hostname, port: Number(port), ca, rejectUnauthorized: false }, () => {
      resolve(Date.parse(socket.getPeerCertificate().valid_from));
      socket.destroy();
    });
    socket.on("error", reject);
  });

test.skipIf(missing !== undefined)(
  "clients accept the server's own certificate again when a clock that was ahead is right",
  async () => {
    await using directory = await temporaryDirectory();
    const time = await createFakeTime(directory.path);
    await using server = await startServer(directory.path, [], { env: time.env });
    const { client, adminKey = "" } = server;
    expect(await servedFrom(server)).toBeLessThan(Date.now());
    // So far that its own certificate is renewed, by a server that runs.
    await time.set(300 * 24 * HOUR_S);
    await expect.poll(() => servedFrom(server), WAIT).toBeGreaterThan(Date.now());
    await time.set(0);
    await expect.poll(() => servedFrom(server), WAIT).toBeLessThan(Date.now());
    expect((await client.send(KEYS, { key: adminKey })).status).toBe(200);
  },
  120_000,
);

const aheadHours = (time: number): number => Math.round((time - Date.now()) / 1_000 / HOUR_S);

test.skipIf(missing !== undefined)(
  `a server outlives a clock that is set by hours${missing === undefined ? "" : `: ${missing}`}`,
  async () => {
    await using directory = await temporaryDirectory();
    const time = await createFakeTime(directory.path);
    const auditPath = join(directory.path, "audit.log");
    const auditFlags = ["--audit-log-path", auditPath, "--audit-log-mode", "blocking"];
    const flags = [...auditFlags, "--failed-logins-per-minute", "0", "--access-key-keep-expired-seconds", "0"];
    await using server = await startServer(directory.path, flags, { env: time.env });
    const { client, adminKey = "" } = server;
    const withLife = async (name: string, ttl: number): Promise<string> => {
      const body = { metadata: { name }, spec: { user: "admin", ttl } };
      return (await expectSuccess(client.send(KEYS, { key: adminKey, body }))).body.spec.key;
    };
    const endless = await createKey(client, adminKey, "endless");
    const long = await withLife("long", 2 * HOUR_S);
    const certificate = await kubeConfig(server, adminKey);
    const account = await accountToken(server, adminKey);
    expect(await account()).toBe(201);
    // Its life begins when nothing slow is left to be done in it.
    const short = await withLife("short", 8);
    const statuses = () => Promise.all([endless, short, long].map((key) => statusFor(client, key)));
    expect(await statuses()).toEqual([201, 201, 201]);

    // Backwards: nothing lives longer than it would have, and what is made now has the time of now.
    await time.set(-5 * HOUR_S);
    const early = await createKey(client, adminKey, "early");
    expect(aheadHours(await dateOf(server, adminKey, "early"))).toBe(-5);
    await expect.poll(() => statusFor(client, short), WAIT).toBe(401);
    expect(await statuses()).toEqual([201, 401, 201]);
    expect(await statusFor(client, early)).toBe(201);

    // Right again: nothing comes back.
    await time.set(0);
    expect(await statuses()).toEqual([201, 401, 201]);

    // Forwards: what has ended by the new time is refused at once, and then deleted.
    await time.set(5 * HOUR_S);
    await expect.poll(statuses, WAIT).toEqual([201, 401, 401]);
    await expect.poll(async () => (await client.send(`${KEYS}/long`, { key: adminKey })).status, WAIT).toBe(404);
    const late = await createKey(client, adminKey, "late");
    expect(aheadHours(await dateOf(server, adminKey, "late"))).toBe(5);
    expect((await client.send(certificate.path, { key: certificate.token })).status).toBe(200);
    expect(await account()).toBe(401);

    // And back: what was deleted stays so, what is good stays good; a restart changes nothing.
    await time.set(0);
    expect(await statuses()).toEqual([201, 401, 401]);
    expect(await account()).toBe(401);
    await server.kill();
    await server.restart();
    expect(await statuses()).toEqual([201, 401, 401]);
    for (const key of [early, late]) expect(await statusFor(client, key)).toBe(201);

    const reader = createChainReader(sha256);
    const hours = new Set<number>();
    for (const line of (await readFile(auditPath, "utf8")).trimEnd().split("\n")) {
      reader.read(line);
      const stamp = /"stageTimestamp":"([^"]+)"/.exec(line)?.[1];
      if (stamp !== undefined) hours.add(aheadHours(Date.parse(stamp)));
    }
    // The kill may have cut one line.
    expect(reader.report().faults.filter(({ fault }) => fault !== "not-json")).toEqual([]);
    // Each event has the time of day as it was set then.
    expect([...hours].sort((a, b) => a - b)).toEqual([-5, 0, 5]);
  },
  300_000,
);

test.skipIf(missing !== undefined)(
  "a key that has ended stays so when the server restarts with a clock that is a day behind",
  async () => {
    await using directory = await temporaryDirectory();
    const time = await createFakeTime(directory.path);
    const flags = ["--failed-logins-per-minute", "0"];
    await using server = await startServer(directory.path, flags, { env: time.env });
    const { client, adminKey = "" } = server;
    const body = { metadata: { name: "short" }, spec: { user: "admin", ttl: 4 } };
    const short = (await expectSuccess(client.send(KEYS, { key: adminKey, body }))).body.spec.key;
    const readyOf = async (): Promise<string> =>
      (await client.send(`${KEYS}/short`, { key: adminKey })).body.status?.conditions?.[0]?.reason;
    await expect.poll(readyOf, WAIT).toBe("Expired");
    await time.set(-24 * HOUR_S);
    await server.kill();
    await server.restart();
    expect(await statusFor(client, short)).toBe(401);
    await time.set(0);
    expect([await statusFor(client, short), await statusFor(client, adminKey)]).toEqual([401, 201]);
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  "an old value and a browser session that have ended stay so when the server restarts with a clock that is a day behind",
  async () => {
    await using directory = await temporaryDirectory();
    const time = await createFakeTime(directory.path);
    const flags = ["--failed-logins-per-minute", "0"];
    await using server = await startServer(directory.path, flags, { env: time.env });
    const { client, adminKey = "" } = server;
    const send = await httpClient(server);
    const withKey = async (name: string, spec: object = {}): Promise<string> =>
      (await expectSuccess(client.send(KEYS, { key: adminKey, body: { metadata: { name }, spec } }))).body.spec.key;
    const reasonOf = async (name: string): Promise<string> =>
      (await client.send(`${KEYS}/${name}`, { key: adminKey })).body.status?.conditions?.[0]?.reason;

    // The old value has a grace period. A use of the new one would end it.
    const old = await withKey("rotated");
    const spec = { nonce: "nonce-of-the-rotation", gracePeriodSeconds: 3 };
    await expectSuccess(client.send(`${KEYS}/rotated/rotate`, { key: adminKey, body: { spec } }));
    expect(await statusFor(client, old)).toBe(201);
    // A session ends with the key that it was opened with.
    const opener = await withKey("opener", { ttl: 6 });
    const opened = await send("/login/session", {
      body: { key: opener },
      headers: { "sec-fetch-site": "same-origin" },
    });
    const session = /__Host-session=([^;]+)/.exec(String(opened.headers["set-cookie"]))?.[1] ?? "";
    const shown = async (): Promise<number> =>
      (await send(KEYS, { headers: { cookie: `__Host-session=${session}`, "sec-fetch-site": "same-origin" } })).status;
    expect(await shown()).toBe(200);
    await expect.poll(() => reasonOf("opener"), WAIT).toBe("Expired");
    await expect.poll(() => reasonOf(opened.body.keyName), WAIT).not.toBe("Accepted");

    await time.set(-24 * HOUR_S);
    await server.kill();
    await server.restart();
    expect([await shown(), await statusFor(client, opener), await statusFor(client, old)]).toEqual([401, 401, 401]);
    await time.set(0);
    expect([await shown(), await statusFor(client, opener), await statusFor(client, old)]).toEqual([401, 401, 401]);
  },
  120_000,
);

/** The token of a kubeconfig, and what it opens. */
async function kubeConfig(
  { client }: ServerProcess,
  key: string,
): Promise<{ readonly token: string; readonly path: string }> {
  const instance = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/demo`;
  await expect.poll(async () => (await client.send(instance, { key })).body.status?.phase, WAIT).toBe("Ready");
  const { body } = await expectSuccess(client.send(`${instance}/kubeconfig`, { key, body: { spec: {} } }));
  const token = /token: (\S+)/.exec(body.status.kubeConfig)?.[1] ?? "";
  return { token, path: "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces" };
}

/** How the demo cluster answers a token of an hour of its default ServiceAccount, which is made now. */
async function accountToken({ client }: ServerProcess, key: string): Promise<() => Promise<number>> {
  const cluster = "/kubernetes/project/default/virtualcluster/demo";
  const apiVersion = "authentication.k8s.io/v1";
  const body = { apiVersion, kind: "TokenRequest", spec: { expirationSeconds: HOUR_S } };
  const path = `${cluster}/api/v1/namespaces/default/serviceaccounts/default/token`;
  const { token } = (await expectSuccess(client.send(path, { key, body }))).body.status;
  const review = { apiVersion, kind: "SelfSubjectReview" };
  return async () =>
    (await client.send(`${cluster}/apis/${apiVersion}/selfsubjectreviews`, { key: token, body: review })).status;
}

test.skipIf(missing !== undefined || whyNoEtcd() !== undefined)(
  "a leader on etcd stays the leader when its clock is set",
  async () => {
    await using etcd = await startEtcd();
    await using directory = await temporaryDirectory();
    const time = await createFakeTime(directory.path);
    const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`];
    await using server = await startServer(directory.path, flags, { env: time.env });
    const { client, adminKey = "" } = server;
    const key = await createKey(client, adminKey, "k");
    for (const hours of [5, -5, 0]) {
      await time.set(hours * HOUR_S);
      // Only a leader makes the namespace of a new project, and only a server that is fresh lets anybody ask for it.
      const name = `project-${hours < 0 ? "early" : hours}`;
      await expectSuccess(client.send(`${MANAGEMENT}/projects`, { key, body: { metadata: { name } } }));
      const namespace = `/kubernetes/management/api/v1/namespaces/p-${name}`;
      await expect
        .poll(async () => (await client.send(namespace, { key })).status, { timeout: 8_000, interval: 50 })
        .toBe(200);
      expect((await client.send("/readyz")).status).toBe(200);
    }
  },
  300_000,
);
