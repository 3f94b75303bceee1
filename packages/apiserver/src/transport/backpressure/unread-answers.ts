// Counts long answers that are written and not read yet, by client. If they are too much, the client with the most loses its oldest answer. All without a valid
// credential count together, since one owner of many addresses can have as little as it likes at each.

import type { Clock } from "../../runtime/clock.ts";

/** A user, or a source address that has shown no valid credential. */
export type Reader = { readonly client: string; readonly isKnown: boolean };

export type UnreadAnswers = {
  readonly bytes: number;
  /** Until it is disposed. `cut` ends the answer, so that its client can tell that it is not whole. */
  hold(reader: Reader, bytes: number, cut: () => void): Disposable;
};

/** Shorter answers are not counted: each takes less than its connection. */
export const LONG_ANSWER_BYTES = 16 * 1024;
/** A client may take so long to read, as long as all have not more than twice the limit. */
const PATIENCE_MS = 1_000;

type Held = { readonly client: Client; readonly bytes: number; readonly since: number; readonly cut: () => void };
type Client = { readonly name: string; readonly group: Group; readonly answers: Set<Held>; bytes: number };
type Group = { readonly clients: Map<string, Client>; bytes: number };

/** `onCut` counts the answers that are cut. */
export function createUnreadAnswers(
  limitBytes: number,
  clock: Pick<Clock, "elapsed">,
  onCut: () => void = () => undefined,
): UnreadAnswers {
  const users: Group = { clients: new Map(), bytes: 0 };
  const strangers: Group = { clients: new Map(), bytes: 0 };
  const total = (): number => users.bytes + strangers.bytes;

  function release(held: Held): void {
    const { client, bytes } = held;
    if (!client.answers.delete(held)) return;
    client.bytes -= bytes;
    client.group.bytes -= bytes;
    if (client.answers.size === 0) client.group.clients.delete(client.name);
  }

  function clientOf({ client: name, isKnown }: Reader): Client {
    const group = isKnown ? users : strangers;
    const client = group.clients.get(name) ?? { name, group, answers: new Set(), bytes: 0 };
    group.clients.set(name, client);
    return client;
  }

  function greediest(): Client | undefined {
    const user = greediestOf(users);
    return strangers.bytes > (user?.bytes ?? 0) ? greediestOf(strangers) : user;
  }

  function shrink(): void {
    while (total() > limitBytes) {
      const client = greediest();
      const [oldest] = client?.answers ?? [];
      // A single answer may be larger than any limit.
      if (oldest === undefined || total() === oldest.bytes) return;
      if (total() <= 2 * limitBytes && clock.elapsed() - oldest.since < PATIENCE_MS) return;
      release(oldest);
      onCut();
      oldest.cut();
    }
  }

  return {
    get bytes() {
      return total();
    },
    hold(reader, bytes, cut) {
      const client = clientOf(reader);
      const held = { client, bytes, since: clock.elapsed(), cut };
      client.answers.add(held);
      client.bytes += bytes;
      client.group.bytes += bytes;
      shrink();
      return { [Symbol.dispose]: () => release(held) };
    },
  };
}

function greediestOf({ clients }: Group): Client | undefined {
  let found: Client | undefined;
  for (const client of clients.values()) if (found === undefined || client.bytes > found.bytes) found = client;
  return found;
}
