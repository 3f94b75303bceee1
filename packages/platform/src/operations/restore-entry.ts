// Decides about each entry of a backup: a key or a certificate that is not accepted any more does not come back.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { readSealedAccessKey, writeSealedAccessKey } from "../features/access-keys/record/sealed-access-key.ts";
import { decodeCertificate } from "../features/certificates/issued-certificate.ts";
import { FIRST_START_KEY } from "../foundation/store/first-start-mark.ts";
import type { RecordPrefixes } from "../foundation/store/record-prefixes.ts";
import type { BackupEntry } from "./entry-frames.ts";
import { type KnownKey, rightsDigest, type ValidKeys } from "./valid-keys.ts";

/** Which keys of the backup stay valid. */
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
};

type RestoreEntry = (entry: BackupEntry) => RestoredEntry;

export function createEntryRestorer(policy: KeyPolicy, { accessKeys, certificates }: RecordPrefixes): RestoreEntry {
  const list = policy.type === "in-force" ? policy.list : { keys: [], certificates: [] };
  const known = new Map(list.keys.map((key) => [key.uid, key]));
  const serials = new Set(list.certificates);

  const ofKey = (entry: BackupEntry): RestoredEntry => {
    if (policy.type === "keep") return { entry, key: "kept" };
    const object = decode(entry);
    const { metadata, ...rest } = object.decode();
    const spec = isJsonObject(rest["spec"]) ? rest["spec"] : {};
    const sealed = readSealedAccessKey(object.decodeSealed());
    const newer = known.get(metadata.uid ?? "");
    if (policy.type === "in-force" && (newer === undefined || newer.value !== sealed.key?.id)) {
      return { entry: undefined, key: "left out" };
    }
    const isKept = newer !== undefined && isAsItWas(newer, spec);
    const retired = sealed.retired.filter(({ id }) => newer?.retired.includes(id) === true);
    const value = encodeStoredValue(
      { ...object.decode(), spec: isKept ? spec : { ...spec, disabled: true } },
      writeSealedAccessKey({ ...sealed, retired }),
    );
    return { entry: { key: entry.key, value }, key: isKept ? "kept" : "disabled" };
  };

  const ofCertificate = (entry: BackupEntry): RestoredEntry => {
    const isKept = policy.type === "keep" || serials.has(decodeCertificate(decode(entry)).serial);
    return { entry: isKept ? entry : undefined };
  };

  return (entry) => {
    if (entry.key.startsWith(accessKeys)) return ofKey(entry);
    if (entry.key.startsWith(certificates)) return ofCertificate(entry);
    // Without it the next start is a first one, which is where an administrator gets a key.
    if (entry.key === FIRST_START_KEY && policy.type === "disable") return { entry: undefined };
    return { entry };
  };
}

/** A key that was narrowed since must not come back as wide as it was. */
const isAsItWas = ({ inForce, rights }: KnownKey, spec: JsonObject): boolean =>
  inForce && rights === rightsDigest(spec);

const decode = ({ key, value }: BackupEntry): CachedObject => CachedObject.fromEntry({ key, value, revision: 0 });
