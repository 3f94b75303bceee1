// A recording as a file: a line with the version and a salt, then sealed chunks, each behind its length. The first chunk is what the recording is of, the
// others are the recording. A file that breaks off, or ends in zeros, is read as far as its last whole chunk.

import { createHash, type Hash, hkdfSync } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { Random } from "@postern/apiserver/runtime/clock";
import { type ChunkSealer, createChunkOpener, createChunkSealer } from "../../foundation/encryption/sealed-chunks.ts";

const MAGIC = "postern-recording:v1:";
const SALT_BYTES = 24;
const KEY_BYTES = 32;
const LENGTH_BYTES = 4;
/** Of one chunk: a file that was changed must not make us take any amount of memory. */
const MAX_CHUNK_BYTES = 16 << 20;
const HEAD_BYTES = MAGIC.length + (SALT_BYTES * 4) / 3 + 1;
const OWNER_ONLY = 0o600;

/** The file was changed, or is under another key. The message names no path. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

/** There is no more room for recordings, or none for those of this owner. */
export class RecordingsFullError extends Error {
  override readonly name = "RecordingsFullError";
}

export type RecordingReservation = {
  /** Reservations grow by this many bytes. */
  readonly stepBytes: number;
  /** Whether the file may have the size that it has now. */
  readonly isWithinShare: () => Promise<boolean>;
};

/** Room for the marks at the end of a recording. */
const END_BYTES = 8 << 10;

/**
 * Writes must wait for one another. Rejects with what the file system says.
 *
 * An open file is as long as what is reserved for it, with a hole behind what was written: every thread and server that measures the directory sees the
 * reservation, and none is left when they have ended.
 */
export class RecordingWriter {
  readonly #handle: FileHandle;
  readonly #sealer: ChunkSealer;
  readonly #reservation: RecordingReservation;
  readonly #hash: Hash = createHash("sha256");
  #size = 0;
  #reserved = 0;
  #reserving: Promise<void> | undefined;

  private constructor(handle: FileHandle, sealer: ChunkSealer, reservation: RecordingReservation) {
    this.#handle = handle;
    this.#sealer = sealer;
    this.#reservation = reservation;
  }

