// Notifies when a credential becomes invalid, so that its open connections are closed immediately.

import type { Runtime } from "../runtime/clock.ts";
import type { Credential } from "./authenticator.ts";

/** The `onRevoked` of a credential. */
export type RevocationWatch = NonNullable<Credential["onRevoked"]>;

/** A clock that is set forwards ends credentials before timers know: they look again after this at the latest. */
const LONGEST_WAIT_MS = 10_000;

/**
 * For a credential that is valid until `end`, in milliseconds since the epoch, or until its remaining time has passed: setting the clock back does
 * not extend it.
 */
export const watchExpiry =
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

/** For a credential that is valid as long as all of these are. The listener is called once, for the first that ends. */
export const watchFirst =
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
 * For a credential that is valid until `isOver`, which is called at every `onChange`, and once immediately: it may have become invalid since the
 * request was authenticated.
 */
export const watchRevocation =
  (isOver: () => boolean, onChange: (listener: () => void) => Disposable): RevocationWatch =>
  (listener) => {
    const check = (): void => {
      if (isOver()) listener();
    };
    const handle = onChange(check);
    check();
    return handle;
  };
