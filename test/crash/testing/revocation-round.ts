// One round: credentials of many kinds are made, and all ended on one server while something is wrong with the other; each is shown to both
// servers right before the answer, right after it, and then less and less often until it is refused.

import type { Administrator, AskedServer, RevocationKind, Victim } from "./revocation-kinds.ts";
import type { Circumstance, Ended } from "./revocation-tally.ts";

export type RoundFault = {
  readonly circumstance: Exclude<Circumstance, "sound">;
  readonly begin: () => unknown;
  /** Resolves when that server answers again. */
  readonly end: () => Promise<unknown>;
  readonly lastsMs: number;
};

export type Round = {
  /** Ends credentials on `near`. */
  readonly admin: Administrator;
  readonly near: AskedServer;
  readonly far: AskedServer;
  /** As many of each kind as stand there. */
  readonly wanted: readonly (readonly [RevocationKind, number])[];
  /** Of the far server. */
  readonly fault?: RoundFault;
  /** A whole number below the bound. */
  readonly next: (bound: number) => number;
};

export type RoundResult = {
  readonly ended: readonly Ended[];
  /** Credentials whose creation failed, or whose end had no good answer: none of them is known to have ended. */
  readonly leftOut: readonly string[];
  readonly makingMs: number;
  readonly endingMs: number;
};

const MAKING_AT_ONCE = 32;
const ENDING_AT_ONCE = 48;
/** For as long a refusal by etcd, or an answer that was lost, has the request sent again. */
const PATIENCE_MS = 90_000;
const ASK_TIMEOUT_MS = 20_000;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 4_000;
/** A server is asked again after its first refusal: it may have had two opinions. */
const REFUSALS = 2;
/** A TTL of a second has passed by then. */
const OLD_ENOUGH_MS = 1_500;

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const isAccepted = (status: number | undefined): boolean => status !== undefined && status < 300;
/** Neither accepted, nor no answer, nor one that says that the server does not know. */
const isRefused = (status: number | undefined): boolean => status === 401 || status === 403 || status === 404;

type Made = { readonly what: string; readonly victim: Victim };
/** When the first request to end something was sent, and when the answer of the last one came, by `performance.now()`. */
type Answered = { readonly sentAt: number; readonly answeredAt: number };

export async function playRound({ admin, near, far, wanted, fault, next }: Round): Promise<RoundResult> {
  const leftOut: string[] = [];
  const started = performance.now();
  const orders = shuffled(
    wanted.flatMap(([kind, count]) => Array.from({ length: count }, () => kind)),
    next,
  );
  const made: Made[] = [];
  await atMost(MAKING_AT_ONCE, orders, async (kind) => {
    const { what } = kind;
    const name = `many-${nextName()}`;
    try {
      const victim = await insist(() => kind.make(admin, name));
      await insist(async () => {
        for (const server of [near, far]) {
          const status = await victim.ask(server);
          if (!isAccepted(status)) throw new Error(`${name} is answered ${status} before its end`);
        }
      });
      made.push({ what, victim });
    } catch (error) {
      leftOut.push(`${what}: ${error}`);
    }
  });
  await pause(OLD_ENOUGH_MS);
  const madeAt = performance.now();

  await fault?.begin();
  let mendedAt = fault === undefined ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const mending = (async () => {
    if (fault === undefined) return;
    await pause(fault.lastsMs);
    const endedAt = performance.now();
    // Ends even if that fails: no client asks for ever.
    await fault.end().finally(() => {
      mendedAt = endedAt;
    });
  })();
  const ended: Ended[] = [];
  const end = async ({ what, victim }: Made, send: () => Promise<Answered>): Promise<void> => {
    const before = keepAsking(far, victim);
    try {
      const { sentAt, answeredAt } = await send();
      const sentBefore = before.stop();
      const until = () => performance.now() > Math.max(answeredAt, mendedAt) + PATIENCE_MS;
      const [same, other] = await Promise.all(
        [near, far].map((server) => askUntilRefused(server, victim, answeredAt, { until, next })),
      );
      const circumstance = fault === undefined || sentAt > mendedAt ? "sound" : fault.circumstance;
      ended.push({
        what,
        circumstance,
        asked: sentBefore + (same?.asked ?? 0) + (other?.asked ?? 0),
        acceptedBySame: same?.accepted ?? [],
        acceptedByOther: other?.accepted ?? [],
      });
    } catch (error) {
      leftOut.push(`${what}: ${error}`);
    } finally {
      before.stop();
      victim.close?.();
    }
  };
  const togetherOf = new Map<string, (victims: readonly Victim[]) => Promise<Answered>>();
  for (const [{ what, endAll }] of wanted) {
    if (endAll !== undefined) togetherOf.set(what, (victims) => timed(() => endAll(admin, victims)));
  }
  const together = [...togetherOf].map(async ([what, endThese]) => {
    const these = made.filter((one) => one.what === what);
    if (these.length === 0) return;
    const answered = endThese(these.map(({ victim }) => victim));
    await Promise.all(these.map((one) => end(one, () => answered)));
  });
  const single = made.filter(({ what }) => !togetherOf.has(what));
  // Under a fault all at once: each has to be sent before that is over.
  const atOnce = fault === undefined ? ENDING_AT_ONCE : single.length;
  await Promise.all([
    mending,
    ...together,
    atMost(atOnce, shuffled(single, next), (one) => end(one, () => timed(() => one.victim.end(admin)))),
  ]);
  return { ended, leftOut, makingMs: madeAt - started, endingMs: performance.now() - madeAt };
}

