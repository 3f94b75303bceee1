// The directory of recordings: one file for each session, named by its time and audit ID, `.cast`, and `.part` behind it for as long as it is written.

import { createHmac } from "node:crypto";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { ensurePrivateDirectory, systemErrorCode } from "../../foundation/pki/private-file.ts";
import { RecordingError, RecordingWriter, readAbout, readRecording } from "./recording-file.ts";
import { isWithinShare, type RecordingEntry, type RecordingOwner, RecordingsRoom, userKey } from "./recordings-room.ts";

export type RecordingLimits = {
  /** Of all recordings together, in bytes. */
  readonly totalBytes: number;
  /** After this time a recording is deleted, in milliseconds; 0 for never. */
  readonly maxAgeMs: number;
};

export type StoredRecording = {
  /** Without extension. */
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly writtenAt: number;
  /** Whether its session ended and the server wrote all of it. */
  readonly isComplete: boolean;
  readonly about: JsonObject;
};

export type OpenRecording = {
  readonly name: string;
  readonly writer: RecordingWriter;
  /** The session is over, and nothing more is written. */
  end(): void;
  /** Gives the file the name of a complete recording. */
  complete(): Promise<void>;
  /** Deletes the file: there was no session. */
  discard(): Promise<void>;
};

const COMPLETE = ".cast";
const PARTIAL = ".cast.part";
const SUFFIX_BYTES = 4;
/** Such as `20261130T101500123Z-<audit ID>-1f00a2b31f00a2b31f00a2b3`: digests of the project and the user, and a random number. */
const NAME = /^\d{8}T\d{9}Z-[\w.:-]{1,64}-([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{8}$/;
const DIGEST_LENGTH = 8;
const MIN_STEP_BYTES = 16 << 10;
const MAX_STEP_BYTES = 1 << 20;
/** Reservations of sessions that show little must leave room for others. */
const STEPS_OF_TOTAL = 1024;

/** Names, as short as they may be. `project`: or cluster. */
export type RecordingOwnerNames = { readonly project: string; readonly user: string };

export type RecordingsDirectory = {
  /** Rejects with RecordingsFullError, and with what the file system says. */
  create(auditId: string, about: JsonObject, owner: RecordingOwnerNames): Promise<OpenRecording>;
  /** Of all recordings, as measured last. */
  readonly usedBytes: number;
  /** The newest first; those that cannot be read are left out. */
  list(): AsyncGenerator<StoredRecording>;
  /** Undefined where there is none of this name. */
  find(name: string): Promise<StoredRecording | undefined>;
  /** The asciicast. Rejects with RecordingError. */
  read(recording: Pick<StoredRecording, "name" | "isComplete">): AsyncGenerator<Uint8Array>;
  /** Measures, and deletes recordings that are older than the limit. More often than once an hour: it shows that the open recordings are not left. */
  tend(): Promise<void>;
};

type DirectoryDeps = {
  readonly path: string;
  readonly key: Uint8Array;
  readonly limits: RecordingLimits;
  readonly clock: Clock;
  readonly random: Random;
};

/** Makes the directory. Rejects with ConfigurationError. */
export async function openRecordingsDirectory(deps: DirectoryDeps): Promise<RecordingsDirectory> {
  const { path, key, limits, clock, random } = deps;
  await ensurePrivateDirectory(path);
  const pathOf = (name: string, isComplete: boolean): string => join(path, name + (isComplete ? COMPLETE : PARTIAL));
  const stepBytes = Math.min(Math.max(limits.totalBytes / STEPS_OF_TOTAL, MIN_STEP_BYTES), MAX_STEP_BYTES);
  const room = new RecordingsRoom({ path, now: clock.now, entryOf });
  const open = new Set<RecordingWriter>();
  // By a key, so that no name can be chosen to have the digest of another.
  const digest = (name: string): string =>
    createHmac("sha256", key).update(`owner of recordings:${name}`).digest("hex").slice(0, DIGEST_LENGTH);
  const ownerOf = ({ project, user }: RecordingOwnerNames): RecordingOwner => ({
    project: digest(project),
    user: digest(user),
  });

  async function describe({ name, file, isComplete }: FoundFile): Promise<StoredRecording | undefined> {
    try {
      const about = await readAbout(join(path, file), key);
      if (about === undefined) return undefined;
      return { name, isComplete, about, ...(await sizeOf(join(path, file))) };
    } catch (error) {
      // Of another platform, or deleted meanwhile.
      if (error instanceof RecordingError || systemErrorCode(error) !== undefined) return undefined;
      throw error;
    }
  }

  return {
    get usedBytes() {
      return room.usedBytes;
    },
    async create(auditId, about, names) {
      const owner = ownerOf(names);
      // Clients choose audit IDs: a second session with the same one must not take the place of the first.
      const suffix = userKey(owner) + Buffer.from(random.bytes(SUFFIX_BYTES)).toString("hex");
      const name = `${stampOf(clock.now())}-${auditId}-${suffix}`;
      const partial = pathOf(name, false);
      const reservation = {
        stepBytes,
        isWithinShare: async () => isWithinShare(await room.measure(), owner, limits.totalBytes),
      };
      const writer = await RecordingWriter.create(partial, key, about, { random, reservation });
      open.add(writer);
      return {
        name,
        writer,
        end: () => void open.delete(writer),
        complete: () => rename(partial, pathOf(name, true)),
        async discard() {
          open.delete(writer);
          await writer.close();
          await rm(partial, { force: true });
        },
      };
    },
    async *list() {
      const found = (await filesIn(path)).sort((a, b) => (a.name < b.name ? 1 : -1));
      for (const file of found) {
        const recording = await describe(file);
        if (recording !== undefined) yield recording;
      }
    },
    async find(name) {
      if (!NAME.test(name)) return undefined;
      for (const isComplete of [true, false]) {
        const found = await describe({ name, isComplete, file: name + (isComplete ? COMPLETE : PARTIAL) });
        if (found !== undefined) return found;
      }
      return undefined;
    },
    read: ({ name, isComplete }) => readRecording(pathOf(name, isComplete), key),
    async tend() {
      // Otherwise one that shows nothing for long would be deleted, and the rest of its session with it.
      for (const writer of open) await writer.touch(clock.now()).catch(() => undefined);
      await room.measure();
      if (limits.maxAgeMs === 0) return;
      const oldest = clock.now() - limits.maxAgeMs;
      // By the last write: a session may last longer than recordings are kept.
      for (const [file, { writtenAt }] of room.files) {
        if (writtenAt < oldest) await rm(join(path, file), { force: true });
      }
    },
  };
}

type FoundFile = { readonly name: string; readonly file: string; readonly isComplete: boolean };

const nameOf = (file: string, isComplete: boolean): string => file.slice(0, -(isComplete ? COMPLETE : PARTIAL).length);

async function filesIn(path: string): Promise<FoundFile[]> {
  return (await readdir(path)).flatMap((file) => {
    const entry = entryOf(file);
    return entry === undefined ? [] : [{ name: nameOf(file, entry.isComplete), file, isComplete: entry.isComplete }];
  });
}

function entryOf(file: string): RecordingEntry | undefined {
  const isComplete = file.endsWith(COMPLETE);
  if (!isComplete && !file.endsWith(PARTIAL)) return undefined;
  const [, project, user] = NAME.exec(nameOf(file, isComplete)) ?? [];
  return project === undefined || user === undefined ? undefined : { owner: { project, user }, isComplete };
}

async function sizeOf(path: string): Promise<{ readonly bytes: number; readonly writtenAt: number }> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { bytes: size, writtenAt: mtimeMs };
  } catch {
    // Deleted, or renamed, since the directory was read.
    return { bytes: 0, writtenAt: 0 };
  }
}

/** In UTC, so that names are in the order of time. */
const stampOf = (at: number): string => new Date(at).toISOString().replaceAll(/[-:.]/g, "");
