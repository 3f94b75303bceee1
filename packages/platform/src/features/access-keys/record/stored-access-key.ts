import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { objectOf } from "@postern/apimachinery/json/lenient-json";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader, type MemberSelection } from "@postern/apiserver/cache/read-members";
import type { StoredContent } from "@postern/apiserver/cache/watch-cache";
import { readSealedAccessKey, type SealedAccessKey } from "./sealed-access-key.ts";

/** Members that an AccessKeyRecord is made of. Nothing else of the object is there. */
const RECORD_MEMBERS = {
  metadata: { uid: true, creationTimestamp: true, deletionTimestamp: true, deletionGracePeriodSeconds: true },
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
    allowedSourceRanges: true,
    audiences: true,
    confirmation: true,
    maxUses: true,
  },
  status: { lastActivity: true, uses: true, conditions: true },
} as const satisfies MemberSelection;

type Members<Name extends string> = { readonly [name in Name]?: JsonValue };

export type StoredAccessKey = {
  readonly stored: CachedObject;
  readonly name: string;
  readonly metadata: Members<keyof typeof RECORD_MEMBERS.metadata>;
  readonly spec: Members<keyof typeof RECORD_MEMBERS.spec>;
  readonly status: Members<keyof typeof RECORD_MEMBERS.status>;
  readonly sealed: SealedAccessKey;
};

/** For one index of the records under `prefix`: texts that key after key repeats are kept once. `content` is that of the object, where it is known. */
export function createStoredAccessKeyReader(
  prefix: string,
): (cached: CachedObject, content?: StoredContent) => StoredAccessKey {
  const read = createMemberReader(RECORD_MEMBERS);
  return (cached, content) =>
    content === undefined
      ? // The sealed part is short: parsing all of it takes less than stepping through it.
        toStoredAccessKey(cached, prefix, cached.read(read), cached.decodeSealed())
      : toStoredAccessKey(cached, prefix, content.object, content.sealed);
}

/** `object` is the served part of the key, as far as the record needs it. */
export function toStoredAccessKey(
  cached: CachedObject,
  prefix: string,
  object: JsonObject,
  sealed = cached.decodeSealed(),
): StoredAccessKey {
  return {
    stored: cached,
    name: cached.key.slice(prefix.length),
    metadata: objectOf(object["metadata"]),
    spec: objectOf(object["spec"]),
    status: objectOf(object["status"]),
    sealed: readSealedAccessKey(sealed),
  };
}
