// Keys, users and certificates revoked by the hundred on one of two servers, while the other is asked with them all the time: on a sound
// network, while it is cut off from etcd, and while it stands still. Counts what is accepted after the answer.

import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it, vi } from "vitest";
import type { ApiClient } from "./testing/api-client.ts";
import { createKey, expectSuccess, KEYS, MANAGEMENT, rotateKey, statusFor } from "./testing/keys.ts";
import { type Replicas, startReplicas } from "./testing/replicas.ts";

/** Of each kind: on a sound network, and with each fault. */
const SOUND = Number(process.env["REVOCATIONS"] ?? 10);
const FAULTY = Number(process.env["REVOCATIONS_WITH_FAULTS"] ?? 6);
/** Revoked side by side. */
const BATCH = Number(process.env["REVOCATION_BATCH"] ?? 5);
const SLACK_MS = 1_000;
const WAIT = { timeout: 60_000, interval: 50 };
const USERS = `${MANAGEMENT}/users`;
const MERGE = "application/merge-patch+json";

type Victim = { readonly name: string; readonly key: string };
type Kind = {
  readonly what: string;
  readonly make: (client: ApiClient, admin: string, name: string) => Promise<string>;
  readonly revoke: (client: ApiClient, admin: string, victim: Victim) => Promise<unknown>;
};

const ofUser: Kind["make"] = async (client, admin, name) => {
  await expectSuccess(client.send(USERS, { key: admin, body: { metadata: { name } } }));
  const body = { metadata: { name }, spec: { user: name, type: "User" } };
  return (await expectSuccess(client.send(KEYS, { key: admin, body }))).body.spec.key;
};
const patch = (client: ApiClient, admin: string, path: string, spec: object) =>
  expectSuccess(client.send(path, { key: admin, method: "PATCH", contentType: MERGE, body: { spec } }));
/** Also where the first try has done it, and its answer was lost. */
async function remove(client: ApiClient, admin: string, path: string): Promise<void> {
  const { status, body } = await client.send(path, { key: admin, method: "DELETE" });
  if (status >= 300 && status !== 404) throw new Error(`${status} ${JSON.stringify(body)}`);
}

/** A connection that was kept open may be closed by the server just when a request takes it: every revocation may be asked for again. */
const revokeWith = (kind: Kind, client: ApiClient, admin: string, victim: Victim): Promise<unknown> =>
  vi.waitFor(() => kind.revoke(client, admin, victim), WAIT);

const KINDS: readonly Kind[] = [
  { what: "deleted", make: createKey, revoke: (client, admin, { name }) => remove(client, admin, `${KEYS}/${name}`) },
  {
    what: "disabled",
    make: createKey,
    revoke: (client, admin, { name }) => patch(client, admin, `${KEYS}/${name}`, { disabled: true }),
  },
  { what: "rotated", make: createKey, revoke: (client, admin, { name }) => rotateKey(client, admin, name, "1") },
  {
    what: "owner locked",
    make: ofUser,
    revoke: (client, admin, { name }) => patch(client, admin, `${USERS}/${name}`, { disabled: true }),
  },
  {
    what: "owner deleted",
    make: ofUser,
    revoke: (client, admin, { name }) => remove(client, admin, `${USERS}/${name}`),
  },
];

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

let names = 0;
async function makeVictims({ servers: [near, far], adminKey }: Replicas, kind: Kind, count: number) {
  const make = (): Promise<Victim> =>
    // A member of etcd that comes back may cost the others their leader for a moment.
    vi.waitFor(async () => {
      const name = `many-${++names}`;
      return { name, key: await kind.make(near.client, adminKey, name) };
    }, WAIT);
  const victims = await Promise.all(Array.from({ length: count }, make));
  for (const { key } of victims) await expect.poll(() => statusFor(far.client, key), WAIT).toBe(201);
  return victims;
}

