// Fills the database of a stopped server with access keys, far faster than requests could: copies of an existing one.

import { randomBytes, randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { newAccessKeyId } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { fillStore } from "./fill-store.ts";

export type LoadOptions = {
  /** Name of the key to copy. */
  readonly template: string;
  readonly count: number;
  /** This many of them expire `lifeSeconds` from now; their names begin with `ending-`, the others' with `many-`. */
  readonly ending?: number;
  readonly lifeSeconds?: number;
};

const PREFIX = "/registry/management/management.postern/ownedaccesskeys/";
const DIGEST_BYTES = 32;
/** Owners that are not in the directory: a directory with many users is another benchmark. */
const OWNERS = 1_000;

const random = { bytes: (count: number) => randomBytes(count) };

/** The values of the copies are unknown. */
export async function loadAccessKeys(
  path: string,
  { template, count, ending = 0, lifeSeconds = 0 }: LoadOptions,
): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  const entry = await storage.get(`${PREFIX}${template}`);
  if (entry === undefined) throw new Error(`there is no access key ${template}`);
  const source = CachedObject.fromEntry(entry);
  const object = source.decode();
  const sealed = source.decodeSealed();
  const kept = sealed?.["key"];
  if (sealed === undefined || !isJsonObject(kept)) throw new Error("the template has no value");
  const creationTimestamp = formatTimestamp(Date.now());
  const entryOf = (number: number): { readonly key: string; readonly value: Uint8Array } => {
    const ends = number < ending;
    const name = `${ends ? "ending" : "many"}-${String(number).padStart(8, "0")}`;
    const subject = `robot-${number % OWNERS}`;
    const spec: JsonObject = { description: "x".repeat(200), subject, ...(ends ? { ttl: lifeSeconds } : {}) };
    const key = { ...kept, id: newAccessKeyId(random), digest: randomBytes(DIGEST_BYTES).toString("base64url") };
    const metadata = { ...object.metadata, name, uid: randomUUID(), creationTimestamp };
    const owner = { kind: "subject", name: subject };
    return { key: PREFIX + name, value: encodeStoredValue({ ...object, metadata, spec }, { ...sealed, key, owner }) };
  };
  await fillStore(storage, count, entryOf);
}
