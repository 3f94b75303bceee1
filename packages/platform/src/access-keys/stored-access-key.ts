// A stored access key taken apart, as far as the index wants it: a start reads every key there is, and most of one is of no use here.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader, type MemberSelection } from "@postern/apiserver/cache/read-members";
import { readSealedAccessKey, type SealedAccessKey } from "./sealed-access-key.ts";

/** What an AccessKeyRecord is made of. Nothing else of the object is there. */
export const RECORD_MEMBERS = {
  metadata: { uid: true, creationTimestamp: true, deletionTimestamp: true },
  spec: {
    user: true,
    team: true,
    subject: true,
    groups: true,
    type: true,
    disabled: true,
    ttl: true,
    ttlAfterLastActivity: true,
    scope: true,
    rules: true,
    allowPlatformCli: true,
  },
  status: { lastActivity: true, conditions: true },
} as const satisfies MemberSelection;

type Members<Name extends string> = { readonly [name in Name]?: JsonValue };

export type StoredAccessKey = {
  readonly revision: number;
  readonly name: string;
  readonly metadata: Members<keyof typeof RECORD_MEMBERS.metadata>;
  readonly spec: Members<keyof typeof RECORD_MEMBERS.spec>;
  readonly status: Members<keyof typeof RECORD_MEMBERS.status>;
  readonly sealed: SealedAccessKey;
};

/** For one index of the records under `prefix`: texts that key after key repeats are kept once. */
export function createStoredAccessKeyReader(prefix: string): (cached: CachedObject) => StoredAccessKey {
  const read = createMemberReader(RECORD_MEMBERS);
  // What is sealed is short: parsing all of it takes less than stepping through it.
  return (cached) => toStoredAccessKey(cached, prefix, cached.read(read));
}

/** `object` is what the key shows, as far as the record wants it. */
export function toStoredAccessKey(cached: CachedObject, prefix: string, object: JsonObject): StoredAccessKey {
  return {
    revision: cached.revision,
    name: cached.key.slice(prefix.length),
    metadata: objectOf(object["metadata"]),
    spec: objectOf(object["spec"]),
    status: objectOf(object["status"]),
    sealed: readSealedAccessKey(cached.decodeSealed()),
  };
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
