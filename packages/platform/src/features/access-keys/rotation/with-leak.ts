// Records the report of a leaked value in its key. It concerns the reported value and no other.

import { endedValue, type SealedAccessKey } from "../record/sealed-access-key.ts";

/** Undefined if the report changes nothing. `refuses`: the value, and everything created with it, is refused from now on. */
export function withLeak(
  sealed: SealedAccessKey,
  id: string,
  now: number,
  refuses: boolean,
): SealedAccessKey | undefined {
  if (sealed.key?.id === id) {
    if (sealed.leak !== undefined && (sealed.leak.isRefused || !refuses)) return undefined;
    return { ...sealed, leak: { at: now, isRefused: refuses }, inertBelow: Math.max(sealed.inertBelow, sealed.serial) };
  }
  const value = sealed.retired.find((retired) => retired.id === id);
  if (value === undefined) return undefined;
  // Later values have not been reported: their children stay.
  const isOver = value.isOver === true;
  const childrenFrom = refuses ? Math.max(sealed.childrenFrom, value.serial + 1) : sealed.childrenFrom;
  const inertBelow = Math.max(sealed.inertBelow, sealed.serial);
  if (isOver && childrenFrom === sealed.childrenFrom && inertBelow === sealed.inertBelow) return undefined;
  return {
    ...sealed,
    retired: refuses
      ? sealed.retired.map((retired) => (retired.serial <= value.serial ? endedValue(retired, now) : retired))
      : sealed.retired,
    inertBelow,
    childrenFrom,
    ...(childrenFrom === sealed.childrenFrom ? {} : { childrenRevokedAt: now }),
  };
}
