// The directory of recordings: one file for each session, named by its time and audit ID, `.cast`, and `.part` behind it for as long as it is written.

import { createHmac } from "node:crypto";
import { opendir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SessionRecordingItem } from "@postern/api/session-recording";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { ensurePrivateDirectory, systemErrorCode } from "../../foundation/pki/private-file.ts";
import { eventLine } from "./asciicast.ts";
import {
  type RecordingDescription,
  RecordingError,
  RecordingWriter,
  readDescription,
  readRecording,
} from "./recording-file.ts";
import { isWithinShare, type RecordingEntry, type RecordingOwner, RecordingsRoom, userKey } from "./recordings-room.ts";

export type RecordingLimits = {
  /** Of all recordings together, in bytes. */
  readonly totalBytes: number;
  /** After this time a recording is deleted, in milliseconds; 0 for never. */
  readonly maxAgeMs: number;
};

export type StoredRecording = RecordingDescription &
  Pick<SessionRecordingItem, "state"> & {
    /** Without extension. */
    readonly name: string;
  };

/** A file that is a recording by its name. */
export type RecordingFile = { readonly name: string; readonly file: string; readonly isComplete: boolean };

/** Selects recordings for a list, by their names alone. */
export type RecordingRange = {
  /** Those older than the one of this name. */
  readonly before?: string | undefined;
  /** Those that began since then, and before then, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** The project, as in RecordingOwnerNames. */
  readonly project?: string | undefined;
};

export type NewRecording = {
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly about: JsonObject;
  readonly owner: RecordingOwnerNames;
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
const LISTED_AT_ONCE = 512;
/** Open recordings are touched every minute. */
const INTERRUPTED_AFTER_MS = 300_000;
const INTERRUPTED = "recording broke off: the server, or its thread, was ended";
const MIN_STEP_BYTES = 16 << 10;
const MAX_STEP_BYTES = 1 << 20;
/** Reservations of sessions that show little must leave room for others. */
const STEPS_OF_TOTAL = 1024;

/** Names, as short as they may be. `project`: or cluster. */
export type RecordingOwnerNames = { readonly project: string; readonly user: string };

export type RecordingsDirectory = {
  /** Rejects with RecordingsFullError, and with what the file system says. */
  create(recording: NewRecording): Promise<OpenRecording>;
  /** Of all recordings, as measured last. */
  readonly usedBytes: number;
  /** The newest `count` files of the range, the newest first. No file is opened. */
  newest(range: RecordingRange, count: number): Promise<readonly RecordingFile[]>;
  /** Undefined for a file that cannot be read. */
  describe(file: RecordingFile): Promise<StoredRecording | undefined>;
  /** Undefined where there is none of this name. */
  find(name: string): Promise<StoredRecording | undefined>;
  /** The asciicast, with a marker at the end of one that was interrupted. Rejects with RecordingError. */
  read(recording: StoredRecording): AsyncGenerator<Uint8Array>;
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

  async function describe({ name, file, isComplete }: RecordingFile): Promise<StoredRecording | undefined> {
    try {
      const description = await readDescription(join(path, file), key);
      if (description === undefined) return undefined;
      const isLeft = description.writtenAt < clock.now() - INTERRUPTED_AFTER_MS;
      const state = isComplete ? "Complete" : isLeft ? "Interrupted" : "Open";
      return { ...description, name, state };
    } catch (error) {
      const code = systemErrorCode(error);
      // Its session has ended meanwhile.
      if (code === "ENOENT" && !isComplete) return await describe({ name, file: name + COMPLETE, isComplete: true });
      // Of another platform, or deleted meanwhile.
      if (error instanceof RecordingError || code !== undefined) return undefined;
      throw error;
    }
  }

  return {
    get usedBytes() {
      return room.usedBytes;
    },
    async create({ auditId, startedAt, about, owner: names }) {
      const owner = ownerOf(names);
      // Clients choose audit IDs: a second session with the same one must not take the place of the first.
      const suffix = userKey(owner) + Buffer.from(random.bytes(SUFFIX_BYTES)).toString("hex");
      const name = `${stampOf(startedAt)}-${auditId}-${suffix}`;
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
    async newest({ before, since = 0, until = LAST_TIME, project }, count) {
      const wanted = project === undefined ? undefined : digest(project);
      const from = stampOf(since);
      const to = stampOf(until);
      let found: RecordingFile[] = [];
      for await (const { name: file } of await opendir(path, { bufferSize: LISTED_AT_ONCE })) {
        const entry = entryOf(file);
        if (entry === undefined || (wanted !== undefined && entry.owner.project !== wanted)) continue;
        const { isComplete } = entry;
        const name = nameOf(file, isComplete);
        if (before !== undefined && name >= before) continue;
        // A name begins with its time.
        if (name < from || name >= to) continue;
        found.push({ name, file, isComplete });
        if (found.length >= 2 * count) found = newestOf(found, count);
      }
      return newestOf(found, count);
    },
    describe,
    async find(name) {
      if (!isRecordingName(name)) return undefined;
      return await describe({ name, file: name + PARTIAL, isComplete: false });
    },
    read({ name, state, about, writtenAt }) {
      const ending =
        state === "Interrupted"
          ? eventLine(
              Math.max(0, Math.round(writtenAt - Date.parse(String(about["startTime"])))) || 0,
              "m",
              INTERRUPTED,
            )
          : "";
      return readRecording(pathOf(name, state === "Complete"), key, ending);
    },
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

export const isRecordingName = (name: string): boolean => NAME.test(name);

const nameOf = (file: string, isComplete: boolean): string => file.slice(0, -(isComplete ? COMPLETE : PARTIAL).length);

function newestOf(files: readonly RecordingFile[], count: number): RecordingFile[] {
  const sorted = files.toSorted((a, b) => (a.name < b.name ? 1 : -1));
  // One whose name changed meanwhile may be read with both.
  return sorted.filter(({ name }, at) => name !== sorted[at - 1]?.name).slice(0, count);
}

function entryOf(file: string): RecordingEntry | undefined {
  const isComplete = file.endsWith(COMPLETE);
  if (!isComplete && !file.endsWith(PARTIAL)) return undefined;
  const [, project, user] = NAME.exec(nameOf(file, isComplete)) ?? [];
  return project === undefined || user === undefined ? undefined : { owner: { project, user }, isComplete };
}

/** The last of a year of four digits. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** In UTC, so that names are in the order of time. */
const stampOf = (at: number): string =>
  new Date(Math.min(Math.max(at, 0), LAST_TIME)).toISOString().replaceAll(/[-:.]/g, "");
