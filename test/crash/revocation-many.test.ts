// Credentials ended by the hundred, in every way there is, on one of two servers, while the other is asked with them all the time: on a sound
// network, while it is cut off from etcd, while it stands still, and while it is killed. Counts what is accepted after the answer.

import { readFile } from "node:fs/promises";
import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it, vi } from "vitest";
import { statusFor } from "./testing/keys.ts";
import { type Replica, type Replicas, startReplicas } from "./testing/replicas.ts";
import {
  type Administrator,
  type Asked,
  REVOCATION_KINDS,
  type RevocationKind,
  type Victim,
} from "./testing/revocation-kinds.ts";

/** Of each kind: on a sound network, and with faults. */
const SOUND = Number(process.env["REVOCATIONS"] ?? 5);
const FAULTY = Number(process.env["REVOCATIONS_WITH_FAULTS"] ?? 3);
/** Of one kind, ended side by side. */
const BATCH = Number(process.env["REVOCATION_BATCH"] ?? 5);
const KINDS_AT_ONCE = 4;
/** Names of kinds, or words that kinds have in their names; absent: all kinds. */
const ONLY = process.env["REVOCATION_KINDS"]?.split(",") ?? [];
const isName = (word: string): boolean => REVOCATION_KINDS.some(({ what }) => what === word);
const SLACK_MS = 1_000;
const WAIT = { timeout: 60_000, interval: 50 };
/** How often a server without news is asked with each credential, and with all of them. */
const FAULTY_PAUSE_MS = 1_000;
const FAULTY_REQUESTS_PER_SECOND = 200;
const ASK_TIMEOUT_MS = 20_000;
/** A TTL of a second has passed by then. */
const OLD_ENOUGH_MS = 1_500;

/** All that is asked here comes from one address. */
const MANY_FROM_ONE_ADDRESS = [
  ...["--failed-logins-per-minute", "0", "--connections-share-percent", "100"],
  ...["--max-tls-handshakes", "20000", "--tls-handshake-timeout-seconds", "60"],
];

const KINDS = REVOCATION_KINDS.filter(
  ({ what }) => ONLY.length === 0 || ONLY.some((word) => (isName(word) ? what === word : what.includes(word))),
);

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const isAccepted = (status: number | undefined): boolean => status !== undefined && status < 300;
/** Neither accepted, nor no answer, nor one that says that the server does not know. */
const isRefused = (status: number | undefined): boolean => status === 401 || status === 403 || status === 404;

let names = 0;
async function makeVictims(
  admin: Administrator,
  far: Asked,
  kind: RevocationKind,
  count: number,
): Promise<readonly Victim[]> {
  const make = async (): Promise<Victim> => {
    const name = `many-${++names}`;
    // A member of etcd that comes back may cost the others their leader for a moment.
    return await vi.waitFor(() => kind.make(admin, name), WAIT);
  };
  const victims = await Promise.all(Array.from({ length: count }, make));
  await Promise.all(
    victims.map((victim) =>
      vi.waitFor(async () => {
        const status = await victim.ask(far);
        if (!isAccepted(status)) throw new Error(`${kind.what}: ${victim.name} is answered ${status} before its end`);
      }, WAIT),
    ),
  );
  return victims;
}

type Hammering = { stop(): Promise<{ readonly last: number; readonly sent: number }> };

/** Asks over and over until it is stopped; resolves with when the last accepted request was sent. */
function hammer(server: Asked, victim: Victim, everyMs: number): Hammering {
  let isOver = false;
  let last = Number.NEGATIVE_INFINITY;
  let sent = 0;
  const work = (async () => {
    const underWay = new Set<Promise<void>>();
    while (!isOver) {
      const askedAt = performance.now();
      sent++;
      const one = victim.ask(server, ASK_TIMEOUT_MS).then((status) => {
        if (isAccepted(status)) last = Math.max(last, askedAt);
      });
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
      if (everyMs === 0 || underWay.size > 4) await one;
      else await pause(everyMs);
    }
    await Promise.all(underWay);
  })();
  return {
    async stop() {
      isOver = true;
      await work;
      return { last, sent };
    },
  };
}

/**
 * Ends all of them, each by a request of its own unless the kind has one for all; resolves with when each was answered. A connection that was
 * kept open may be closed by the server just when a request takes it: every request may be sent again.
 */
async function endAll(
  admin: Administrator,
  kind: RevocationKind,
  victims: readonly Victim[],
): Promise<ReadonlyMap<Victim, number>> {
  const answered = new Map<Victim, number>();
  const { endAll: together } = kind;
  if (together !== undefined) {
    await vi.waitFor(() => together(admin, victims), WAIT);
    for (const victim of victims) answered.set(victim, performance.now());
    return answered;
  }
  await Promise.all(
    victims.map(async (victim) => {
      await vi.waitFor(() => victim.end(admin), WAIT);
      answered.set(victim, performance.now());
    }),
  );
  return answered;
}

/** How many of them the same server accepts. */
const countAccepted = async (server: Asked, victims: readonly Victim[]): Promise<number> =>
  (await Promise.all(victims.map((victim) => victim.ask(server)))).filter(isAccepted).length;

/** Resolves once the server refuses all of them. */
const untilRefused = (server: Asked, kind: RevocationKind, victims: readonly Victim[]): Promise<unknown> =>
  Promise.all(
    victims.map((victim) =>
      vi.waitFor(async () => {
        const status = await victim.ask(server, ASK_TIMEOUT_MS);
        if (!isRefused(status)) throw new Error(`${kind.what}: ${victim.name} is answered ${status} after its end`);
      }, WAIT),
    ),
  );

