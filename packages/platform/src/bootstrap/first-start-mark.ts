// How a store tells whether any start has come to its end over it.

import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError } from "@postern/apiserver/storage/storage-errors";

/** Outside the prefix of objects: no API shows it. */
export const FIRST_START_KEY = "/platform/first-start";

/** True until a start has come to its end over this store. */
export const isFirstStart = async (storage: Storage): Promise<boolean> =>
  (await storage.get(FIRST_START_KEY)) === undefined;

/** Another server may have been faster. */
export async function markFirstStart(storage: Storage, clock: Clock): Promise<void> {
  try {
    await storage.create(FIRST_START_KEY, Buffer.from(new Date(clock.now()).toISOString()));
  } catch (error) {
    if (!(error instanceof KeyExistsError)) throw error;
  }
}
