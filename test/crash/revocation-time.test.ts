// How long after the answer to a revocation another server goes on to accept the key, where nothing has failed: measured, for docs/.

import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it } from "vitest";
import { createKey, deleteKey, expectSuccess, statusFor } from "./testing/keys.ts";
import { startReplicas } from "./testing/replicas.ts";

const KEYS = 30;
const WAIT = { timeout: 60_000, interval: 20 };

it.skipIf(whyNoEtcd() !== undefined)(
  "a key that one server has revoked is refused by the other within milliseconds",
  async ({ skip }) => {
    await using replicas = await startReplicas();
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const { servers, adminKey } = replicas;
    const [near, far] = servers;
    const late: number[] = [];
    for (let number = 0; number < KEYS; number++) {
      const name = `timed-${number}`;
      const key = await createKey(near.client, adminKey, name);
      await expect.poll(() => statusFor(far.client, key), WAIT).toBe(201);
      let isOver = false;
      let lastAccepted = Number.NEGATIVE_INFINITY;
      const tries = [0, 1].map(async () => {
        while (!isOver) {
          const askedAt = performance.now();
          if ((await statusFor(far.client, key)) === 201) lastAccepted = Math.max(lastAccepted, askedAt);
        }
      });
      await expectSuccess(deleteKey(near.client, adminKey, name));
      const answeredAt = performance.now();
      expect(await statusFor(near.client, key)).toBe(401);
      await expect.poll(() => statusFor(far.client, key), WAIT).toBe(401);
      isOver = true;
      await Promise.all(tries);
      late.push(Math.max(0, lastAccepted - answeredAt));
    }
    late.sort((a, b) => a - b);
    const at = (share: number): string => (late[Math.floor((late.length - 1) * share)] ?? Number.NaN).toFixed(1);
    process.stdout.write(
      `two servers: last accepted after the answer to the revocation, ms: median ${at(0.5)}, p90 ${at(0.9)}, longest ${at(1)}\n`,
    );
    expect(late.at(-1)).toBeLessThan(FRESHNESS_BOUND_MS);
  },
);
