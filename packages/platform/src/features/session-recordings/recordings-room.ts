// The room for recordings: bounds the size of all, and shares it among projects, and among the users of each.

import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";

/** An owner of recordings, who has a share of the room: digests, each of 8 hexadecimal digits. */
export type RecordingOwner = { readonly project: string; readonly user: string };

export type RecordingUsage = {
  /** In bytes, with what open recordings have reserved. */
  readonly all: number;
  readonly projects: ReadonlyMap<string, number>;
  /** By project and user. */
  readonly users: ReadonlyMap<string, number>;
};

/** A file of a recording, by its name. */
export type RecordingEntry = { readonly owner: RecordingOwner; readonly isComplete: boolean };

type FileSize = { readonly bytes: number; readonly writtenAt: number };

/** Each project may take this many times what it leaves free, and each user of it the same of the part of the project. Others then always find room. */
const TIMES_FREE = 4;
/** A file takes blocks of the disk, an inode, and time in each measurement. */
const MIN_FILE_BYTES = 16 << 10;
const BLOCK_BYTES = 512;
/** A file that was renamed meanwhile may be missed. */
const MAX_LISTINGS = 3;
const LISTED_AT_ONCE = 512;
/** An open recording is touched more often: one that is older was left by a server that was killed, and no longer grows into its reservation. */
const LEFT_AFTER_MS = 3_600_000;

/** The amount that one side may still take where `free` is left for all and it has `used`. */
const roomBeside = (free: number, used: number): number => (TIMES_FREE * free - used) / (TIMES_FREE + 1);

export const userKey = ({ project, user }: RecordingOwner): string => project + user;

/** Whether the owner may have what `usage` says that it has. */
export function isWithinShare(usage: RecordingUsage, owner: RecordingOwner, totalBytes: number): boolean {
  const ofProject = roomBeside(totalBytes - usage.all, usage.projects.get(owner.project) ?? 0);
  return ofProject >= 0 && roomBeside(ofProject, usage.users.get(userKey(owner)) ?? 0) >= 0;
}

export type RecordingsRoomOptions = {
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Undefined for files that are no recordings. */
  readonly entryOf: (file: string) => RecordingEntry | undefined;
};

export class RecordingsRoom {
  readonly #options: RecordingsRoomOptions;
  /** Of complete recordings, which no longer change, and of open ones as they were. */
  #files: ReadonlyMap<string, FileSize> = new Map();
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<RecordingUsage> | undefined;
  #all = 0;

  constructor(options: RecordingsRoomOptions) {
    this.#options = options;
  }

  /** As measured last. */
  get usedBytes(): number {
    return this.#all;
  }

  /** The files, as measured last. */
  get files(): ReadonlyMap<string, FileSize> {
    return this.#files;
  }

  /** Measured after the call: what was reserved before is in it, by whichever thread or server. */
  measure(): Promise<RecordingUsage> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const measured = this.#list();
      this.#running = measured.catch(() => undefined);
      return measured;
    });
    return this.#next;
  }

  async #list(): Promise<RecordingUsage> {
    const { path } = this.#options;
    const changedAt = async () => (await stat(path, { bigint: true })).mtimeNs;
    let largest: RecordingUsage | undefined;
    for (let listing = 0; listing < MAX_LISTINGS; listing++) {
      const before = await changedAt();
      const usage = await this.#listOnce();
      if (largest === undefined || usage.all > largest.all) largest = usage;
      if ((await changedAt()) === before) break;
    }
    const usage = largest ?? { all: 0, projects: new Map(), users: new Map() };
    this.#all = usage.all;
    return usage;
  }

  async #listOnce(): Promise<RecordingUsage> {
    const { path, entryOf } = this.#options;
    const files = new Map<string, FileSize>();
    const usage = { all: 0, projects: new Map<string, number>(), users: new Map<string, number>() };
    for await (const { name: file } of await opendir(path, { bufferSize: LISTED_AT_ONCE })) {
      const entry = entryOf(file);
      if (entry === undefined) continue;
      const size = (entry.isComplete ? this.#files.get(file) : undefined) ?? (await this.#sizeOf(file));
      if (size === undefined) continue;
      files.set(file, size);
      const bytes = Math.max(size.bytes, MIN_FILE_BYTES);
      usage.all += bytes;
      addTo(usage.projects, entry.owner.project, bytes);
      addTo(usage.users, userKey(entry.owner), bytes);
    }
    this.#files = files;
    return usage;
  }

  async #sizeOf(file: string): Promise<FileSize | undefined> {
    try {
      const { size, blocks, mtimeMs } = await stat(join(this.#options.path, file));
      const isLeft = mtimeMs < this.#options.now() - LEFT_AFTER_MS;
      return { bytes: isLeft ? Math.min(size, blocks * BLOCK_BYTES) : size, writtenAt: mtimeMs };
    } catch (error) {
      // Deleted, or renamed, since the directory was read.
      if (systemErrorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }
}

const addTo = (sums: Map<string, number>, key: string, bytes: number): void =>
  void sums.set(key, (sums.get(key) ?? 0) + bytes);
