// The progress of the re-encryption, which the leader stores for all servers.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { Storage } from "@postern/apiserver/storage/storage";
import { putUnlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { PassProgress } from "./reencrypt-store.ts";

export type ReencryptionState = PassProgress & {
  /** The key that everything is brought under. */
  readonly primary: string;
  /** Milliseconds since the epoch, as the next one. */
  readonly startedAt: number;
  readonly finishedAt?: number;
  readonly total: number;
};

/** Outside the prefix of objects, so that it is not watched. */
const STATE_KEY = "/platform/reencryption";

export async function writeReencryptionState(storage: Storage, state: ReencryptionState): Promise<void> {
  const value = Buffer.from(JSON.stringify(state));
  const known = await storage.get(STATE_KEY);
  // A leader that came after this one writes it, too.
  await putUnlessConflict(storage, STATE_KEY, value, known);
}

/** Undefined until the first pass has begun. */
export async function readReencryptionState(storage: Storage): Promise<JsonObject | undefined> {
  const entry = await storage.get(STATE_KEY);
  const state: unknown = entry === undefined ? undefined : JSON.parse(Buffer.from(entry.value).toString());
  return isJsonObject(state) ? state : undefined;
}
