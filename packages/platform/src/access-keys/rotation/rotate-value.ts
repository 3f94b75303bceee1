// Gives a key a new value, and its old one an end.

import type { AccessKeySecrets, KeptAccessKey } from "../access-key-secrets.ts";
import { endedValue, type RetiredValue, type SealedAccessKey } from "../sealed-access-key.ts";

/** Of more, the oldest are forgotten: they are noise from then on. */
const MAX_RETIRED = 8;

export type RotationRequest = {
  /** Of the caller and its nonce. */
  readonly nonce: string;
  readonly value: string;
  readonly now: number;
  readonly graceMs: number;
};

/** `nonces` is the one nonce under every key of the ring. */
export const isRepeated = ({ retired }: SealedAccessKey, nonces: readonly string[]): RetiredValue | undefined =>
  retired.find((value) => nonces.includes(value.nonce));

/** The old value is kept as its digest alone, so that its use can be told from a guess. */
export function rotateValue(
  sealed: SealedAccessKey,
  { nonce, value, now, graceMs }: RotationRequest,
  secrets: AccessKeySecrets,
  isTaken: (id: string) => boolean,
): SealedAccessKey {
  // What is locked was in the wrong hands: none of its values lives on.
  const isLocked = sealed.lockedAt !== undefined;
  const before = isLocked ? sealed.retired.map((other) => endedValue(other, now)) : sealed.retired;
  const replace = (old: KeptAccessKey): RetiredValue => {
    const retired = { ...old, until: now + graceMs, nonce };
    return isLocked || graceMs === 0 ? endedValue(retired, now) : retired;
  };
  return {
    ...sealed,
    key: secrets.keep(value, isTaken),
    retired: [...(sealed.key === undefined ? [] : [replace(sealed.key)]), ...before].slice(0, MAX_RETIRED),
    lockedAt: undefined,
  };
}
