// An access key in memory: everything for authentication and authorization, and no secret.

import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { AccessKeyOwner } from "./access-key-owner.ts";
import type { Audiences } from "./audiences.ts";
import type { KeyGrant } from "./key-grant.ts";
import type { KeyWithOrigins } from "./key-origins.ts";
import type { Confirmation } from "./proofs/proof-of-possession.ts";
import type { KeptAccessKey } from "./secrets/access-key-secrets.ts";
import type { SourceRanges } from "./source-ranges.ts";

/** spec.type of the key of a session. */
export const SESSION_TYPE = "Login";

export type AccessKeyState = KeyWithOrigins & {
  /** metadata.name of the record. */
  readonly name: string;
  readonly uid: string;
  /** The public handle that logs, audit events and leak reports use. */
  readonly id: string;
  readonly owner: AccessKeyOwner;
  /** spec.groups: added to the owner's own. */
  readonly groups: readonly string[];
  /** spec.type, "" when absent. */
  readonly type: string;
  /** Undefined: the key may do all that its owner may. */
  readonly restrictions: AccessKeyRestrictions | undefined;
  /** spec.allowedSourceRanges; empty: accepted from anywhere. */
  readonly sourceRanges: SourceRanges;
  /** spec.audiences; empty: accepted by all receivers. */
  readonly audiences: Audiences;
  /** spec.confirmation; "": a bearer needs the value alone. */
  readonly confirmation: Confirmation;
  /** spec.maxUses; undefined: any number of requests. */
  readonly maxUses?: number | undefined;
  /** Requests that were counted for it, as far as memory knows. */
  readonly uses?: number;
  readonly disabled: boolean;
  /** The part that it adds to the usage of its owner. */
  readonly amount?: StoredAmount;
  /** Milliseconds since the epoch at which the key stops working; undefined: never. Moves with activity where the key says so. */
  readonly expiresAt: number | undefined;
  /** While it is being deleted: milliseconds since the epoch at which its grace period ends; 0 without one. */
  readonly deletedFrom?: number | undefined;
  /** UIDs of the parents: this key becomes invalid with them. They follow from the credential of the creating request. */
  readonly parentUids: readonly string[];
  /** By what a trust rule issued it; undefined: none did. */
  readonly grant?: KeyGrant | undefined;
  /** Seconds that it got instead of a TTL of its own; undefined: it works without an end where spec.ttl is absent. */
  readonly defaultTTL?: number | undefined;
  /** Seconds of its own TTL, whichever of both it is; 0 or absent: no end of its own. */
  readonly ttl?: number;
  /** Whether that starts again with each use. */
  readonly countsFromActivity?: boolean;
  /** Kept form of the values that rotations replaced. */
  readonly retired?: readonly unknown[];
  /** True for the key as it is found by such a value. */
  readonly isRetiredValue?: boolean;
  /** True for a retired value whose use locks nothing, since it is known to be in the wrong hands. */
  readonly isInert?: boolean;
  /** The key of the ring that the hash of the value is under; absent: the ring's first. */
  readonly ringKey?: string | undefined;
  /** The keyed hash of the value, if it may have to be computed again. */
  readonly kept?: KeptAccessKey;
  /** The revision of the record: changes whenever its permissions or its expiration change. */
  readonly revision: number;
};