type Tally = { victims: number; asked: number; sameServer: number; otherServer: number; latestMs: number };

function tallies() {
  const all = new Map<string, Tally>();
  const of = (what: string): Tally => {
    const known = all.get(what) ?? {
      victims: 0,
      asked: 0,
      sameServer: 0,
      otherServer: 0,
      latestMs: Number.NEGATIVE_INFINITY,
    };
    all.set(what, known);
    return known;
  };
  const line = (what: string): string => {
    const { victims, asked, sameServer, otherServer } = of(what);
    return `| ${what} | ${victims} | ${asked} | ${sameServer} | ${otherServer} |`;
  };
  return {
    of,
    async add(what: string, answered: ReadonlyMap<Victim, number>, hammering: ReadonlyMap<Victim, Hammering>) {
      const tally = of(what);
      for (const [victim, at] of answered) {
        const { last, sent } = (await hammering.get(victim)?.stop()) ?? { last: Number.NEGATIVE_INFINITY, sent: 0 };
        tally.victims++;
        tally.asked += sent;
        if (last > at) tally.otherServer++;
        tally.latestMs = Math.max(tally.latestMs, last - at);
      }
    },
    line,
    print(title: string): void {
      process.stdout.write(
        `${title}: what ended, how many, asked, accepted after the answer by the same server, by the other\n`,
      );
      for (const what of all.keys())
        process.stdout.write(`${line(what)}
`);
    },
    faults: (): readonly (readonly [string, Tally])[] =>
      [...all].filter(([, { sameServer, otherServer }]) => sameServer + otherServer > 0),
  };
}

const askedOf = async ({ client, url, caFile }: Replica): Promise<Asked> => ({
  client,
  url,
  ca: await readFile(caFile, "utf8"),
});

async function endOnSoundNetwork({ servers, adminKey }: Replicas): Promise<ReturnType<typeof tallies>> {
  const [near, far] = [await askedOf(servers[0]), await askedOf(servers[1])];
  const admin = { client: servers[0].client, key: adminKey };
  const counts = tallies();
  const queue = [...KINDS];
  const endNext = async (): Promise<void> => {
    for (let kind = queue.shift(); kind !== undefined; kind = queue.shift()) {
      for (let made = 0; made < SOUND; ) {
        const victims = await makeVictims(admin, far, kind, Math.min(BATCH, SOUND - made));
        made += victims.length;
        await pause(OLD_ENOUGH_MS);
        const hammering = new Map(victims.map((victim) => [victim, hammer(far, victim, 0)]));
        const answered = await endAll(admin, kind, victims);
        counts.of(kind.what).sameServer += await countAccepted(near, victims);
        await untilRefused(far, kind, victims);
        await counts.add(kind.what, answered, hammering);
      }
      process.stdout.write(`${counts.line(kind.what)}\n`);
    }
  };
  await Promise.all(Array.from({ length: KINDS_AT_ONCE }, endNext));
  return counts;
}

async function endWithFaults({ servers, adminKey }: Replicas): Promise<ReturnType<typeof tallies>> {
  const [first, other] = servers;
  const [near, far] = [await askedOf(first), await askedOf(other)];
  const admin = { client: first.client, key: adminKey };
  const faults = [
    { name: "cut off from etcd", begin: () => other.cutOff(), end: () => other.reconnect() },
    { name: "standing still", begin: () => other.pause(), end: () => other.resume() },
    { name: "killed", begin: () => other.kill(), end: () => other.restart() },
  ] as const;
  const counts = tallies();
  for (let made = 0, round = 0; made < FAULTY; round++) {
    const { name, begin, end } = faults[round % faults.length] ?? faults[0]!;
    const count = Math.min(BATCH, FAULTY - made, Math.ceil(FAULTY / faults.length));
    made += count;
    const victims = new Map<RevocationKind, readonly Victim[]>();
    for (const kind of KINDS) victims.set(kind, await makeVictims(admin, far, kind, count));
    await pause(OLD_ENOUGH_MS);
    const everyone = [...victims.values()].flat();
    const everyMs = Math.max(FAULTY_PAUSE_MS, (everyone.length / FAULTY_REQUESTS_PER_SECOND) * 1_000);
    const hammering = new Map(everyone.map((victim) => [victim, hammer(far, victim, everyMs)]));
    await begin();
    const answers = await Promise.all(
      [...victims].map(async ([kind, all]) => {
        const answered = await endAll(admin, kind, all);
        counts.of(kind.what).sameServer += await countAccepted(near, all);
        return { kind, answered };
      }),
    );
    await pause(FRESHNESS_BOUND_MS + SLACK_MS);
    await end();
    await expect.poll(() => statusFor(other.client, adminKey, 5_000), WAIT).toBe(201);
    for (const [kind, all] of victims) await untilRefused(far, kind, all);
    for (const { kind, answered } of answers) await counts.add(kind.what, answered, hammering);
    process.stdout.write(`${name}: ${everyone.length} more, ${counts.faults().length} kinds with faults\n`);
  }
  return counts;
}

describe.skipIf(whyNoEtcd() !== undefined)("security book 13, 15: ended on one of two servers, in every way", () => {
  it("nothing is accepted after the answer, neither there nor on the other", async ({ skip }) => {
    await using replicas = await startReplicas(MANY_FROM_ONE_ADDRESS);
    if (replicas === undefined) return skip("network namespaces can only be made by root");
    const sound = await endOnSoundNetwork(replicas);
    sound.print("a sound network");
    const faulty = await endWithFaults(replicas);
    faulty.print("the other server cut off, standing still or killed");
    expect([...sound.faults(), ...faulty.faults()]).toEqual([]);
  });
});
