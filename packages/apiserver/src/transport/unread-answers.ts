// Counts long answers that are written and not read yet, by client. If they are too much, the client with the most loses its oldest answer.

import type { Clock } from "../runtime/clock.ts";

export type UnreadAnswers = {
  readonly bytes: number;
  /** Until it is disposed. `cut` ends the answer, so that its client can tell that it is not whole. */
  hold(client: string, bytes: number, cut: () => void): Disposable;
};

/** Shorter answers are not counted: each takes less than its connection. */
export const LONG_ANSWER_BYTES = 16 * 1024;
/** A client may take so long to read, as long as all have not more than twice the limit. */
const PATIENCE_MS = 1_000;

type Held = { readonly client: string; readonly bytes: number; readonly since: number; readonly cut: () => void };
type Client = { readonly answers: Set<Held>; bytes: number };

export function createUnreadAnswers(limitBytes: number, clock: Pick<Clock, "elapsed">): UnreadAnswers {
  const clients = new Map<string, Client>();
  let total = 0;

  function release(held: Held): void {
    const client = clients.get(held.client);
    if (client?.answers.delete(held) !== true) return;
    client.bytes -= held.bytes;
    total -= held.bytes;
    if (client.answers.size === 0) clients.delete(held.client);
  }

  function greediest(): Client | undefined {
    let found: Client | undefined;
    for (const client of clients.values()) if (found === undefined || client.bytes > found.bytes) found = client;
    return found;
  }

  function shrink(): void {
    while (total > limitBytes) {
      const client = greediest();
      const [oldest] = client?.answers ?? [];
      // A single answer may be larger than any limit.
      if (oldest === undefined || total === oldest.bytes) return;
      if (total <= 2 * limitBytes && clock.elapsed() - oldest.since < PATIENCE_MS) return;
      release(oldest);
      oldest.cut();
    }
  }

  return {
    get bytes() {
      return total;
    },
    hold(client, bytes, cut) {
      const held = { client, bytes, since: clock.elapsed(), cut };
      const known = clients.get(client) ?? { answers: new Set(), bytes: 0 };
      clients.set(client, known);
      known.answers.add(held);
      known.bytes += bytes;
      total += bytes;
      shrink();
      return { [Symbol.dispose]: () => release(held) };
    },
  };
}
