// A stored access key taken apart, as far as the index wants it: a start reads every key there is, and most of one is of no use here.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader, type MemberSelection } from "@postern/apiserver/cache/read-members";
import { readSealedAccessKey, type SealedAccessKey } from "./sealed-access-key.ts";

/** What an AccessKeyRecord is made of. Nothing else of the object is there. */
export const RECORD_MEMBERS = {
  metadata: { name: true, uid: true, creationTimestamp: true, deletionTimestamp: true },
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
  status: { lastActivity: true },
} as const satisfies MemberSelection;

/** As above, of what is sealed. */
export const SEALED_RECORD_MEMBERS = {
  key: { id: true, digest: true, ringKey: true, structured: true },
  retired: true,
  lockedAt: true,
  owner: { kind: true, name: true, uid: true },
  parents: true,
  defaultTTL: true,
} as const satisfies MemberSelection;

type Members<Name extends string> = { readonly [name in Name]?: JsonValue };

export type StoredAccessKey = {
  readonly revision: number;
  readonly metadata: Members<keyof typeof RECORD_MEMBERS.metadata>;
  readonly spec: Members<keyof typeof RECORD_MEMBERS.spec>;
  readonly status: Members<keyof typeof RECORD_MEMBERS.status>;
  readonly sealed: Pick<SealedAccessKey, keyof typeof SEALED_RECORD_MEMBERS>;
};

/** For one index: texts that key after key repeats are kept once. */
export function createStoredAccessKeyReader(): (cached: CachedObject) => StoredAccessKey {
  const record = createMemberReader(RECORD_MEMBERS);
  const sealed = createMemberReader(SEALED_RECORD_MEMBERS);
  return (cached) => toStoredAccessKey(cached.revision, cached.read(record), cached.readSealed(sealed));
}

export function toStoredAccessKey(revision: number, object: JsonObject, sealed: JsonObject): StoredAccessKey {
  return {
    revision,
    metadata: objectOf(object["metadata"]),
    spec: objectOf(object["spec"]),
    status: objectOf(object["status"]),
    sealed: readSealedAccessKey(sealed),
  };
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
