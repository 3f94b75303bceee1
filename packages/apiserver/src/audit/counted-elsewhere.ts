// Events that the thread with the audit log would only count: another thread counts them itself, and hands over the numbers.

import type { Clock } from "../runtime/clock.ts";
import type { ShareFacts } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import { type CountedEvents, identified, shareFactsOf } from "./file-shares.ts";

/** Of facts; a flood of many kinds of events is sent as before. */
const MAX_KNOWN = 1_000;
/** In characters. */
const MAX_KEY = 1_000;
/** Since the last answer: a thread without requests does not hear that a new file has begun. */
const MAX_AGE_MS = 1_000;

type CountedElsewhere = {
  /** Counts the event where the log leaves it out. */
  countOnly(event: AuditEvent): boolean;
  /** The log leaves out events with these facts for as long as its shares have this version. */
  learn(version: number, facts: readonly ShareFacts[]): void;
  /** Since they were last taken. */
  take(): readonly CountedEvents[];
};

/** `onFirst` is called when there is something to take. */
export function countElsewhere(clock: Pick<Clock, "elapsed">, onFirst: () => void): CountedElsewhere {
  let version = -1;
  let learntAt = 0;
  const known = new Set<string>();
  const counted = new Map<string, CountedEvents>();
  return {
    countOnly(event) {
      if (known.size === 0) return false;
      if (clock.elapsed() - learntAt > MAX_AGE_MS) {
        known.clear();
        return false;
      }
      const facts = shareFactsOf(event);
      if (!known.has(keyOf(facts))) return false;
      const { client, at } = facts;
      if (counted.size === 0) onFirst();
      const { count = 0, since = at } = counted.get(client) ?? {};
      counted.set(client, { client, count: count + 1, since, last: identified(event) });
      return true;
    },
    learn(newest, leftOut) {
      // The answer to a message that was sent earlier may come later.
      if (newest < version) return;
      if (newest > version) known.clear();
      version = newest;
      learntAt = clock.elapsed();
      for (const facts of leftOut) {
        const key = keyOf(facts);
        if (known.size < MAX_KNOWN && key.length <= MAX_KEY) known.add(key);
      }
    },
    take() {
      const taken = [...counted.values()];
      counted.clear();
      return taken;
    },
  };
}

const keyOf = ({ client, recorded }: ShareFacts): string => `${client.length} ${client} ${recorded}`;
