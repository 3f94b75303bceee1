// Decides about each entry of a backup: credentials, and access for a time, that are not accepted any more do not come back, and neither do values that
// are for one use.

import { MANAGEMENT } from "@postern/api/platform-names";
import { objectOf } from "@postern/apimachinery/json/lenient-json";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { readSealedAccessKey, writeSealedAccessKey } from "../../features/access-keys/record/sealed-access-key.ts";
import { ACCESS_REQUESTS, readRequest } from "../../features/access-requests/request-record.ts";
import { decodeCertificate } from "../../features/certificates/issued-certificate.ts";
import { isUnused } from "../../features/cluster-tunnels/join-values.ts";
import { isUnread } from "../../features/wrapped-values/wrapped-record.ts";
import { FIRST_START_KEY } from "../../foundation/store/first-start-mark.ts";
import { recordPrefixOf } from "../../foundation/store/record-kinds.ts";
import type { RecordPrefixes } from "../../foundation/store/record-prefixes.ts";
import type { BackupEntry } from "../entry-frames.ts";
import { type KnownKey, type RightsSource, rightsDigest, type ValidKeys } from "../valid-keys.ts";

/** Which keys, certificates and approved access requests of the backup stay valid. */
export type KeyPolicy =
  /** Restored as they were: the backup is known to be newer than every revocation. */
  | { readonly type: "keep" }
  /** None, and the next start makes a new one for the administrator. */
  | { readonly type: "disable" }
  /** Only the keys of the list stay valid. */
  | { readonly type: "in-force"; readonly list: ValidKeys };

export type KeyOutcome = "kept" | "disabled" | "left out";

type RestoredEntry = {
  /** Undefined where it is left out. */
  readonly entry: BackupEntry | undefined;
  /** For the record of an access key, what was decided. */
  readonly key?: KeyOutcome;
  readonly leftOut?: keyof LeftOut;
};

/** How many access requests and one-time values of the backup are not restored. */
export type LeftOut = { readonly accessRequests: number; readonly oneTimeValues: number };

type RestoreEntry = (entry: BackupEntry) => RestoredEntry;

export function createEntryRestorer(policy: KeyPolicy, { accessKeys, certificates }: RecordPrefixes): RestoreEntry {
  const list = policy.type === "in-force" ? policy.list : { keys: [], certificates: [], grants: [] };
  const known = new Map(list.keys.map((key) => [key.uid, key]));
  const serials = new Set(list.certificates);
  const granted = new Set(list.grants);
  const requests = besides(accessKeys, ACCESS_REQUESTS);

  const ofKey = (entry: BackupEntry): RestoredEntry => {
    const object = decode(entry);
    const record = object.decode();
    const spec = objectOf(record["spec"]);
    const sealed = readSealedAccessKey(object.decodeSealed());
    const newer = known.get(record.metadata.uid ?? "");
    if (policy.type === "in-force" && (newer === undefined || newer.value !== sealed.key?.id)) {
      return { entry: undefined, key: "left out" };
    }
    const isKept = newer !== undefined && isAsItWas(newer, record);
    const retired = sealed.retired.filter(({ id }) => newer?.retired.includes(id) === true);
    const value = encodeStoredValue(
      { ...record, spec: isKept ? spec : { ...spec, disabled: true } },
      writeSealedAccessKey({ ...sealed, retired }),
    );
    return { entry: { key: entry.key, value }, key: isKept ? "kept" : "disabled" };
  };

  const ofCertificate = (entry: BackupEntry): RestoredEntry => {
    const isKept = serials.has(decodeCertificate(decode(entry)).serial);
    return { entry: isKept ? entry : undefined };
  };

  const ofRequest = (entry: BackupEntry): RestoredEntry => {
    const { phase, uid } = readRequest(decode(entry));
    return phase !== "Approved" || granted.has(uid) ? { entry } : { entry: undefined, leftOut: "accessRequests" };
  };

  /** Nothing tells whether it was used since. */
  const ofOneTimeValue = (entry: BackupEntry, isGood: (record: CachedObject) => boolean): RestoredEntry =>
    isGood(decode(entry)) ? { entry: undefined, leftOut: "oneTimeValues" } : { entry };

  return (entry) => {
    const isKey = entry.key.startsWith(accessKeys);
    if (policy.type === "keep") return { entry, ...(isKey ? { key: "kept" } : {}) };
    if (isKey) return ofKey(entry);
    if (entry.key.startsWith(certificates)) return ofCertificate(entry);
    if (entry.key.startsWith(requests)) return ofRequest(entry);
    if (entry.key.startsWith(WRAPPED_VALUES)) return ofOneTimeValue(entry, isUnread);
    if (entry.key.startsWith(JOIN_VALUES)) return ofOneTimeValue(entry, isUnused);
    // Without it the next start is a first one, which is where an administrator gets a key.
    if (entry.key === FIRST_START_KEY && policy.type === "disable") return { entry: undefined };
    return { entry };
  };
}

const WRAPPED_VALUES = recordPrefixOf(MANAGEMENT, "wrapped-values");
const JOIN_VALUES = recordPrefixOf(MANAGEMENT, "cluster-joins");

/** The prefix of another resource of the same API group. */
const besides = (prefix: string, resource: string): string =>
  `${prefix.slice(0, prefix.lastIndexOf("/", prefix.length - 2))}/${resource}/`;

/** A key that was narrowed, or given an end, since must not come back as wide as it was. */
const isAsItWas = ({ inForce, rights }: KnownKey, record: RightsSource): boolean =>
  inForce && rights === rightsDigest(record);

const decode = ({ key, value }: BackupEntry): CachedObject => CachedObject.fromEntry({ key, value, revision: 0 });
