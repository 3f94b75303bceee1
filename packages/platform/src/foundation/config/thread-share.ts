// The share of one thread that serves requests in a limit of the whole server: each counts by itself.

import type { RateLimit } from "@postern/apiserver/limits/rate-limiter";

/** How many threads share a limit of the server, each an equal part. The number may change. */
export type ThreadShare = { readonly threads: number };

export const ONE_THREAD: ThreadShare = { threads: 1 };

/** A limit of 0 is none, and stays so; no other becomes less than 1. */
export const partOf = (whole: number, { threads }: ThreadShare): number =>
  whole === 0 ? 0 : Math.max(Math.ceil(whole / threads), 1);

/** A rate may be less than 1 a second, a burst may not. */
export const rateShare = ({ qps, burst }: RateLimit, share: ThreadShare): RateLimit => ({
  get qps() {
    return qps / share.threads;
  },
  get burst() {
    return partOf(burst, share);
  },
});

/** Times its part of the connections that a thread may have: the kernel draws a thread for each connection, and one may get more than its part. */
const ROOM = 1.5;

/** The part of the limits of connections. */
export const connectionShare = ({ threads }: ThreadShare): number => Math.min(ROOM / threads, 1);
