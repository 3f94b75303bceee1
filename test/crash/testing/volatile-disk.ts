// A disk at a power failure: synced data is on it; of the rest any part may be, whole or torn.

import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import type { SystemCall } from "./traced-process.ts";

type Change = { readonly offset: number; readonly bytes: Buffer } | { readonly length: number };

type Entry = {
  readonly isFolder: boolean;
  /** Content that is on the disk for certain. */
  content: Buffer;
  /** Changes that may be on the disk, in order. */
  changes: Change[];
};

/** In bytes: what a disk writes whole or not at all. */
const SECTOR = 512;

export class VolatileDisk {
  readonly #root: string;
  readonly #next: (bound: number) => number;
  /** By path; names that may be there, too. */
  readonly #entries = new Map<string, Entry>();
  readonly #uncertain = new Map<string, "created" | "removed">();

  /** `root` is an existing folder; `next` decides what is left of writes that were not awaited. */
  constructor(root: string, next: (bound: number) => number) {
    this.#root = root;
    this.#next = next;
  }

  apply(call: SystemCall): void {
    switch (call.type) {
      case "created":
        if (this.#entries.has(call.path) && this.#uncertain.get(call.path) !== "removed") return;
        this.#entries.set(call.path, { isFolder: call.isFolder, content: Buffer.alloc(0), changes: [] });
        this.#uncertain.set(call.path, "created");
        return;
      case "removed":
        this.#uncertain.set(call.path, "removed");
        return;
      case "written":
        this.#entryOf(call.path).changes.push({ offset: call.offset, bytes: call.bytes });
        return;
      case "truncated":
        this.#entryOf(call.path).changes.push({ length: call.length });
        return;
      case "synced":
        this.#sync(call.path, call.failed);
        return;
      case "said":
        return;
    }
  }

  /** Writes the files that a machine finds when it is switched on again, into a folder in place of the root. */
  async writeTo(folder: string): Promise<void> {
    for (const [path, entry] of this.#entries) {
      if (!this.#isFound(path)) continue;
      const place = join(folder, relative(this.#root, path));
      if (entry.isFolder) await mkdir(place, { recursive: true });
      else await writeFile(place, applied(entry.content, this.#survivors(entry.changes)));
    }
  }

  #entryOf(path: string): Entry {
    const entry = this.#entries.get(path);
    if (entry === undefined) throw new Error(`${path} was written, but not made`);
    return entry;
  }

  #sync(path: string, failed: boolean): void {
    const entry = this.#entries.get(path);
    if (entry?.isFolder === false) {
      // After a failed write the system may drop the data: no later sync writes it.
      const kept = failed ? this.#survivors(entry.changes) : entry.changes;
      entry.content = applied(entry.content, kept);
      entry.changes = [];
      return;
    }
    if (failed) return;
    for (const [name, fate] of this.#uncertain) {
      if (dirname(name) !== path) continue;
      this.#uncertain.delete(name);
      if (fate === "removed") this.#entries.delete(name);
    }
  }

  /** Names that were never synced are there or not, once and for all, since other names depend on them. */
  #isFound(path: string): boolean {
    for (let name = path; name !== this.#root; name = dirname(name)) {
      if (basename(name) === name) throw new Error(`${path} is not under ${this.#root}`);
      if (this.#uncertain.has(name) && this.#next(2) === 0) return false;
    }
    return true;
  }

  #survivors(changes: readonly Change[]): Change[] {
    const next = this.#next;
    switch (next(4)) {
      case 0:
        return [];
      case 1:
        return changes.slice(0, next(changes.length + 1));
      case 2:
        return changes.filter(() => next(2) === 0);
      default:
        return changes.flatMap((change) => this.#torn(change));
    }
  }

  #torn(change: Change): Change[] {
    if ("length" in change) return [change];
    const pieces: Change[] = [];
    const { offset, bytes } = change;
    for (let from = 0; from < bytes.length; ) {
      const to = Math.min(bytes.length, (Math.floor((offset + from) / SECTOR) + 1) * SECTOR - offset);
      if (this.#next(4) > 0) pieces.push({ offset: offset + from, bytes: bytes.subarray(from, to) });
      from = to;
    }
    return pieces;
  }
}

function applied(content: Buffer, changes: readonly Change[]): Buffer {
  let length = content.length;
  let size = length;
  for (const change of changes) {
    length = "length" in change ? change.length : Math.max(length, change.offset + change.bytes.length);
    size = Math.max(size, length);
  }
  const result = Buffer.alloc(size);
  content.copy(result);
  length = content.length;
  for (const change of changes) {
    if ("length" in change) {
      result.fill(0, change.length);
      length = change.length;
    } else {
      change.bytes.copy(result, change.offset);
      length = Math.max(length, change.offset + change.bytes.length);
    }
  }
  return result.subarray(0, length);
}
