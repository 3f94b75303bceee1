// Makes the records of stored access keys, which share what they have alike.

import type { RestrictionNames } from "@postern/api/access-key-restrictions";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { StoredContent } from "@postern/apiserver/cache/watch-cache";
import type { ClockEpoch } from "@postern/apiserver/runtime/clock-epochs";
import type { KeyOrigin } from "../key-origins.ts";
import {
  AccessKeyRecord,
  COMMON_MEMBERS,
  type CommonMembers,
  type Expiry,
  type ShareMembers,
} from "./access-key-record.ts";
import type { RetiredValue } from "./sealed-access-key.ts";
import { createStoredAccessKeyReader } from "./stored-access-key.ts";

/** A key, and once more for each value that a rotation replaced. */
export type ReadAccessKey = { readonly record: AccessKeyRecord; readonly retired: readonly AccessKeyRecord[] };

/**
 * `known` is what there was under the name before; `learned` is when a key that was not known was learned; `content` is that of the object, where it is
 * known.
 */
export type AccessKeyReader = (
  object: CachedObject,
  learned: ClockEpoch,
  known?: ReadAccessKey,
  content?: StoredContent,
) => ReadAccessKey;

/** For the records under `prefix`. */
export function createAccessKeyReader(prefix: string, names: RestrictionNames, endOf: Expiry): AccessKeyReader {
  const readStored = createStoredAccessKeyReader(prefix);
  const shared = sharingOrigins();
  const share = sharingMembers();
  return (object, learned, known, content) => {
    const read = readStored(object, content);
    const stored = { ...read, sealed: { ...read.sealed, origins: shared(read.sealed.origins) } };
    const make = (previous: AccessKeyRecord | undefined, value?: RetiredValue): AccessKeyRecord =>
      new AccessKeyRecord(stored, names, endOf, previous?.epoch ?? learned, known?.record, value, share);
    const isSame = known !== undefined && stored.metadata.uid === known.record.uid;
    const record = make(isSame ? known.record : undefined);
    const previousOf = ({ id }: RetiredValue) => known?.retired.find((before) => before.id === id);
    const retired =
      record.retired.length > 0 ? record.retired.map((value) => make(previousOf(value), value)) : NO_VALUES;
    return { record, retired };
  };
}

/** Most keys go back to one of few others: their list is kept once. */
function sharingOrigins(): (origins: readonly KeyOrigin[]) => readonly KeyOrigin[] {
  const known = new Map<string, readonly KeyOrigin[]>();
  return (origins) => {
    const [first, ...others] = origins;
    if (first === undefined || others.length > 0) return origins;
    const key = `${first.uid}/${first.serial}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= MAX_SHARED) known.clear();
    known.set(key, origins);
    return origins;
  };
}

const MAX_SHARED = 1_000;

const NO_VALUES: readonly AccessKeyRecord[] = [];

/** Recent sets of members that a new record is compared with. */
const MAX_SHARED_MEMBERS = 32;

function sharingMembers(): ShareMembers {
  const recent: CommonMembers[] = [];
  return (members) => {
    const known = recent.find((each) => isSame(each, members));
    if (known !== undefined) return known;
    if (recent.length === MAX_SHARED_MEMBERS) recent.shift();
    recent.push(members);
    return members;
  };
}

function isSame(a: CommonMembers, b: CommonMembers): boolean {
  for (const name of COMMON_MEMBERS) {
    if (a[name] === b[name]) continue;
    if (!equalJson(a[name] ?? null, b[name] ?? null)) return false;
  }
  return a.ringKey === b.ringKey && a.structured === b.structured && a.nameAt === b.nameAt && a.expiry === b.expiry;
}
