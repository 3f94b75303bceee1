// Requests that another server accepts after the answer to a revocation, where nothing has failed, and how long the answer takes.

import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it } from "vitest";
import { answerFor, createKey, revokeKey, statusFor } from "./testing/keys.ts";
import { startReplicas } from "./testing/replicas.ts";

const KEYS = 30;
const WAIT = { timeout: 60_000, interval: 20 };

it.skipIf(whyNoEtcd() !== undefined)(
  "a key that one server has revoked is accepted by no other one after the answer",
  async ({ skip }) => {
    await using replicas = await startReplicas();
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const { servers, adminKey } = replicas;
    const [near, far] = servers;
    const took: number[] = [];
    let late = 0;
    for (let number = 0; took.length < KEYS; number++) {
      const name = `timed-${number}`;
      const key = await createKey(near.client, adminKey, name).catch(() => undefined);
      // The thread may have ended that served the connection.
      if (key === undefined) continue;
      await expect.poll(() => statusFor(far.client, key), WAIT).toBe(201);
      let isOver = false;
      let lastAccepted = Number.NEGATIVE_INFINITY;
      const tries = [0, 1].map(async () => {
        while (!isOver) {
          const askedAt = performance.now();
          if ((await statusFor(far.client, key)) === 201) lastAccepted = Math.max(lastAccepted, askedAt);
        }
      });
      const sentAt = performance.now();
      await revokeKey(near.client, adminKey, name);
      const answeredAt = performance.now();
      took.push(answeredAt - sentAt);
      expect(await answerFor(near.client, key)).toBe(401);
      await expect.poll(() => statusFor(far.client, key), WAIT).toBe(401);
      isOver = true;
      await Promise.all(tries);
      if (lastAccepted > answeredAt) late++;
    }
    took.sort((a, b) => a - b);
    const at = (share: number): string => (took[Math.floor((took.length - 1) * share)] ?? Number.NaN).toFixed(1);
    process.stdout.write(
      `two servers: ${late} of ${KEYS} keys accepted after the answer to the revocation, which took ms: median ${at(0.5)}, p90 ${at(0.9)}, longest ${at(1)}\n`,
    );
    expect(late).toBe(0);
  },
);
