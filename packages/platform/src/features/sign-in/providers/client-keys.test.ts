// The keys of the server as a client: whatever set a provider has kept, it has the key that signs.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createInternalRecords } from "../../../foundation/encryption/internal-records.ts";
import { type ClientAlgorithm, type ClientKeys, createClientKeys, KEY_LIFE_MS, KEY_OVERLAP_MS } from "./client-keys.ts";

const SEED = Number(process.env["TEST_SEED"]);
const HOUR = 3_600_000;
const START = Date.UTC(2026, 0, 1);

/** Servers on one store, with one clock. */
function serversAt(clock: { now(): number; elapsed(): number }, count: number): readonly ClientKeys[] {
  const sealedValues = { seal: (text: string) => text, open: (text: string) => text, refresh: async () => {} };
  const records = createInternalRecords({ storage: createMemoryStorage(), sealedValues } as never, "main");
  return Array.from({ length: count }, () => createClientKeys(records, clock));
}

it(`is known to providers that keep the set for hours, on either server, for months (seed ${SEED})`, async () => {
  const algorithm: ClientAlgorithm = "ES256";
  let rotations = 0;
  const steps = fc.array(fc.record({ hours: fc.integer({ min: 0, max: 20 }), server: fc.nat(1), read: fc.nat(1) }), {
    minLength: 60,
    maxLength: 120,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      let now = START;
      const servers = serversAt({ now: () => now, elapsed: () => now }, 2);
      const used = new Set<string>();
      // The first use makes the key.
      await servers[0]?.signer(algorithm);
      let kept = { at: now, kids: new Set<unknown>() };
      for (const { hours, server, read } of all) {
        now += hours * HOUR;
        const { id } = (await servers[server]?.signer(algorithm)) ?? { id: "" };
        used.add(id);
        // The provider reads the set anew when it has kept it for an hour less than new keys are published before.
        if (now - kept.at > KEY_OVERLAP_MS - HOUR || kept.kids.size === 0) {
          const { keys = [] } = (await servers[read]?.published()) ?? {};
          expect(keys.length).toBeLessThanOrEqual(3);
          kept = { at: now, kids: new Set(keys.map(({ kid }) => kid)) };
        }
        expect(kept.kids.has(id)).toBe(true);
      }
      rotations += used.size - 1;
    }),
    { seed: SEED, numRuns: 10 },
  );
  expect(rotations).toBeGreaterThan(0);
});

it("is the same on servers that make the first one at the same moment, and publishes no private part", async () => {
  const clock = { now: () => START, elapsed: () => START };
  const [one, other] = serversAt(clock, 2);
  expect(await one?.published()).toEqual({ keys: [] });
  const made = await Promise.all([one?.signer("RS256"), other?.signer("RS256"), one?.signer("RS256")]);
  expect(new Set(made.map((signer) => signer?.id)).size).toBe(1);
  await one?.signer("ES256");
  const { keys } = (await one?.published()) ?? { keys: [] };
  expect(keys.map(({ alg, use }) => [alg, use]).sort()).toEqual([
    ["ES256", "sig"],
    ["RS256", "sig"],
  ]);
  for (const key of keys)
    expect(Object.keys(key).filter((member) => ["d", "p", "q", "dp", "dq", "qi"].includes(member))).toEqual([]);
});

it("is followed by another one, goes a day after that signs, and never without a successor", async () => {
  let now = START;
  const [server] = serversAt({ now: () => now, elapsed: () => now }, 1);
  const kids = async () => ((await server?.published())?.keys ?? []).map(({ kid }) => kid);
  const signs = async () => (await server?.signer("ES256"))?.id;
  const first = await signs();
  // Long after its end: it signs until the next one has been published.
  now += 3 * KEY_LIFE_MS;
  expect(await signs()).toBe(first);
  const [, second] = await kids();
  expect(second).toBeDefined();
  now += KEY_OVERLAP_MS - 1;
  expect(await signs()).toBe(first);
  now += 1;
  expect(await signs()).toBe(second);
  expect(await kids()).toEqual([first, second]);
  now += KEY_OVERLAP_MS;
  expect(await signs()).toBe(second);
  expect(await kids()).toEqual([second]);
  // A clock that goes back changes nothing that is stored.
  now -= 10 * KEY_OVERLAP_MS;
  expect(await signs()).toBe(second);
});