  /** Makes the file, which must not be there. Rejects with RecordingsFullError, and leaves no file then. */
  static async create(
    path: string,
    key: Uint8Array,
    about: JsonObject,
    { random, reservation }: { readonly random: Random; readonly reservation: RecordingReservation },
  ): Promise<RecordingWriter> {
    const head = Buffer.from(`${MAGIC}${Buffer.from(random.bytes(SALT_BYTES)).toString("base64url")}\n`, "latin1");
    const handle = await open(path, "wx", OWNER_ONLY);
    try {
      const writer = new RecordingWriter(handle, createChunkSealer(fileKey(key, head), head), reservation);
      const text = JSON.stringify(about);
      await writer.reserve(Buffer.byteLength(text));
      await writer.#append(head);
      await writer.write(text);
      return writer;
    } catch (error) {
      await handle.close().catch(() => undefined);
      await rm(path, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Of the file, in bytes. */
  get size(): number {
    return this.#size;
  }

  /**
   * Before `bytes` more are written: undefined where there is room for them, otherwise resolves when there is. Rejects with RecordingsFullError; what was
   * reserved before still is.
   */
  reserve(bytes: number): Promise<void> | undefined {
    const needed = this.#size + bytes + END_BYTES;
    if (this.#reserving === undefined && needed <= this.#reserved) return undefined;
    const reserving = (this.#reserving ?? Promise.resolve()).then(() => this.#reserve(needed));
    const settled = reserving
      .catch(() => undefined)
      .then(() => {
        if (this.#reserving === settled) this.#reserving = undefined;
      });
    this.#reserving = settled;
    return reserving;
  }

  async #reserve(needed: number): Promise<void> {
    const { stepBytes, isWithinShare } = this.#reservation;
    if (needed <= this.#reserved) return;
    const before = this.#reserved;
    this.#reserved = Math.ceil(needed / stepBytes) * stepBytes;
    await this.#handle.truncate(this.#reserved);
    if (await isWithinShare()) return;
    this.#reserved = before;
    await this.#handle.truncate(before);
    throw new RecordingsFullError();
  }

  /** The session goes on, although it may show nothing. `at` in milliseconds since the epoch. */
  async touch(at: number): Promise<void> {
    await this.#handle.utimes(at / 1000, at / 1000);
  }

  write(text: string): Promise<void> {
    return this.#writeChunk(text, false);
  }

  /** Marks the recording as whole, and resolves with the SHA-256 of the file in lower-case hexadecimal digits. */
  async finish(): Promise<string> {
    await this.#writeChunk("", true);
    await this.#release();
    await this.#handle.sync();
    await this.close();
    return this.#hash.digest("hex");
  }

  /** The SHA-256 of what was written whole, where no more is. */
  async abandon(): Promise<string> {
    await this.#release().catch(() => undefined);
    await this.close();
    return this.#hash.digest("hex");
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #release(): Promise<void> {
    await this.#reserving;
    await this.#handle.truncate(this.#size);
  }

  async #writeChunk(text: string, isLast: boolean): Promise<void> {
    const sealed = this.#sealer.seal(Buffer.from(text, "utf8"), isLast);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(sealed.length);
    await this.#append(Buffer.concat([length, sealed]));
  }

  async #append(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at, bytes.length - at);
      this.#hash.update(bytes.subarray(at, at + bytesWritten));
      this.#size += bytesWritten;
      at += bytesWritten;
    }
  }
}

const fileKey = (key: Uint8Array, head: Uint8Array): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", key, head, "postern session recording", KEY_BYTES));

export type RecordingDescription = {
  readonly about: JsonObject;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly writtenAt: number;
};

/** Undefined for a file that breaks off before its description. Rejects with RecordingError, and with what the file system says. */
export async function readDescription(path: string, key: Uint8Array): Promise<RecordingDescription | undefined> {
  await using handle = await open(path, "r");
  for await (const bytes of chunksOf(handle, key, DESCRIPTION_READ_BYTES)) {
    const { size, mtimeMs } = await handle.stat();
    return { about: parsedAbout(bytes), bytes: size, writtenAt: mtimeMs };
  }
  return undefined;
}

/** The asciicast in parts, with `ending` behind what a file has that breaks off. Rejects with RecordingError. */
export async function* readRecording(path: string, key: Uint8Array, ending: string): AsyncGenerator<Uint8Array> {
  await using handle = await open(path, "r");
  let chunks = 0;
  for await (const bytes of chunksOf(handle, key, READ_BYTES)) {
    // Only the last chunk is empty.
    if (bytes.length === 0) return;
    if (chunks++ > 0) yield bytes;
  }
  if (chunks > 1) yield Buffer.from(ending, "utf8");
}

/** Most descriptions are shorter. */
const DESCRIPTION_READ_BYTES = 4 << 10;
const READ_BYTES = 64 << 10;

async function* chunksOf(handle: FileHandle, key: Uint8Array, readBytes: number): AsyncGenerator<Uint8Array> {
  let read: Buffer = Buffer.alloc(0);
  let at = 0;
  const next = async (count: number): Promise<Buffer | undefined> => {
    while (read.length < count) {
      const room = Buffer.alloc(Math.max(count - read.length, readBytes));
      const { bytesRead } = await handle.read(room, 0, room.length, at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
      read = Buffer.concat([read, room.subarray(0, bytesRead)]);
    }
    const part = read.subarray(0, count);
    read = read.subarray(count);
    return part;
  };
  const head = await next(HEAD_BYTES);
  if (head === undefined) return;
  if (!head.toString("latin1").startsWith(MAGIC)) throw new RecordingError("the file is no recording");
  const opener = createChunkOpener(fileKey(key, head), head);
  for (;;) {
    const length = (await next(LENGTH_BYTES))?.readUInt32BE();
    // The hole of a reservation.
    if (length === undefined || length === 0) return;
    if (length > MAX_CHUNK_BYTES) throw changed();
    const sealed = await next(length);
    // The server wrote it when it was killed, or is writing it now.
    if (sealed === undefined) return;
    const isLast = length === EMPTY_CHUNK_BYTES;
    const bytes = opener.open(sealed, isLast);
    if (bytes === undefined) throw changed();
    yield bytes;
    if (isLast) return;
  }
}

/** The last chunk has its tag alone. */
const EMPTY_CHUNK_BYTES = 16;

const changed = (): RecordingError =>
  new RecordingError("the recording was changed, or is of a platform with another key");

function parsedAbout(bytes: Uint8Array): JsonObject {
  const about: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  if (!isJsonObject(about)) throw new RecordingError("the recording does not say what it is of");
  return about;
}
