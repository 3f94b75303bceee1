// Packs rows of the table in the form that is sent to the main thread.

import type { BytePacker } from "./byte-packer.ts";
import type { HistoryRow, Row } from "./revision-table.ts";
import type { PackedEvent, PackedValue } from "./worker-protocol.ts";

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
