// Defines an attack on the availability of a server: who carries it out with what, and what it counts.

/** The roles of an attacker: everything here is available to a tenant of the platform, or to a client without any credential. */
export type Target = {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  /** Of one user: a key with an empty scope, one without a scope, and many more like it. */
  readonly weak: string;
  readonly key: string;
  readonly keys: readonly string[];
  /** The name of the object of `key`. */
  readonly keyName: string;
  /** The user's own embedded cluster behind the proxy, where the key is an administrator's, and its object in the management API. */
  readonly cluster: string;
  readonly instance: string;
};

export type Attack = {
  readonly name: string;
  /** Outcomes that show that it took place: an attack without one of them tested nothing. */
  readonly shows: RegExp;
  /** Makes what it needs, before it begins. */
  prepare?(target: Target): Promise<void>;
  /** Goes on until the signal is aborted. Counts every request, connection or answer by its outcome. */
  run(target: Target, count: (outcome: string, many?: number) => void, signal: AbortSignal): Promise<void> | void;
};

export type Counts = { readonly [outcome: string]: number };

/** How often the server refused, or ended a connection. */
export const refusedIn = (counts: Counts): number =>
  Object.entries(counts).reduce(
    (sum, [outcome, many]) => sum + (/^(4\d\d|5\d\d|ended|goaway)/.test(outcome) ? many : 0),
    0,
  );

/** All that the attacker did or got. */
export const totalOf = (counts: Counts): number => Object.values(counts).reduce((sum, many) => sum + many, 0);

/** How much of it shows that the attack took place. */
export const shownIn = ({ shows }: Pick<Attack, "shows">, counts: Counts): number =>
  Object.entries(counts).reduce((sum, [outcome, many]) => sum + (shows.test(outcome) ? many : 0), 0);

export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });

export const repeat = <T>(times: number, make: (index: number) => T): T[] =>
  Array.from({ length: times }, (_, index) => make(index));
