// A key that was revoked is accepted nowhere, the published bound after the answer, whatever has happened to the server that is asked:
// cut off from etcd, stopped, or behind a member of etcd that is. And that server says so.

import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { answerFor, createKey, revokeKey, statusFor } from "./testing/keys.ts";
import { type Replica, type Replicas, startReplicas } from "./testing/replicas.ts";

/** Beyond the bound, for the timers of the server. */
const SLACK_MS = 1_000;
/** Until the end of a watch is seen here, on a busy machine. */
const SEEN_MS = 5_000;
const PROBE_MS = 100;
const WAIT = { timeout: 60_000, interval: 50 };

let replicas: Replicas | undefined;
let names = 0;

beforeAll(async () => {
  if (whyNoEtcd() === undefined) replicas = await startReplicas();
});
afterAll(() => replicas?.[Symbol.asyncDispose]());

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A key that both servers accept. */
async function knownKey({ servers: [near, far], adminKey }: Replicas): Promise<{ name: string; key: string }> {
  // A member of etcd that comes back may cost the others their leader for a moment.
  const { name, key } = await vi.waitFor(async () => {
    const next = `revoked-${++names}`;
    return { name: next, key: await createKey(near.client, adminKey, next) };
  }, WAIT);
  for (const { client } of [near, far]) await expect.poll(() => statusFor(client, key), WAIT).toBe(201);
  return { name, key };
}

type Probe = { readonly askedAt: number; readonly status: number | undefined };

/** Tries a key over and over until it is stopped. */
function probe({ client }: Replica, key: string) {
  const probes: Promise<Probe>[] = [];
  let over = false;
  const run = async (): Promise<void> => {
    while (!over) {
      const askedAt = performance.now();
      // Several are under way that get no answer.
      probes.push(statusFor(client, key, 20_000).then((status) => ({ askedAt, status })));
      await pause(PROBE_MS);
    }
  };
  const running = run();
  return {
    async stop(): Promise<readonly Probe[]> {
      over = true;
      await running;
      return await Promise.all(probes);
    },
  };
}

/** Resolves with the time at which an open watch ended. */
async function openWatch({ url, caFile }: Replica, key: string): Promise<{ readonly ended: Promise<number> }> {
  const ca = await readFile(caFile, "utf8");
  const path = "/kubernetes/management/apis/management.postern/v1/projects?watch=true";
  return await new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { ca, agent: false, headers: { authorization: `Bearer ${key}` } });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const ended = new Promise<number>((settle) => {
        for (const event of ["end", "error", "aborted"]) response.on(event, () => settle(performance.now()));
      });
      response.resume();
      resolve({ ended });
    });
    sent.end();
  });
}

const acceptedIn = (probes: readonly Probe[]): readonly Probe[] => probes.filter(({ status = 500 }) => status < 300);

const readyz = ({ client }: Replica) =>
  client.send("/readyz", { timeoutMs: 10_000 }).then(
    ({ status }) => status,
    () => 0,
  );

describe.skipIf(whyNoEtcd() !== undefined)("a revocation on one server holds on the other", () => {
  it("within the bound when that one is cut off from etcd, which it says, and from which it recovers", async ({
    skip,
  }) => {
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const [near, far] = replicas.servers;
    const { name, key } = await knownKey(replicas);
    const watch = await openWatch(far, key);
    const probing = probe(far, key);
    far.cutOff();
    const cutAt = performance.now();
    await revokeKey(near.client, replicas.adminKey, name);
    const confirmedAt = performance.now();
    await expect.poll(() => readyz(far), { timeout: FRESHNESS_BOUND_MS + 20_000, interval: 100 }).not.toBe(200);
    await pause(Math.max(0, cutAt + FRESHNESS_BOUND_MS + SLACK_MS - performance.now()));
    expect((await watch.ended) - confirmedAt).toBeLessThan(FRESHNESS_BOUND_MS + SEEN_MS);
    // Good or not, no credential is believed any more.
    expect(await answerFor(far.client, replicas.adminKey)).toBe(503);
    expect(await readyz(far)).not.toBe(200);
    expect(await answerFor(near.client, key)).toBe(401);
    await pause(2_000);
    const probes = await probing.stop();
    const late = acceptedIn(probes).filter(({ askedAt }) => askedAt > confirmedAt + FRESHNESS_BOUND_MS);
    expect(late).toEqual([]);
    const last = acceptedIn(probes).at(-1)?.askedAt ?? confirmedAt;
    process.stdout.write(
      `cut off: last accepted ${Math.round(last - confirmedAt)} ms after the answer to the revocation\n`,
    );

    far.reconnect();
    await expect.poll(() => readyz(far), WAIT).toBe(200);
    await expect.poll(() => statusFor(far.client, replicas?.adminKey ?? ""), WAIT).toBe(201);
    expect(await answerFor(far.client, key)).toBe(401);
  });

  it("when that one is stopped, and asked before it goes on", async ({ skip }) => {
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const [near, far] = replicas.servers;
    const { name, key } = await knownKey(replicas);
    const watch = await openWatch(far, key);
    far.pause();
    await revokeKey(near.client, replicas.adminKey, name);
    const confirmedAt = performance.now();
    await pause(FRESHNESS_BOUND_MS + 500);
    // They wait in the sockets of the process that stands still.
    const asked = Array.from({ length: 20 }, () => statusFor(far.client, key, 20_000));
    await pause(200);
    far.resume();
    const statuses = await Promise.all(asked);
    expect(statuses.filter((status = 500) => status < 300)).toEqual([]);
    expect((await watch.ended) - confirmedAt).toBeLessThan(FRESHNESS_BOUND_MS + SEEN_MS);
    await expect.poll(() => statusFor(far.client, replicas?.adminKey ?? ""), WAIT).toBe(201);
    expect(await answerFor(far.client, key)).toBe(401);
  });

  it("within the bound when the member of etcd in front of it is stopped or cut off, and it goes on serving", async ({
    skip,
  }) => {
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const [near, far] = replicas.servers;
    for (const [index, member] of replicas.etcd.members.entries()) {
      for (const [begin, end] of [
        [member.pause, member.resume],
        [() => replicas?.isolateMember(index), () => replicas?.rejoinMember(index)],
      ] as const) {
        const { name, key } = await knownKey(replicas);
        const probing = probe(far, key);
        begin();
        await revokeKey(near.client, replicas.adminKey, name);
        const confirmedAt = performance.now();
        await expect.poll(() => statusFor(far.client, key), WAIT).toBe(401);
        await expect.poll(() => statusFor(far.client, replicas?.adminKey ?? ""), WAIT).toBe(201);
        const late = acceptedIn(await probing.stop()).filter(
          ({ askedAt }) => askedAt > confirmedAt + FRESHNESS_BOUND_MS,
        );
        expect(late).toEqual([]);
        end();
      }
    }
  });
});
