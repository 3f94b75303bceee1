// Tells when a credential ends by itself, so that what it has open is cut at that moment.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { Runtime } from "@postern/apiserver/runtime/clock";

/** Timers cannot wait any longer in one piece. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** The `onRevoked` of a credential that is good until `end`, in milliseconds since the epoch. */
export const untilEnd =
  (end: number, { clock, scheduler }: Pick<Runtime, "clock" | "scheduler">): NonNullable<Credential["onRevoked"]> =>
  (listener) => {
    let pending: Disposable | undefined;
    const wait = (): void => {
      const remaining = end - clock.now();
      pending =
        remaining > LONGEST_WAIT_MS
          ? scheduler.schedule(LONGEST_WAIT_MS, wait)
          : scheduler.schedule(Math.max(0, remaining), listener);
    };
    wait();
    return { [Symbol.dispose]: () => pending?.[Symbol.dispose]() };
  };
