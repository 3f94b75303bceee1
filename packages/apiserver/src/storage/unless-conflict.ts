// Writes that may come second: another writer has created the key, or changed it, since it was read.

import type { Revision, Storage } from "./storage.ts";
import { KeyExistsError, RevisionConflictError } from "./storage-errors.ts";

export const isConflict = (error: unknown): error is KeyExistsError | RevisionConflictError =>
  error instanceof KeyExistsError || error instanceof RevisionConflictError;

/** The revision of a write; undefined where another came first. */
export async function unlessConflict(write: Promise<Revision>): Promise<Revision | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/** Creates the key, or puts the value in the place of `before`. Undefined where another came first. */
export const putUnlessConflict = (
  storage: Pick<Storage, "create" | "update">,
  key: string,
  value: Uint8Array,
  before: { readonly revision: Revision } | undefined,
): Promise<Revision | undefined> =>
  unlessConflict(before === undefined ? storage.create(key, value) : storage.update(key, value, before.revision));
