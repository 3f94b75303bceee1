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

type Body = { readonly claimant: Claimant; bytes: number; readonly giveUp: (error: NoPlaceError) => void };

/** A user or key beyond its share is refused; if all bodies together are too large, the largest request of the largest user is refused. */
export function createBodyMemory({ bodyBytes, userShare, keyShare, isShort = () => false }: BodyLimits) {
  const bodies = new Set<Body>();
  const users = new Map<string, number>();
  const keys = new Map<string, number>();
  let total = 0;

  const count = (counts: Map<string, number>, name: string, bytes: number): number => {
    const sum = (counts.get(name) ?? 0) + bytes;
    if (sum > 0) counts.set(name, sum);
    else counts.delete(name);
    return sum;
  };
  const close = (body: Body): void => {
    if (!bodies.delete(body)) return;
    total -= body.bytes;
    count(users, body.claimant.user, -body.bytes);
    count(keys, body.claimant.key, -body.bytes);
  };
  const largestOfGreediest = (): Body | undefined => {
    const [[greediest = ""] = []] = [...users].sort(([, a], [, b]) => b - a);
    return [...bodies].filter(({ claimant }) => claimant.user === greediest).sort((a, b) => b.bytes - a.bytes)[0];
  };
  const open = (claimant: Claimant, giveUp: (error: NoPlaceError) => void): BodyAccount => {
    const body: Body = { claimant, bytes: 0, giveUp };
    bodies.add(body);
    return {
      add(bytes) {
        if (!bodies.has(body)) throw new NoPlaceError("body-bytes");
        body.bytes += bytes;
        total += bytes;
        const ofUser = count(users, claimant.user, bytes);
        const ofKey = count(keys, claimant.key, bytes);
        const isTooMuch = body.bytes > ORDINARY_BYTES && isShort();
        if (isTooMuch || ofUser > bodyBytes * userShare || ofKey > bodyBytes * keyShare) {
          close(body);
          throw new NoPlaceError("body-bytes");
        }
        while (total > bodyBytes) {
          const victim = largestOfGreediest();
          if (victim === undefined) return;
          close(victim);
          if (victim === body) throw new NoPlaceError("body-bytes");
          victim.giveUp(new NoPlaceError("body-bytes"));
        }
      },
      [Symbol.dispose]: () => close(body),
    };
  };
  return { open, count: () => bodies.size };
}
