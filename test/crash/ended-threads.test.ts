// Cluster threads that end at random, 20 a minute: clients of their clusters see one register per object, and nothing is accepted after the answer that
// ended it.
// CRASH_HTTP_OPERATIONS and REVOCATIONS say how many operations and how many ends of each kind, TEST_SEED repeats a run as far as the scheduler allows.

import { describe, expect, it } from "vitest";
import { REVOCATION_KINDS } from "./testing/revocation-kinds.ts";
import { type Attacked, expectRegisters, expectRevocations, whileThreadsEnd } from "./testing/while-threads-end.ts";

const SECRETS = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default/secrets";
const REVOCATIONS = Number(process.env["REVOCATIONS"] ?? 5);
/** Kinds that are asked inside a cluster, or lead there. */
const INSIDE = /inside a cluster|parent|certificate/;
const KINDS = REVOCATION_KINDS.filter(({ what }) => INSIDE.test(what));
const { TEST_SEED: seed, CRASH_HTTP_OPERATIONS: operations = "1000" } = process.env;

async function onThreads(threads: number, work: (attacked: Attacked) => Promise<void>): Promise<void> {
  const { ended, crashed } = await whileThreadsEnd(
    {
      flags: ["--cluster-threads", String(threads), "--store", "sqlite"],
      pauseMs: 3_000,
    },
    work,
  );
  expect(crashed).toBeGreaterThan(ended / 2);
}

describe.each([1, 2])(`with %i cluster threads (TEST_SEED=${seed})`, { timeout: 600_000 }, (threads) => {
  it(`objects of a cluster are linearizable (CRASH_HTTP_OPERATIONS=${operations})`, () =>
    onThreads(threads, (attacked) => expectRegisters(attacked, SECRETS)));

  it(`nothing is accepted after the answer (REVOCATIONS=${REVOCATIONS})`, () =>
    onThreads(threads, (attacked) => expectRevocations(attacked, KINDS, REVOCATIONS)));
});
