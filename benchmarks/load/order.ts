// What the load generator is told to do, and what it answers: plain data, since it travels between processes.

export type Target = {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string;
  /** PEM; absent: the certificate is not checked. */
  readonly ca?: string;
  readonly token: string;
};

export type Protocol = "h1" | "h2";

/**
 * In `path` and `body`, `{n}` is a number that goes up with every request, from `firstNumber`, and starts again after `numbers`; `{n%100}`
 * is its last two digits.
 */
export type RequestPattern = {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly firstNumber?: number;
  readonly numbers?: number;
};

/** A closed loop: `inFlight` requests are always under way, on as many connections (h1) or streams of one connection (h2). */
export type LoadOrder = {
  readonly kind: "load";
  readonly target: Target;
  readonly protocol: Protocol;
  readonly inFlight: number;
  /** Ends after so many seconds, or so many requests, whichever comes first. */
  readonly seconds: number;
  readonly requests?: number;
  /** But not before so many requests: a machine with much else to do measures as much work as another one. */
  readonly atLeast?: number;
  /** No more than so many are begun in a second, those that are late included. */
  readonly perSecond?: number;
  readonly request: RequestPattern;
};

/** Watches opened over HTTP/2; then one writer at a time changes objects, and the lines that arrive are counted. */
export type FanOutOrder = {
  readonly kind: "fan-out";
  readonly target: Target;
  readonly watchers: number;
  readonly connections: number;
  readonly path: string;
  readonly writes: number;
  readonly writesInFlight: number;
  /** `{t}` in its body is the time at which it was sent. */
  readonly write: RequestPattern;
};

/** Watches opened over HTTP/2, of which `{n}` in the path is the number, and held for as long as the process lives. */
export type HoldOrder = {
  readonly kind: "hold";
  readonly target: Target;
  readonly watchers: number;
  readonly connections: number;
  readonly path: string;
};

export type Order = LoadOrder | FanOutOrder | HoldOrder;

/** Milliseconds. */
export type Latencies = { readonly p50: number; readonly p99: number; readonly max: number };

export type LoadReport = {
  /** Requests answered, or events delivered. */
  readonly count: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly latencies: Latencies;
  /** How often each status other than 2xx came. */
  readonly failures: { readonly [status: string]: number };
};

export type Answer =
  | { readonly type: "started" }
  | { readonly type: "report"; readonly report: LoadReport }
  | { readonly type: "failed"; readonly message: string };
