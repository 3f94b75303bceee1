// A mark that the first start of a store is complete.

import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";

/** Outside the prefix of objects: no API shows it. */
export const FIRST_START_KEY = "/platform/first-start";

/** True until a start has completed over this store. */
export const isFirstStart = async (storage: Storage): Promise<boolean> =>
  (await storage.get(FIRST_START_KEY)) === undefined;

export type FirstStartMark = { readonly defaultKeyTTLSeconds: number };

/** Undefined until a start has completed. Marks of earlier releases contain only a time. */
export async function readFirstStartMark(storage: Storage): Promise<FirstStartMark | undefined> {
  const entry = await storage.get(FIRST_START_KEY);
  if (entry === undefined) return undefined;
  const seconds = / default-key-ttl=(\d{1,10})$/.exec(Buffer.from(entry.value).toString())?.[1];
  return { defaultKeyTTLSeconds: Number(seconds ?? 0) };
}

/** Another server may have been faster. */
export async function markFirstStart(
  storage: Storage,
  clock: Clock,
  { defaultKeyTTLSeconds }: FirstStartMark,
): Promise<void> {
  const text = `${new Date(clock.now()).toISOString()} default-key-ttl=${defaultKeyTTLSeconds}`;
  await unlessConflict(storage.create(FIRST_START_KEY, Buffer.from(text)));
}
