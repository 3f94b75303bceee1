// Replaces the value of a key, and sets the end of the old value.

import type { KeyOrigin } from "../key-origins.ts";
import { endedValue, type RetiredValue, type SealedAccessKey } from "../record/sealed-access-key.ts";
import type { AccessKeySecrets, KeptAccessKey } from "../secrets/access-key-secrets.ts";

/** Older values are forgotten. */
const MAX_RETIRED = 8;

export type RotationRequest = {
  /** Made of the caller and its nonce. */
  readonly nonce: string;
  readonly value: string;
  readonly now: number;
  readonly graceMs: number;
  /** The key of the request and its ancestors, without the rotated one. */
  readonly origins: readonly KeyOrigin[];
  /** The value is compromised: credentials created with it are revoked, and its use does not lock the key. */
  readonly isCompromised: boolean;
};

/** The value that a rotation with this nonce has replaced. `nonces` is the one nonce under every key of the ring. */
export const retiredByNonce = ({ retired }: SealedAccessKey, nonces: readonly string[]): RetiredValue | undefined =>
  retired.find((value) => nonces.includes(value.nonce));

/** The old value is kept as its digest alone, so that its use can be distinguished from a guess. */
export function rotateValue(
  sealed: SealedAccessKey,
  { nonce, value, now, graceMs, origins, isCompromised }: RotationRequest,
  secrets: AccessKeySecrets,
  isTaken: (id: string) => boolean,
): SealedAccessKey {
  // The value is known to be compromised: credentials that were created with it are revoked.
  const revokes = isCompromised || sealed.leak !== undefined;
  // The value of a locked key may be stolen: none of its old values stays valid.
  const isKnown = revokes || sealed.lockedAt !== undefined;
  const end = (old: RetiredValue): RetiredValue => (isKnown || graceMs === 0 ? endedValue(old, now) : old);
  const until = now + graceMs;
  // An older value is accepted no longer than a newer one.
  const before = sealed.retired.map((older) => end({ ...older, until: Math.min(older.until, until) }));
  const replace = (old: KeptAccessKey): RetiredValue => end({ ...old, until, nonce, serial: sealed.serial });
  const serial = sealed.serial + 1;
  return {
    ...sealed,
    key: secrets.keep(value, isTaken),
    retired: [...(sealed.key === undefined ? [] : [replace(sealed.key)]), ...before].slice(0, MAX_RETIRED),
    lockedAt: undefined,
    leak: undefined,
    serial,
    valueOrigins: origins,
    inertBelow: isKnown ? serial : sealed.inertBelow,
    ...(revokes ? { childrenFrom: serial, childrenRevokedAt: now } : {}),
  };
}

/** The old value is no longer accepted: a client has set another. */
export function replaceValue(
  sealed: SealedAccessKey,
  key: KeptAccessKey,
  now: number,
  origins: readonly KeyOrigin[],
): SealedAccessKey {
  const serial = sealed.serial + 1;
  const old: readonly RetiredValue[] =
    sealed.key === undefined ? [] : [{ ...sealed.key, until: now, isOver: true, nonce: "", serial: sealed.serial }];
  return {
    ...sealed,
    key,
    retired: [...old, ...sealed.retired.map((value) => endedValue(value, now))]
      // A value that comes back is no old one.
      .filter(({ digest }) => digest !== key.digest)
      .slice(0, MAX_RETIRED),
    lockedAt: undefined,
    leak: undefined,
    serial,
    valueOrigins: origins,
    inertBelow: serial,
    ...(sealed.leak !== undefined ? { childrenFrom: serial, childrenRevokedAt: now } : {}),
  };
}
