// Attacks on the availability of a server, each from a process of its own, while somebody who does nothing wrong reads, connects anew, revokes
// keys, and an administrator writes: nobody of these is refused, and every revocation gets through while the attack goes on. How long they wait
// says `benchmarks/under-attack.ts`. A few attacks are drawn; by night all: DENIALS=all, DENIAL_SECONDS, TEST_SEED.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FRONT_THREADS } from "../e2e/testing/postern-process.ts";
import { shownIn } from "./testing/denial/attack.ts";
import { ATTACKS } from "./testing/denial/attacks.ts";
import { experience } from "./testing/denial/bystander.ts";
import { type Attacker, startAttacker } from "./testing/denial/start-attacker.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";

const ALL = process.env["DENIALS"] === "all";
const SECONDS = Number(process.env["DENIAL_SECONDS"] ?? 1.5);
const DRAWN = 4;
const seed = Number(process.env["TEST_SEED"]);
const OBJECTS = ALL ? 2_000 : 200;
/** The objects of all attacks are made before the first. */
const START_MS = ALL ? 600_000 : 240_000;
/** An attack that is seen late, and requests of others that are given up, one after the other: a whole run takes a few seconds for each. */
const TEST_MS = 60_000 + SECONDS * 1_000 + 60_000;
/** Of all attacks together. The rest then fails at once, so that a run ends within this time and one test. */
const TOTAL_MS = 45 * 60_000;
/** Each further thread that serves requests has objects and garbage of its own. */
const MIB_OF_THREAD = 500;
/** More than it ever takes, and less than an attack that fills memory would bring about. */
const MAX_MIB = 1_500 + (FRONT_THREADS - 1) * MIB_OF_THREAD;

const next = randomNumbers(seed);
const left = [...ATTACKS];
const chosen = ALL ? ATTACKS : Array.from({ length: DRAWN }, () => left.splice(next(left.length), 1)[0] ?? []).flat();

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe(`others are served during an attack (TEST_SEED=${seed}) (security book 48, 49, 50)`, () => {
  let tenants: Tenants;
  let attacker: Attacker;
  let endsAt = 0;
  beforeAll(async () => {
    tenants = await startTenants({ objects: OBJECTS });
    attacker = startAttacker();
    endsAt = performance.now() + TOTAL_MS;
  }, START_MS);
  afterAll(async () => {
    await attacker?.[Symbol.asyncDispose]();
    await tenants?.[Symbol.asyncDispose]();
  });

  test.each(chosen.map((attack) => [attack.name, attack] as const))(
    "%s",
    async (name, attack) => {
      expect(performance.now(), "the attacks before took too long").toBeLessThan(endsAt);
      // One that could not be prepared ends its process, and no other has to fail for it.
      if (attacker.hasEnded()) attacker = startAttacker();
      await attacker.attack(name, tenants.target);
      try {
        // The answer of the server, or the input that it took, shows that this is the intended attack.
        const shown = async () => shownIn(attack, await attacker.counts());
        await expect.poll(shown, { timeout: 60_000 }).toBeGreaterThan(0);
        const { reads, logins, revocations, writes, acceptedAfterwards } = await experience(
          tenants,
          pause(SECONDS * 1_000),
        );
        const failures = [reads, logins, revocations, writes].map((waits) => waits.failures);
        expect(failures).toEqual([{}, {}, {}, {}]);
        for (const { times } of [reads, logins, revocations, writes]) expect(times.length).toBeGreaterThan(0);
        expect(acceptedAfterwards).toBe(0);
      } finally {
        await attacker.stop();
      }
      const pages = Number((await readFile(`/proc/${tenants.process.pid}/statm`, "utf8")).split(" ")[1]);
      expect((pages * 4_096) / (1 << 20)).toBeLessThan(MAX_MIB);
    },
    TEST_MS,
  );
});
