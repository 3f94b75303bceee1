// Counts unsent data of watches, per watch, connection and server. If there is too much, the watch with the most is closed.

export type BacklogLimits = {
  readonly perWatch: number;
  /** Far less than HTTP/2 allows a connection in all, so that requests on it are never refused for its watches. */
  readonly perConnection: number;
  readonly total: number;
};

/** The exceeded limit: of the watch itself, of its connection, or of all. */
export type BacklogScope = "watch" | "connection" | "server";

export type WatchBacklog = {
  /** Bytes that wait now. Data that many watches wait for counts once. */
  readonly bytes: number;
  connection(): ConnectionBacklog;
};

export type ConnectionBacklog = {
  /** `end` is called when the watch has to end; it must clear the queue. */
  queue<Item extends object>(end: (scope: BacklogScope) => void): BacklogQueue<Item>;
};

export type BacklogQueue<Item extends object> = {
  readonly isEmpty: boolean;
  /** The chunk that `shift` would take. */
  readonly next: Item | undefined;
  /** `shared` is what takes the memory, which other queues may hold as well. */
  push(item: Item, shared: object, bytes: number): void;
  shift(): Item | undefined;
  clear(): void;
};

/** Memory of an entry, beside its shared data. */
const ENTRY_BYTES = 64;
/** Entries that were taken are forgotten together. */
const MAX_TAKEN = 1_024;

export function createWatchBacklog(limits: BacklogLimits): WatchBacklog {
  const all = new Holding();
  return {
    get bytes() {
      return all.bytes;
    },
    connection() {
      const own = new Holding();
      return { queue: (end) => new Queue(limits, [own, all], end) };
    },
  };
}

type Entry<Item> = { readonly item: Item; readonly shared: object; readonly bytes: number };
type Ending = { readonly size: number; end(scope: BacklogScope): void };

/** Memory that several queues hold together. */
class Holding {
  readonly queues = new Set<Ending>();
  readonly #holders = new Map<object, number>();
  bytes = 0;

  add(shared: object, bytes: number): void {
    const holders = this.#holders.get(shared) ?? 0;
    this.#holders.set(shared, holders + 1);
    this.bytes += holders === 0 ? bytes + ENTRY_BYTES : ENTRY_BYTES;
  }

  remove(shared: object, bytes: number): void {
    const holders = (this.#holders.get(shared) ?? 1) - 1;
    if (holders > 0) this.#holders.set(shared, holders);
    else this.#holders.delete(shared);
    this.bytes -= holders === 0 ? bytes + ENTRY_BYTES : ENTRY_BYTES;
  }

  /** Ends those with the most until the rest fits. */
  shrinkTo(limit: number, scope: BacklogScope): void {
    if (this.bytes <= limit) return;
    for (const queue of [...this.queues].sort((a, b) => b.size - a.size)) {
      queue.end(scope);
      if (this.bytes <= limit) return;
    }
  }
}

class Queue<Item extends object> implements BacklogQueue<Item>, Ending {
  readonly #limits: BacklogLimits;
  readonly #holdings: readonly [Holding, Holding];
  readonly #end: (scope: BacklogScope) => void;
  #entries: Entry<Item>[] = [];
  #taken = 0;
  size = 0;

  constructor(limits: BacklogLimits, holdings: readonly [Holding, Holding], end: (scope: BacklogScope) => void) {
    this.#limits = limits;
    this.#holdings = holdings;
    this.#end = end;
  }

  get isEmpty(): boolean {
    return this.#taken === this.#entries.length;
  }

  get next(): Item | undefined {
    return this.#entries[this.#taken]?.item;
  }

  push(item: Item, shared: object, bytes: number): void {
    const [connection, all] = this.#holdings;
    // A single object may be larger than any limit.
    const isFirst = this.isEmpty;
    if (isFirst) for (const holding of this.#holdings) holding.queues.add(this);
    this.#entries.push({ item, shared, bytes });
    this.size += bytes + ENTRY_BYTES;
    connection.add(shared, bytes);
    all.add(shared, bytes);
    if (isFirst) return;
    if (this.size > this.#limits.perWatch) this.end("watch");
    connection.shrinkTo(this.#limits.perConnection, "connection");
    all.shrinkTo(this.#limits.total, "server");
  }

  shift(): Item | undefined {
    const entry = this.#entries[this.#taken];
    if (entry === undefined) return undefined;
    this.#taken += 1;
    this.#forget(entry);
    if (this.isEmpty) this.clear();
    else if (this.#taken >= MAX_TAKEN) {
      this.#entries = this.#entries.slice(this.#taken);
      this.#taken = 0;
    }
    return entry.item;
  }

  clear(): void {
    for (let at = this.#taken; at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (entry !== undefined) this.#forget(entry);
    }
    this.#entries = [];
    this.#taken = 0;
    for (const holding of this.#holdings) holding.queues.delete(this);
  }

  end(scope: BacklogScope): void {
    this.clear();
    this.#end(scope);
  }

  #forget({ shared, bytes }: Entry<Item>): void {
    this.size -= bytes + ENTRY_BYTES;
    for (const holding of this.#holdings) holding.remove(shared, bytes);
  }
}
