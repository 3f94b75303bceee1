// The directory of recordings: one file for each session, named by its time and audit ID, `.cast`, and `.part` behind it for as long as it is written.

import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { ensurePrivateDirectory, systemErrorCode } from "../../foundation/pki/private-file.ts";
import { RecordingError, RecordingWriter, readAbout, readRecording } from "./recording-file.ts";

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
  /** Gives the file the name of a complete recording. */
  complete(): Promise<void>;
  /** Deletes the file: there was no session. */
  discard(): Promise<void>;
};

/** There is no more room for recordings. */
export class RecordingsFullError extends Error {
  override readonly name = "RecordingsFullError";
}

const COMPLETE = ".cast";
const PARTIAL = ".cast.part";
const SUFFIX_BYTES = 4;
/** Such as `20261130T101500Z-<audit ID>-1f00a2b3`. */
const NAME = /^\d{8}T\d{6}Z-[\w.:-]{1,64}-[0-9a-f]{8}$/;
/** A directory of many files is not measured for each session. */
const MEASURED_MS = 10_000;

export type RecordingsDirectory = {
  /** Rejects with RecordingsFullError, and with what the file system says. */
  create(auditId: string, about: JsonObject): Promise<OpenRecording>;
  /** The newest first; those that cannot be read are left out. */
  list(): AsyncGenerator<StoredRecording>;
  /** Undefined where there is none of this name. */
  find(name: string): Promise<StoredRecording | undefined>;
  /** The asciicast. Rejects with RecordingError. */
  read(recording: Pick<StoredRecording, "name" | "isComplete">): AsyncGenerator<Uint8Array>;
  /** Deletes recordings that are older than the limit. */
  expire(): Promise<void>;
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
  let measured = { bytes: 0, at: Number.NEGATIVE_INFINITY };

  /** Of all files, some seconds ago. */
  const usedBytes = async (): Promise<number> => {
    if (clock.elapsed() - measured.at >= MEASURED_MS) {
      const sizes = await Promise.all((await filesIn(path)).map(({ file }) => sizeOf(join(path, file))));
      measured = { bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0), at: clock.elapsed() };
    }
    return measured.bytes;
  };

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
    async create(auditId, about) {
      if ((await usedBytes()) >= limits.totalBytes) throw new RecordingsFullError();
      // Clients choose audit IDs: a second session with the same one must not take the place of the first.
      const name = `${stampOf(clock.now())}-${auditId}-${Buffer.from(random.bytes(SUFFIX_BYTES)).toString("hex")}`;
      const partial = pathOf(name, false);
      const writer = await RecordingWriter.create(partial, key, about, random);
      return {
        name,
        writer,
        complete: () => rename(partial, pathOf(name, true)),
        async discard() {
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
    async expire() {
      if (limits.maxAgeMs === 0) return;
      const oldest = clock.now() - limits.maxAgeMs;
      // By the last write: a session may last longer than recordings are kept.
      for (const { file } of await filesIn(path)) {
        if ((await sizeOf(join(path, file))).writtenAt < oldest) await rm(join(path, file), { force: true });
      }
    },
  };
}

type FoundFile = { readonly name: string; readonly file: string; readonly isComplete: boolean };

async function filesIn(path: string): Promise<FoundFile[]> {
  return (await readdir(path)).flatMap((file) => {
    const isComplete = file.endsWith(COMPLETE);
    const name = file.slice(0, -(isComplete ? COMPLETE : PARTIAL).length);
    return (isComplete || file.endsWith(PARTIAL)) && NAME.test(name) ? [{ name, file, isComplete }] : [];
  });
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
const stampOf = (at: number): string => `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
