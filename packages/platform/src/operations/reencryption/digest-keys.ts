// Finds the keys of the ring that digests of access keys still use. They stay on the ring, since digests cannot be recomputed.

import type { AccessKeyRecord } from "../../features/access-keys/record/access-key-record.ts";
import { acceptedUntil } from "../../features/access-keys/record/sealed-access-key.ts";
import type { KeyRing } from "../../foundation/encryption/key-ring.ts";

type DigestKeys = {
  /** How many digests of access keys are under it. */
  readonly count: number;
  /** Names of some of them. */
  readonly examples: readonly string[];
};

const MAX_EXAMPLES = 20;

/** By the id of the key. A value that a rotation replaced counts until its grace period has ended. */
export function findDigestKeys(
  ring: KeyRing,
  records: Iterable<AccessKeyRecord>,
  now: number,
): ReadonlyMap<string, DigestKeys> {
  const first = ring.keys.find(({ isFirst }) => isFirst)?.id ?? "";
  const found = new Map(ring.keys.map(({ id }) => [id, { count: 0, examples: [] as string[] }]));
  const hold = (key: string, name: string): void => {
    const holders = found.get(key);
    if (holders === undefined) return;
    holders.count++;
    if (holders.examples.length < MAX_EXAMPLES) holders.examples.push(name);
  };
  for (const { name, id, ringKey, retired } of records) {
    if (id !== "") hold(ringKey ?? first, name);
    for (const value of retired) if (acceptedUntil(value) > now) hold(value.ringKey ?? first, name);
  }
  return found;
}
