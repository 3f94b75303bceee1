// The orders to the load generator and its answers: plain data, sent between processes.

export type Target = {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string;
  /** PEM; absent: the certificate is not checked. */
  readonly ca?: string;
  readonly token: string;
};

export type Protocol = "h1" | "h2";

/**
 * `{n}` in `path` and `body` is a number that increases with every request, from `firstNumber`, and wraps around after `numbers`; `{n%100}`
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

/** A closed loop: `inFlight` requests are always pending, on as many connections (h1) or streams of one connection (h2). */
export type LoadOrder = {
  readonly kind: "load";
  readonly target: Target;
  readonly protocol: Protocol;
  readonly inFlight: number;
  /** Ends after this many seconds or requests, whichever comes first, */
  readonly seconds: number;
  readonly requests?: number;
  /** but not before this many requests, so that a busy machine measures as much work as another one. */
  readonly atLeast?: number;
  /** The maximum number of requests started per second, including late ones. */
  readonly perSecond?: number;
  readonly request: RequestPattern;
};

/** Watches over HTTP/2; one writer at a time changes objects, and the received lines are counted. */
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

/** Watches over HTTP/2, held until the process ends. `{n}` in the path is their number. */
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
  /** The number of responses by status other than 2xx. */
  readonly failures: { readonly [status: string]: number };
};

export type Answer =
  | { readonly type: "started" }
  | { readonly type: "report"; readonly report: LoadReport }
  | { readonly type: "failed"; readonly message: string };