let names = 0;
const nextName = (): number => ++names;

async function timed(send: () => Promise<unknown>): Promise<Answered> {
  const sentAt = performance.now();
  await insist(send);
  return { sentAt, answeredAt: performance.now() };
}

/** Asks less and less often until it is stopped, which says how often it has asked. */
function keepAsking(server: AskedServer, victim: Victim): { readonly stop: () => number } {
  let isOver = false;
  let sent = 0;
  void (async () => {
    for (let wait = FIRST_PAUSE_MS; !isOver; wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
      sent++;
      await victim.ask(server, ASK_TIMEOUT_MS);
      await pause(wait);
    }
  })();
  return {
    stop() {
      isOver = true;
      return sent;
    },
  };
}

type Answers = { readonly asked: number; readonly accepted: readonly number[] };

/** From the moment of the answer on, at once and then less and less often. Rejects where a server never refuses. */
async function askUntilRefused(
  server: AskedServer,
  victim: Victim,
  answeredAt: number,
  { until, next }: { readonly until: () => boolean; readonly next: (bound: number) => number },
): Promise<Answers> {
  const accepted: number[] = [];
  let refusals = 0;
  let status: number | undefined;
  for (let asked = 1, wait = FIRST_PAUSE_MS; ; asked++, wait = Math.min(2 * wait, LONGEST_PAUSE_MS)) {
    const sentAt = performance.now();
    status = await victim.ask(server, ASK_TIMEOUT_MS);
    if (isAccepted(status)) accepted.push(sentAt - answeredAt);
    if (isRefused(status) && ++refusals >= REFUSALS) return { asked, accepted };
    // One that is let in for ever is counted; one that is never answered tells nothing.
    if (until() && accepted.length > 0) return { asked, accepted };
    if (until()) throw new Error(`${victim.name} is answered ${status} after its end`);
    await pause(wait + next(wait));
  }
}

/** Again after a while, where it fails. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  for (let wait = 50; ; wait = Math.min(2 * wait, 2_000)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() - started > PATIENCE_MS) throw error;
      await pause(wait);
    }
  }
}

async function atMost<T>(count: number, all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const queue = [...all];
  const lane = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: Math.min(count, all.length) }, lane));
}

function shuffled<T>(all: readonly T[], next: (bound: number) => number): T[] {
  const left = [...all];
  return all.flatMap(() => left.splice(next(left.length), 1));
}