/** Asks with a key over and over until it is stopped; resolves with when the last accepted request was sent. */
function hammer(client: ApiClient, key: string, everyMs: number) {
  let isOver = false;
  let last = Number.NEGATIVE_INFINITY;
  let sent = 0;
  const work = (async () => {
    const underWay = new Set<Promise<void>>();
    while (!isOver) {
      const askedAt = performance.now();
      sent++;
      const one = statusFor(client, key, 20_000)
        .then((status = 500) => {
          if (status < 300) last = Math.max(last, askedAt);
        })
        // Nobody is there to be asked.
        .catch(() => {});
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
      if (everyMs === 0 || underWay.size > 4) await one;
      else await pause(everyMs);
    }
    await Promise.all(underWay);
  })();
  return {
    async stop(): Promise<{ readonly last: number; readonly sent: number }> {
      isOver = true;
      await work;
      return { last, sent };
    },
  };
}

const milliseconds = (value: number): string => (value === Number.NEGATIVE_INFINITY ? "none" : value.toFixed(1));

describe.skipIf(whyNoEtcd() !== undefined)("revoked on one of two servers", () => {
  it("nothing is accepted after the answer, neither there nor on the other", async ({ skip }) => {
    await using replicas = await startReplicas();
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const { servers, adminKey } = replicas;
    const [near, far] = servers;

    for (const kind of KINDS) {
      let sameServer = 0;
      let asked = 0;
      const late: number[] = [];
      for (let made = 0; made < SOUND; ) {
        const victims = await makeVictims(replicas, kind, Math.min(BATCH, SOUND - made));
        made += victims.length;
        await Promise.all(
          victims.map(async (victim) => {
            const hammering = hammer(far.client, victim.key, 0);
            await revokeWith(kind, near.client, adminKey, victim);
            const answeredAt = performance.now();
            if ((await statusFor(near.client, victim.key)) === 201) sameServer++;
            await vi.waitFor(async () => expect(await statusFor(far.client, victim.key)).toBe(401), WAIT);
            const { last, sent } = await hammering.stop();
            asked += sent;
            late.push(last - answeredAt);
          }),
        );
      }
      const after = late.filter((each) => each > 0);
      process.stdout.write(
        `${kind.what}: ${late.length} on a sound network, asked ${asked} times; accepted after the answer: ` +
          `${sameServer} on the same server, ${after.length} on the other, ` +
          `the last ${milliseconds(Math.max(Number.NEGATIVE_INFINITY, ...after))} ms after it\n`,
      );
      expect(sameServer).toBe(0);
      expect(after).toEqual([]);
    }

    const faults = [
      { name: "cut off from etcd", begin: () => far.cutOff(), end: () => far.reconnect() },
      { name: "standing still", begin: () => far.pause(), end: () => far.resume() },
    ];
    for (const { name, begin, end } of faults) {
      for (let made = 0; made < FAULTY / faults.length; ) {
        const count = Math.min(BATCH, FAULTY / faults.length - made);
        made += count;
        const victims = new Map<Kind, readonly Victim[]>();
        for (const kind of KINDS) victims.set(kind, await makeVictims(replicas, kind, count));
        const hammering = new Map<string, ReturnType<typeof hammer>>();
        const confirmed = new Map<string, number>();
        for (const each of [...victims.values()].flat()) hammering.set(each.key, hammer(far.client, each.key, 2_000));
        begin();
        for (const [kind, all] of victims) {
          await Promise.all(
            all.map(async (victim) => {
              await revokeWith(kind, near.client, adminKey, victim);
              confirmed.set(victim.key, performance.now());
              if ((await statusFor(near.client, victim.key)) === 201) expect.unreachable("accepted on the same server");
            }),
          );
        }
        await pause(FRESHNESS_BOUND_MS + SLACK_MS);
        end();
        await expect.poll(() => statusFor(far.client, adminKey, 5_000), WAIT).toBe(201);
        for (const [kind, all] of victims) {
          let beyond = 0;
          let last = Number.NEGATIVE_INFINITY;
          for (const { key } of all) {
            expect(await statusFor(far.client, key)).toBe(401);
            const accepted = await hammering.get(key)?.stop();
            const lateBy = (accepted?.last ?? 0) - (confirmed.get(key) ?? 0);
            last = Math.max(last, lateBy);
            if (lateBy > 0) beyond++;
          }
          process.stdout.write(
            `${kind.what}: ${all.length} while the other server was ${name}; accepted after the answer: ${beyond}, ` +
              `the last ${milliseconds(last)} ms after the answer\n`,
          );
          expect(beyond).toBe(0);
        }
      }
    }
  });
});
