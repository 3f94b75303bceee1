// The maximum number of access keys per owner. Keys of one owner are written one after another, so that each is counted before the next.

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { WriteLimit } from "@postern/apiserver/registry/strategy";
import type { OwnedAccessKey } from "../api/owned-access-key.ts";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { ownerOf, sameOwner } from "./access-key-owner.ts";

export type KeyQuota = {
  /**
   * For the `limit` of a strategy. `old` is what an update starts from; `refuse` makes the error that says why the owner may have no further
   * key. Several servers may each let one key more pass at the same moment, and none after they have seen it.
   */
  limitOf(
    object: OwnedAccessKey,
    old: OwnedAccessKey | undefined,
    refuse: (why: string) => ApiError,
  ): WriteLimit | undefined;
};

export type KeyQuotaDeps = {
  readonly keys: Pick<AccessKeyIndex, "ownedBy" | "whenRead" | "stateOf">;
  /** 0: no limit. */
  readonly maxPerOwner: number;
};

const OVER: ReadonlySet<string> = new Set(["Expired", "Revoked"]);

export const createKeyQuota = ({ keys, maxPerOwner }: KeyQuotaDeps): KeyQuota => ({
  limitOf({ spec }, old, refuse) {
    const owner = maxPerOwner === 0 ? undefined : ownerOf(spec ?? {});
    if (owner === undefined || (old !== undefined && sameOwner(owner, ownerOf(old.spec ?? {})))) return undefined;
    const { kind, name } = owner;
    return {
      name: `access keys of ${JSON.stringify([kind, name])}`,
      async check() {
        await keys.whenRead();
        // Keys that have ended for good and are only still shown do not count.
        const count = keys.ownedBy(owner).filter((key) => !OVER.has(keys.stateOf(key)?.reason ?? "")).length;
        if (count < maxPerOwner) return;
        throw refuse(
          `the ${kind} ${JSON.stringify(name)} has ${count} access keys, and the limit is ${maxPerOwner}: delete keys that are not needed any more`,
        );
      },
    };
  },
});
