// Tells when a credential ends, so that what it has open is cut at that moment.

import type { Runtime } from "../runtime/clock.ts";
import type { Credential } from "./authenticator.ts";

/** The `onRevoked` of a credential. */
export type RevocationWatch = NonNullable<Credential["onRevoked"]>;

/** A clock that is set forwards ends credentials before timers know: they look again after this at the latest. */
const LONGEST_WAIT_MS = 10_000;

/**
 * Of a credential that is good until `end`, in milliseconds since the epoch, or until so much time has passed as it has left now: a
 * clock that is set back makes no life longer.
 */
export const untilEnd =
  (end: number, { clock, scheduler }: Pick<Runtime, "clock" | "scheduler">): RevocationWatch =>
  (listener) => {
    const endElapsed = clock.elapsed() + end - clock.now();
    let pending: Disposable | undefined;
    const wait = (): void => {
      const remaining = Math.min(end - clock.now(), endElapsed - clock.elapsed());
      pending = remaining > 0 ? scheduler.schedule(Math.min(remaining, LONGEST_WAIT_MS), wait) : undefined;
      if (remaining <= 0) listener();
    };
    const first = Math.min(Math.max(0, end - clock.now()), LONGEST_WAIT_MS);
    pending = scheduler.schedule(first, wait);
    return { [Symbol.dispose]: () => pending?.[Symbol.dispose]() };
  };

/** Of a credential that is good while all of these are. The listener is called once, for the first that ends. */
export const untilFirst =
  (watches: readonly RevocationWatch[]): RevocationWatch =>
  (listener) => {
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      listener();
    };
    const handles = watches.map((watch) => watch(end));
    return {
      [Symbol.dispose]() {
        isOver = true;
        for (const handle of handles) handle[Symbol.dispose]();
      },
    };
  };

/**
 * Of a credential that is good until `isOver`, which is asked whenever `onChange` tells of a change, and once now: it may have ended
 * between the check of the request and this.
 */
export const untilOver =
  (isOver: () => boolean, onChange: (listener: () => void) => Disposable): RevocationWatch =>
  (listener) => {
    const check = (): void => {
      if (isOver()) listener();
    };
    const handle = onChange(check);
    check();
    return handle;
  };
