// Writes and their results as columns, for sending between threads: as separate objects, sending would take several times as long.
// Their values are concatenated in the buffer of the message.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BytePacker, unpack } from "./byte-packer.ts";
import type { Write, WriteResult } from "./revision-table.ts";
import type { PackedOutcomes, PackedWrites } from "./worker-protocol.ts";

/** `before`: the entry that was replaced, or that caused the refusal. */
export type WriteOutcome =
  | { readonly type: "written"; readonly revision: Revision; readonly before: StoredValue | undefined }
  | { readonly type: "refused"; readonly before: StoredValue | undefined }
  | { readonly type: "full" };

/** An entry without its key, which the receiver knows. */
type StoredValue = { readonly value: Uint8Array; readonly revision: Revision };

// Special values of revisions and lengths, which are never negative.
const [CREATES, DELETES] = [-1, -1];
const [REFUSED, FULL] = [0, -1];

export class WritePacker {
  #keys: string[] = [];
  #expected: number[] = [];
  #lengths: number[] = [];
  readonly #bytes = new BytePacker();

  get count(): number {
    return this.#keys.length;
  }

  /** Where it throws, nothing was added. */
  add({ key, expected, value }: Write): void {
    if (value !== undefined) this.#bytes.add(value);
    this.#keys.push(key);
    this.#expected.push(expected ?? CREATES);
    this.#lengths.push(value?.byteLength ?? DELETES);
  }

  /** All writes added so far; empties the packer. */
  take(): { readonly writes: PackedWrites; readonly bytes: ArrayBuffer } {
    const writes = { keys: this.#keys, expected: this.#expected, lengths: this.#lengths };
    this.#keys = [];
    this.#expected = [];
    this.#lengths = [];
    return { writes, bytes: this.#bytes.take() };
  }
}

export function* unpackWrites({ keys, expected, lengths }: PackedWrites, bytes: ArrayBuffer): Generator<Write> {
  let start = 0;
  for (let index = 0; index < keys.length; index++) {
    // The columns have the same length.
    const [key = "", wanted = CREATES, length = DELETES] = [keys[index], expected[index], lengths[index]];
    const value = length === DELETES ? undefined : unpack(bytes, { start, length });
    yield { key, expected: wanted === CREATES ? undefined : wanted, value };
    start += value?.byteLength ?? 0;
  }
}

export function packOutcomes(results: readonly WriteResult[]) {
  const packer = new BytePacker();
  const revisions: number[] = [];
  const revisionsBefore: Revision[] = [];
  const lengthsBefore: number[] = [];
  for (const result of results) {
    const before = result.type === "full" ? undefined : result.before;
    revisions.push(result.type === "written" ? result.revision : result.type === "full" ? FULL : REFUSED);
    revisionsBefore.push(before?.revision ?? 0);
    lengthsBefore.push(before?.value.byteLength ?? 0);
    if (before !== undefined) packer.add(before.value);
  }
  return { outcomes: { revisions, revisionsBefore, lengthsBefore }, bytes: packer.take() };
}

export function unpackOutcomes(
  { revisions, revisionsBefore, lengthsBefore }: PackedOutcomes,
  bytes: ArrayBuffer,
): readonly WriteOutcome[] {
  let start = 0;
  return revisions.map((revision, index): WriteOutcome => {
    const length = lengthsBefore[index] ?? 0;
    const revisionBefore = revisionsBefore[index] ?? 0;
    const before =
      revisionBefore === 0 ? undefined : { value: unpack(bytes, { start, length }), revision: revisionBefore };
    start += length;
    if (revision === FULL) return { type: "full" };
    return revision === REFUSED ? { type: "refused", before } : { type: "written", revision, before };
  });
}
