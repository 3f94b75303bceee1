// The secret of the link that a starting server shows on its terminal: in the memory of this process only, for one use within minutes.

import { createHash, timingSafeEqual } from "node:crypto";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";

export type OneTimeLink = {
  isValid(secret: string): Awaitable<boolean>;
  /** True at most once for each secret. */
  take(secret: string): Awaitable<boolean>;
};

export type OwnLink = OneTimeLink & {
  /** A new secret. The previous one becomes invalid. */
  create(): string;
  isValid(secret: string): boolean;
  take(secret: string): boolean;
};

export const LINK_MINUTES = 10;
const LIFE_MS = LINK_MINUTES * 60_000;

/** A digest, so that a dump of the memory does not contain the secret. */
const digestOf = (secret: string): Buffer => createHash("sha256").update(`one-time link ${secret}`).digest();

export function createOneTimeLink(clock: Clock, random: Random): OwnLink {
  let current: { readonly digest: Buffer; readonly elapsed: number; readonly now: number } | undefined;
  // The clock of the day is set back and forth, and the monotonic one stands still while the machine sleeps: the earlier end counts.
  const isOver = ({ elapsed, now }: { readonly elapsed: number; readonly now: number }): boolean =>
    clock.elapsed() - elapsed >= LIFE_MS || clock.now() - now >= LIFE_MS;
  const isValid = (secret: string): boolean =>
    current !== undefined && !isOver(current) && timingSafeEqual(digestOf(secret), current.digest);
  return {
    create() {
      const secret = Buffer.from(random.bytes(32)).toString("base64url");
      current = { digest: digestOf(secret), elapsed: clock.elapsed(), now: clock.now() };
      return secret;
    },
    isValid,
    take(secret) {
      const isTaken = isValid(secret);
      if (isTaken) current = undefined;
      return isTaken;
    },
  };
}
