// Rows of the table in the form in which they go to the main thread.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BytePacker } from "./byte-packer.ts";
import type { HistoryRow, Row } from "./revision-table.ts";
import type { PackedEntries, PackedEvent, PackedValue } from "./worker-protocol.ts";

export function packRow({ revision, value }: Row, packer: BytePacker): PackedValue {
  return { ...packer.add(value), revision };
}

export function packEvent({ key, revision, value, previous }: HistoryRow, packer: BytePacker): PackedEvent {
  return {
    key,
    revision,
    ...(value && { value: packer.add(value) }),
    ...(previous && { previous: packRow(previous, packer) }),
  };
}

/** Gathers rows as columns. */
export class EntriesPacker {
  readonly keys: string[] = [];
  readonly #revisions: Revision[] = [];
  readonly #lengths: number[] = [];
  readonly #bytes = new BytePacker();

  get byteLength(): number {
    return this.#bytes.length;
  }

  add({ key, revision, value }: Row): void {
    this.keys.push(key);
    this.#revisions.push(revision);
    this.#lengths.push(this.#bytes.add(value).length);
  }

  take(): { readonly entries: PackedEntries; readonly bytes: ArrayBuffer } {
    return {
      entries: { keys: this.keys, revisions: this.#revisions, lengths: this.#lengths },
      bytes: this.#bytes.take(),
    };
  }
}
