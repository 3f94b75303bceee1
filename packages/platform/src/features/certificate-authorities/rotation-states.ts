// Rotations of CAs as all servers know them: a record for each CA that was ever rotated, without secrets, followed in memory.

import type { RotationAction } from "@postern/api/certificate-authority";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { Foundation } from "../../foundation/foundation.ts";
import type { AuthorityRecord } from "./authority-record.ts";

export type RotationState = {
  /** The generation of the newest CA. */
  readonly generation: number;
  readonly phase: "Prepared" | "Completed" | "Aborted";
  /** While it is prepared: since when, in milliseconds since the epoch. Absent in records of earlier releases. */
  readonly preparedAt?: number | undefined;
};

/** The id of the CA of the platform. */
export const PLATFORM = "platform";

export type RotationStates = Disposable & {
  /** By the uid of a cluster, or PLATFORM. Undefined: it was never rotated. */
  of(id: string): RotationState | undefined;
  /** Since when the oldest rotation of all is prepared that `isMeant` says, in milliseconds since the epoch. Undefined: none is. */
  preparedSince(isMeant: (id: string) => boolean): number | undefined;
  /** Calls back in the turn in which memory knows of the change. */
  onChange(listener: (id: string) => void): Disposable;
  /**
   * Resolves when memory shows it. Writes also what is known already: others may not have acted on it. A state that is older than the stored one, of a
   * server that was slower than the next step, writes the stored one.
   */
  publish(id: string, state: RotationState): Promise<void>;
  forget(id: string): Promise<void>;
};

export function openRotationStates({
  records,
  storage,
  cache,
  runtime: { scheduler },
}: Pick<Foundation, "records" | "storage" | "cache" | "runtime">): RotationStates {
  const { view, prefix } = records("authority-rotations");
  const known = new Map<string, RotationState>();
  /** The clusters with a prepared rotation, with its time: few. */
  const prepared = new Map<string, number>();
  const note = (id: string, state: RotationState | undefined): void => {
    if (state === undefined) known.delete(id);
    else known.set(id, state);
    if (state?.phase === "Prepared" && state.preparedAt !== undefined) prepared.set(id, state.preparedAt);
    else prepared.delete(id);
  };
  const listeners = new Set<(id: string) => void>();
  const idOf = ({ key }: CachedObject): string => key.slice(prefix.length);
  const tell = (id: string): void => {
    for (const listener of [...listeners]) listener(id);
  };
  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      const before = [...known.keys()];
      known.clear();
      prepared.clear();
      for (const object of objects) note(idOf(object), decodeState(object));
      for (const id of new Set([...before, ...known.keys()])) tell(id);
    },
    put(object) {
      note(idOf(object), decodeState(object));
      tell(idOf(object));
    },
    delete(object) {
      note(idOf(object), undefined);
      tell(idOf(object));
    },
  });
  return {
    of: (id) => known.get(id),
    preparedSince(isMeant) {
      let first: number | undefined;
      for (const [id, at] of prepared) if (isMeant(id) && at < (first ?? Infinity)) first = at;
      return first;
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async publish(id, state) {
      const key = `${prefix}${id}`;
      for (;;) {
        const entry = await storage.get(key);
        const next = entry === undefined ? state : laterOf(state, decodeState(CachedObject.fromEntry(entry)));
        const revision = await putUnlessConflict(storage, key, encodeState(id, next), entry);
        if (revision === undefined) continue;
        await cache.waitFor(revision);
        return;
      }
    },
    async forget(id) {
      const entry = await storage.get(`${prefix}${id}`);
      // If a rotation was faster, the next attempt of the deletion finds it.
      if (entry !== undefined) await unlessConflict(storage.delete(entry.key, entry.revision));
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

export const stateOfRotation = ({ generation, next }: AuthorityRecord, action: RotationAction): RotationState => ({
  generation,
  phase: next !== undefined ? "Prepared" : action === "Abort" ? "Aborted" : "Completed",
  ...(next === undefined ? {} : { preparedAt: next.preparedAt }),
});

/** Numbers grow with each preparation, and each preparation ends once. */
const laterOf = (mine: RotationState, stored: RotationState): RotationState =>
  stored.generation > mine.generation ||
  (stored.generation === mine.generation && stored.phase !== "Prepared" && mine.phase === "Prepared")
    ? stored
    : mine;

/**
 * The state that a record is in, where the server that took the last step may have ended before it published it. Undefined for a CA that was never
 * rotated.
 */
export function stateOfRecord(
  { generation, next, rotatedAt }: AuthorityRecord,
  known: RotationState | undefined,
): RotationState | undefined {
  if (next !== undefined) return { generation, phase: "Prepared", preparedAt: next.preparedAt };
  if (known === undefined) return generation === 1 ? undefined : { generation, phase: "Completed" };
  if (known.generation === generation && known.phase !== "Prepared") return known;
  const isComplete = rotatedAt !== undefined && rotatedAt >= (known.preparedAt ?? 0);
  return { generation, phase: isComplete ? "Completed" : "Aborted" };
}

const encodeState = (id: string, { generation, phase, preparedAt }: RotationState): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "AuthorityRotation",
    metadata: { name: id },
    rotation: { generation, phase, ...(preparedAt === undefined ? {} : { preparedAt }) },
  });

function decodeState(object: CachedObject): RotationState {
  const { rotation } = object.decode();
  const { generation, phase, preparedAt } = isJsonObject(rotation) ? rotation : {};
  return {
    generation: typeof generation === "number" ? generation : 1,
    phase: phase === "Prepared" || phase === "Aborted" ? phase : "Completed",
    ...(typeof preparedAt === "number" ? { preparedAt } : {}),
  };
}
