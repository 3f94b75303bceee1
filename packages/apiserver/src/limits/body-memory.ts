// Memory for request bodies, shared fairly between users and their keys.

/** The owner of a place. */
export type Claimant = {
  /** The authenticated user, and not the impersonated one; for requests without a credential their source address. */
  readonly user: string;
  readonly key: string;
  /** Without a credential. Such clients have every second place that becomes free between them, from however many addresses they come. */
  readonly isUnauthenticated?: boolean;
};

/** Why a request was refused: too many of the same user or key wait, it waited too long, or bodies take too much memory. */
export type RefusalReason = "queue-full" | "time-out" | "body-bytes";

/** Answered 429. */
export class NoPlaceError extends Error {
  override readonly name = "NoPlaceError";
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(`no place for the request: ${reason}`);
    this.reason = reason;
  }
}

export type BodyAccount = Disposable & {
  /** Throws NoPlaceError when the body may not go on. */
  add(bytes: number): void;
};

type BodyLimits = {
  readonly bodyBytes: number;
  readonly userShare: number;
  readonly keyShare: number;
  /** Memory of the process is short. Bodies of ordinary size go on. */
  readonly isShort?: (() => boolean) | undefined;
};

/** Larger bodies are refused while memory is short. */
const ORDINARY_BYTES = 64 << 10;

/** A user or key beyond its share is refused; if all bodies together are too large, the largest request of the largest user is refused. */
export class BodyMemory {
  readonly #limits: BodyLimits;
  readonly #bodies = new Set<Body>();
  readonly #users = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#bodies.size;
  }

  open(claimant: Claimant, giveUp: (error: NoPlaceError) => void): BodyAccount {
    const body = new Body(this, claimant, giveUp);
    this.#bodies.add(body);
    return body;
  }

  add(body: Body, bytes: number): void {
    if (!this.#bodies.has(body)) throw new NoPlaceError("body-bytes");
    const { bodyBytes, userShare, keyShare, isShort } = this.#limits;
    body.bytes += bytes;
    this.#total += bytes;
    const ofUser = count(this.#users, body.claimant.user, bytes);
    const ofKey = count(this.#keys, body.claimant.key, bytes);
    const isTooMuch = body.bytes > ORDINARY_BYTES && isShort?.() === true;
    if (isTooMuch || ofUser > bodyBytes * userShare || ofKey > bodyBytes * keyShare) {
      this.close(body);
      throw new NoPlaceError("body-bytes");
    }
    while (this.#total > bodyBytes) {
      const victim = this.#largestOfGreediest();
      if (victim === undefined) return;
      this.close(victim);
      if (victim === body) throw new NoPlaceError("body-bytes");
      victim.giveUp(new NoPlaceError("body-bytes"));
    }
  }

  close(body: Body): void {
    if (!this.#bodies.delete(body)) return;
    this.#total -= body.bytes;
    count(this.#users, body.claimant.user, -body.bytes);
    count(this.#keys, body.claimant.key, -body.bytes);
  }

  #largestOfGreediest(): Body | undefined {
    const [[greediest = ""] = []] = [...this.#users].sort(([, a], [, b]) => b - a);
    return [...this.#bodies].filter(({ claimant }) => claimant.user === greediest).sort((a, b) => b.bytes - a.bytes)[0];
  }
}

/** A class: every write has one, and objects with a method under a symbol are slow to make. */
class Body implements BodyAccount {
  readonly claimant: Claimant;
  readonly giveUp: (error: NoPlaceError) => void;
  bytes = 0;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory, claimant: Claimant, giveUp: (error: NoPlaceError) => void) {
    this.#memory = memory;
    this.claimant = claimant;
    this.giveUp = giveUp;
  }

  add(bytes: number): void {
    this.#memory.add(this, bytes);
  }

  [Symbol.dispose](): void {
    this.#memory.close(this);
  }
}

function count(counts: Map<string, number>, name: string, bytes: number): number {
  const sum = (counts.get(name) ?? 0) + bytes;
  if (sum > 0) counts.set(name, sum);
  else counts.delete(name);
  return sum;
}
