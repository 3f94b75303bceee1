// Credentials ended by the thousand, in every way there is, on one of two servers, while the other is sound, cut off from etcd, standing still or
// killed. Counts what either accepts of what is sent after the answer: nothing, whatever goes on (ADR 34).
// REVOCATIONS and REVOCATIONS_WITH_FAULTS say how many of each kind; REVOCATION_TALLY names a file with which the next run goes on.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it, vi } from "vitest";
import { http2ApiClient } from "./testing/http2-api-client.ts";
import { statusFor } from "./testing/keys.ts";
import { type Replica, startReplicas } from "./testing/replicas.ts";
import { type AskedServer, REVOCATION_KINDS } from "./testing/revocation-kinds.ts";
import { playRound, type RoundFault } from "./testing/revocation-round.ts";
import { createRevocationTally } from "./testing/revocation-tally.ts";

/** Of each kind: on a sound network, and with faults. */
const SOUND = Number(process.env["REVOCATIONS"] ?? 5);
const FAULTY = Number(process.env["REVOCATIONS_WITH_FAULTS"] ?? 3);
/** Of one kind in a round; a fault takes a quarter of a minute, however many are ended in it. */
const BATCH = Number(process.env["REVOCATION_BATCH"] ?? 20);
/** A run ends after so many, and leaves the rest to the next one. */
const MAX_ROUNDS = Number(process.env["REVOCATION_ROUNDS"] ?? Number.POSITIVE_INFINITY);
/** Names of kinds, or words that kinds have in their names; absent: all kinds. */
const ONLY = process.env["REVOCATION_KINDS"]?.split(",") ?? [];
const seed = Number(process.env["TEST_SEED"]);
/** In turns: shorter, and longer than a server without news lets anybody in. */
const FAULT_LASTS_MS = [5_000, 12_000];
/** A server that starts while etcd has no leader ends, and is started again. */
const MENDING = { timeout: 180_000, interval: 1_000 };

/** All that is asked here comes from one address. */
const MANY_FROM_ONE_ADDRESS = [
  ...["--failed-logins-per-minute", "0", "--connections-share-percent", "100"],
  ...["--max-tls-handshakes", "20000", "--tls-handshake-timeout-seconds", "60"],
];

const isName = (word: string): boolean => REVOCATION_KINDS.some(({ what }) => what === word);
const KINDS = REVOCATION_KINDS.filter(
  ({ what }) => ONLY.length === 0 || ONLY.some((word) => (isName(word) ? what === word : what.includes(word))),
);

const askedOf = async ({ url, caFile }: Replica): Promise<AskedServer> => {
  const ca = await readFile(caFile, "utf8");
  return { client: http2ApiClient(url, ca), url, ca };
};

/** Of each kind the next batch of those that are still missing; a round with a fault where more of those are. */
function nextRound(ended: (what: string, circumstance: "sound" | "faulty") => number) {
  const missing = (circumstance: "sound" | "faulty") =>
    KINDS.map((kind) => {
      const wanted = circumstance === "sound" ? SOUND : FAULTY;
      return [kind, Math.max(wanted - ended(kind.what, circumstance), 0)] as const;
    });
  const sum = (all: ReturnType<typeof missing>): number => all.reduce((total, [, count]) => total + count, 0);
  const [sound, faulty] = [missing("sound"), missing("faulty")];
  const isFaulty = sum(faulty) >= sum(sound);
  const wanted = (isFaulty ? faulty : sound).map(([kind, count]) => [kind, Math.min(count, BATCH)] as const);
  return { isFaulty, wanted, left: sum(sound) + sum(faulty) };
}

describe.skipIf(whyNoEtcd() !== undefined)("ended on one of two servers, in every way (security book 13, 15)", () => {
  it(`nothing is accepted after the answer, neither there nor on the other (TEST_SEED=${seed})`, async ({ skip }) => {
    await using replicas = await startReplicas(MANY_FROM_ONE_ADDRESS);
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const { servers, adminKey } = replicas;
    const [first, second] = [await askedOf(servers[0]), await askedOf(servers[1])];
    using _first = first.client;
    using _second = second.client;
    const next = randomNumbers(seed);
    const tally = createRevocationTally(process.env["REVOCATION_TALLY"]);
    const faultsOf = (replica: Replica): readonly Omit<RoundFault, "lastsMs">[] => {
      const mended = (mend: () => unknown) => async () => {
        await vi.waitFor(mend, MENDING);
        await expect.poll(() => statusFor(replica.client, adminKey, 5_000), MENDING).toBe(201);
      };
      return [
        { circumstance: "cut off", begin: () => replica.cutOff(), end: mended(() => replica.reconnect()) },
        { circumstance: "standing still", begin: () => replica.pause(), end: mended(() => replica.resume()) },
        { circumstance: "killed", begin: () => replica.kill(), end: mended(() => replica.restart()) },
      ];
    };

    const leftOut: string[] = [];
    let faults = 0;
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const { isFaulty, wanted, left } = nextRound(tally.ended);
      if (left === 0) break;
      const isTurned = next(2) === 1;
      const [near, far] = isTurned ? [second, first] : [first, second];
      const choices = faultsOf(servers[isTurned ? 0 : 1]);
      const chosen = isFaulty ? choices[faults % choices.length] : undefined;
      const lastsMs = FAULT_LASTS_MS[Math.floor(faults / choices.length) % FAULT_LASTS_MS.length] ?? 0;
      if (isFaulty) faults++;
      const fault = chosen && { ...chosen, lastsMs };
      const admin = { client: near.client, key: adminKey };
      const result = await playRound({ admin, near, far, wanted, next, ...(fault === undefined ? {} : { fault }) });
      for (const each of result.ended) {
        tally.add(each);
        const { what, circumstance, acceptedBySame, acceptedByOther } = each;
        if (acceptedBySame.length + acceptedByOther.length > 0)
          process.stdout.write(
            `accepted after the answer: ${what}, ${circumstance}: ${acceptedBySame} ms by the same server, ${acceptedByOther} by the other\n`,
          );
      }
      tally.save();
      leftOut.push(...result.leftOut);
      const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(1)} s`;
      const what = fault === undefined ? "sound" : `${fault.circumstance} for ${seconds(fault.lastsMs)}`;
      process.stdout.write(
        `round ${round}, server ${isTurned ? 1 : 2} ${what}: ${result.ended.length} ended, ${result.leftOut.length} left out, made in ${seconds(result.makingMs)}, ended in ${seconds(result.endingMs)}; in all asked ${tally.asked()}, accepted ${tally.accepted()}; ${left - result.ended.length} to go\n`,
      );
      for (const reason of new Set(result.leftOut)) process.stdout.write(`  left out: ${reason}\n`);
      if (result.ended.length === 0) break;
    }
    process.stdout.write(tally.table(KINDS.map(({ what }) => what)));
    expect(tally.accepted()).toBe(0);
    if (MAX_ROUNDS === Number.POSITIVE_INFINITY) expect(nextRound(tally.ended).left).toBe(0);
  });
});
