// One pass over the sealed values of a store: re-encrypts those that are not under the primary key, a few at a time, and records its progress for all
// servers.

import type { Random } from "@postern/apiserver/runtime/clock";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import {
  compositionPrefix,
  createInternalValues,
  encodeInternalRecord,
  envelopeOf,
} from "../../foundation/encryption/internal-records.ts";
import type { KeyRing } from "../../foundation/encryption/key-ring.ts";
import { KEY_RING_KEY } from "../../foundation/encryption/key-ring-record.ts";
import { openEntry, sealEntry, sealedUnder } from "../../foundation/encryption/sealed-entry.ts";

export type PassProgress = {
  /** Values that were looked at. */
  readonly seen: number;
  readonly rewritten: number;
  /** Not encrypted with the primary key afterwards, because of concurrent writes. */
  readonly left: number;
  /** Cannot be opened by any key of the ring, and stay as they are. */
  readonly unreadable: number;
};

/** New form of a value; undefined where it is under the primary key already. */
type Reseal = (entry: StoredEntry) => Uint8Array | "unreadable" | undefined;

const STEP = 64;
const ROOT = "/registry/";

export async function reencryptStore(options: {
  /** As it is on disk. */
  readonly storage: Storage;
  readonly ring: KeyRing;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Between two steps: requests go first. */
  readonly pause: () => Promise<void>;
  readonly onStep: (progress: PassProgress) => void;
}): Promise<PassProgress> {
  const { storage, ring, random, signal, pause, onStep } = options;
  const internalValues = createInternalValues(ring, random);
  const progress = { seen: 0, rewritten: 0, left: 0, unreadable: 0 };

  const resealValue: Reseal = ({ key, value }) => {
    if (sealedUnder(value) === ring.keys[0].id) return undefined;
    const opened = openEntry(ring, key, value);
    return "fault" in opened ? "unreadable" : sealEntry(ring, key, opened.value, random);
  };
  const resealRecord: Reseal = (entry) => {
    const envelope = envelopeOf(entry);
    // Other records of the server have no envelope: there is nothing secret in them.
    if (envelope === undefined || internalValues.isUnderPrimary(envelope)) return undefined;
    const text = internalValues.open(envelope, entry.key);
    if (text === undefined) return "unreadable";
    return encodeInternalRecord(entry.key, internalValues.seal(text, entry.key));
  };

  const rewrite = async (entry: StoredEntry, reseal: Reseal): Promise<void> => {
    progress.seen++;
    const value = reseal(entry);
    if (value === undefined) return;
    if (value === "unreadable") {
      progress.unreadable++;
      return;
    }
    const written = await unlessConflict(storage.update(entry.key, value, entry.revision));
    if (written === undefined) progress.left++;
    else progress.rewritten++;
  };
  const pass = async (prefix: string, reseal: Reseal): Promise<void> => {
    for await (const entries of pagesOf(storage, prefix, signal)) {
      await Promise.all(entries.map((entry) => rewrite(entry, reseal)));
      onStep({ ...progress });
      await pause();
    }
  };
  for await (const composition of compositionsOf(storage, signal)) {
    await pass(`${compositionPrefix(composition)}core/secrets/`, resealValue);
    await pass(`${compositionPrefix(composition)}internal/`, resealRecord);
  }
  return { ...progress };
}

/** How many values a pass looks at. */
export async function countSealed(storage: Storage, signal: AbortSignal): Promise<number> {
  let total = 0;
  for await (const composition of compositionsOf(storage, signal)) {
    for (const below of ["core/secrets/", "internal/"]) {
      const { entries, remaining } = await storage.list(compositionPrefix(composition) + below, { limit: 1, signal });
      total += entries.length + remaining;
    }
  }
  return total;
}

/** Each from its current state: concurrent writes are under the primary key anyway. */
async function* pagesOf(storage: Storage, prefix: string, signal: AbortSignal): AsyncGenerator<readonly StoredEntry[]> {
  let startAfter: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    const after = startAfter === undefined ? {} : { startAfter };
    const { entries, remaining } = await storage.list(prefix, { limit: STEP, remaining: "any", signal, ...after });
    const last = entries.at(-1);
    if (last === undefined) return;
    yield entries.filter(({ key }) => key !== KEY_RING_KEY);
    if (remaining === 0) return;
    startAfter = last.key;
  }
}

/** The parts of the store, by a look at one key of each. */
async function* compositionsOf(storage: Storage, signal: AbortSignal): AsyncGenerator<string> {
  let startAfter = ROOT;
  for (;;) {
    const { entries } = await storage.list(ROOT, { limit: 1, startAfter, remaining: "any", signal });
    const [, , composition] = entries[0]?.key.split("/") ?? [];
    if (composition === undefined) return;
    yield composition;
    // Comes right after everything that begins with the composition and a slash.
    startAfter = `${ROOT}${composition}0`;
  }
}
