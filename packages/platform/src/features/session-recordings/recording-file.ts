// A recording as a file: a line with the version and a salt, then sealed chunks, each behind its length. The first chunk is what the recording is of, the
// others are the recording. A file that breaks off is read as far as its last whole chunk.

import { createHash, type Hash, hkdfSync } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
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

/** Calls must wait for one another. Rejects with what the file system says. */
export class RecordingWriter {
  readonly #handle: FileHandle;
  readonly #sealer: ChunkSealer;
  readonly #hash: Hash = createHash("sha256");
  #size = 0;

  private constructor(handle: FileHandle, sealer: ChunkSealer) {
    this.#handle = handle;
    this.#sealer = sealer;
  }

  /** Makes the file, which must not be there. */
  static async create(path: string, key: Uint8Array, about: JsonObject, random: Random): Promise<RecordingWriter> {
    const head = Buffer.from(`${MAGIC}${Buffer.from(random.bytes(SALT_BYTES)).toString("base64url")}\n`, "latin1");
    const handle = await open(path, "wx", OWNER_ONLY);
    try {
      const writer = new RecordingWriter(handle, createChunkSealer(fileKey(key, head), head));
      await writer.#append(head);
      await writer.write(JSON.stringify(about));
      return writer;
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
  }

  /** Of the file, in bytes. */
  get size(): number {
    return this.#size;
  }

  write(text: string): Promise<void> {
    return this.#writeChunk(text, false);
  }

  /** Marks the recording as whole, and resolves with the SHA-256 of the file in lower-case hexadecimal digits. */
  async finish(): Promise<string> {
    await this.#writeChunk("", true);
    await this.#handle.sync();
    await this.close();
    return this.#hash.digest("hex");
  }

  /** The SHA-256 of what was written whole, where no more is. */
  async abandon(): Promise<string> {
    await this.close();
    return this.#hash.digest("hex");
  }

  async close(): Promise<void> {
    await this.#handle.close();
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

/** The description of the session. Undefined for a file that breaks off before that. Rejects with RecordingError, and with what the file system says. */
export async function readAbout(path: string, key: Uint8Array): Promise<JsonObject | undefined> {
  await using handle = await open(path, "r");
  for await (const { bytes } of chunksOf(handle, key)) return parsedAbout(bytes);
  return undefined;
}

/** The asciicast in parts. Rejects with RecordingError. */
export async function* readRecording(path: string, key: Uint8Array): AsyncGenerator<Uint8Array> {
  await using handle = await open(path, "r");
  let isAbout = true;
  for await (const { bytes } of chunksOf(handle, key)) {
    if (!isAbout && bytes.length > 0) yield bytes;
    isAbout = false;
  }
}

async function* chunksOf(handle: FileHandle, key: Uint8Array): AsyncGenerator<{ readonly bytes: Uint8Array }> {
  let at = 0;
  const next = async (count: number): Promise<Buffer | undefined> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, at);
    at += bytesRead;
    return bytesRead < count ? undefined : buffer;
  };
  const head = await next(HEAD_BYTES);
  if (head === undefined) return;
  if (!head.toString("latin1").startsWith(MAGIC)) throw new RecordingError("the file is no recording");
  const opener = createChunkOpener(fileKey(key, head), head);
  for (;;) {
    const length = (await next(LENGTH_BYTES))?.readUInt32BE();
    if (length === undefined) return;
    if (length > MAX_CHUNK_BYTES) throw changed();
    const sealed = await next(length);
    // The server wrote it when it was killed, or is writing it now.
    if (sealed === undefined) return;
    const isLast = length === EMPTY_CHUNK_BYTES;
    const bytes = opener.open(sealed, isLast);
    if (bytes === undefined) throw changed();
    yield { bytes };
    if (isLast) return;
  }
}

/** Only the last chunk is empty: it has its tag alone. */
const EMPTY_CHUNK_BYTES = 16;

const changed = (): RecordingError =>
  new RecordingError("the recording was changed, or is of a platform with another key");

function parsedAbout(bytes: Uint8Array): JsonObject {
  const about: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  if (!isJsonObject(about)) throw new RecordingError("the recording does not say what it is of");
  return about;
}
