// Keeps what the server writes about a key from standing in the way of clients that edit it.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { digestWithoutActivity } from "../../access-keys/last-activity.ts";
import { readSealedAccessKey } from "../../access-keys/sealed-access-key.ts";

/**
 * For the `settledVersion` of a resource: a client that read a key before the server wrote about it, and nothing else since, may update and
 * delete it as if it had read the newest version.
 */
export function versionBesideServer(given: string, current: CachedObject): string {
  const { unchanged } = readSealedAccessKey(current.decodeSealed());
  if (unchanged === undefined || Number(given) < unchanged.since || Number(given) > current.revision) return given;
  return unchanged.digest === digestWithoutActivity(current.decode()) ? String(current.revision) : given;
}
