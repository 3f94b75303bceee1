// Reads the lines that are added to the audit log, across the files that it is renamed to, from a position that outlives the server.

import { type FileHandle, open, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { sha256 } from "@postern/apiserver/audit/audit-chain";
import { withRotated } from "../log-files.ts";

/** A place in the log, whatever its file is called by now. */
export type LogPosition = {
  /** SHA-256 of the beginning of the file's first line, which has the ID and the time of an event; "" while the file has none. */
  readonly file: string;
  /** Bytes before it. */
  readonly offset: number;
};

export type ReadLines = {
  /** Whole lines without their line breaks, the oldest first; none: the log has no more yet. */
  readonly lines: readonly string[];
  /** Behind them. */
  readonly next: LogPosition;
  /** A file was deleted before it was read. */
  readonly isGap: boolean;
  /** The log had no more when it was read. */
  readonly isAll: boolean;
};

const LINE_BREAK = 0x0a;
const BEGINNING_BYTES = 512;

export class LogFollower implements AsyncDisposable {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #position: LogPosition;
  #isGap = false;

  private constructor(path: string, position: LogPosition, handle: FileHandle | undefined) {
    this.#path = path;
    this.#position = position;
    this.#handle = handle;
  }

  /** Undefined as position: the end of the log as it is now. */
  static async open(path: string, position?: LogPosition): Promise<LogFollower> {
    if (position !== undefined) return new LogFollower(path, position, undefined);
    const handle = await open(path, "r");
    const { size } = await handle.stat();
    return new LogFollower(path, { file: await beginningOf(handle), offset: size }, handle);
  }

  /** Behind the lines that were read. */
  get position(): LogPosition {
    return this.#position;
  }

  /** The next lines: `most` at most, in so many bytes, or one that is longer. The same ones again until `advance`. */
  async read(most: number, bytes: number): Promise<ReadLines> {
    for (;;) {
      this.#handle ??= await this.#find();
      const handle = this.#handle;
      const { size } = await handle.stat();
      // Cut by another program: what comes is a new file.
      if (size < this.#position.offset) this.#position = { file: "", offset: 0 };
      const read = await wholeLines(handle, this.#position.offset, bytes);
      if (read.length > 0) return await this.#answer(handle, firstLines(read, most), size);
      if (await this.#isNewest(handle)) return { lines: [], next: this.#position, isGap: false, isAll: true };
      // Lines may have come between the two looks, and none come to a file that was renamed.
      const last = await wholeLines(handle, this.#position.offset, bytes);
      if (last.length > 0) return await this.#answer(handle, firstLines(last, most), size);
      await this.#openNext(handle);
    }
  }

  advance(next: LogPosition): void {
    this.#position = next;
    this.#isGap = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** `size` of the file, before it was read. */
  async #answer(handle: FileHandle, bytes: Buffer, size: number): Promise<ReadLines> {
    const file = this.#position.file || (await beginningOf(handle));
    const lines = bytes.toString("utf8", 0, bytes.length - 1).split("\n");
    const offset = this.#position.offset + bytes.length;
    const isAll = offset >= size && (await this.#isNewest(handle));
    return { lines, next: { file, offset }, isGap: this.#isGap, isAll };
  }

  /** The file of the position; the oldest one if it is gone. */
  async #find(): Promise<FileHandle> {
    const { file } = this.#position;
    // A position before the first line of a file is the beginning of the log.
    for (let look = 0; file !== "" && look < LOOKS; look++) {
      if (look > 0) await delay(LOOK_MS);
      for (const path of (await withRotated(this.#path)).toReversed()) {
        const handle = await open(path, "r").catch(() => undefined);
        if (handle !== undefined && (await beginningOf(handle)) === file) return handle;
        await handle?.close();
      }
    }
    this.#isGap = file !== "";
    this.#position = { file: "", offset: 0 };
    const [oldest = this.#path] = await withRotated(this.#path);
    return await open(oldest, "r");
  }

  async #isNewest(handle: FileHandle): Promise<boolean> {
    const newest = await inodeOf(this.#path);
    // For a moment of the renaming there is none.
    return newest === undefined || newest === (await handle.stat()).ino;
  }

  async #openNext(handle: FileHandle): Promise<void> {
    const next = await this.#successorOf(handle);
    await handle.close();
    this.#handle = next;
    this.#position = { file: "", offset: 0 };
  }

  async #successorOf(handle: FileHandle): Promise<FileHandle> {
    for (let look = 0; look < LOOKS; look++) {
      const { ino, nlink } = await handle.stat();
      if (nlink === 0) break;
      const name = await this.#nameOf(ino);
      if (name !== undefined) {
        const next = await open(nextName(this.#path, name), "r").catch(() => undefined);
        // Files are renamed the oldest first: while this one has its name, so has the next one.
        if (next !== undefined && (await inodeOf(name)) === ino) return next;
        await next?.close();
      }
      // It is being renamed, or was put elsewhere.
      await delay(LOOK_MS);
    }
    const [oldest = this.#path, ...later] = await withRotated(this.#path);
    // Others may have been deleted as well.
    this.#isGap = later.length > 0;
    return await open(oldest, "r");
  }

  async #nameOf(ino: number): Promise<string | undefined> {
    for (const name of await withRotated(this.#path)) if ((await inodeOf(name)) === ino) return name;
    return undefined;
  }
}

/** Of a file that may be on its way from one name to the next. */
const LOOKS = 20;
const LOOK_MS = 5;

/** `audit.log.2` is followed by `audit.log.1`, and that by `audit.log`. */
function nextName(path: string, name: string): string {
  const number = Number(name.slice(path.length + 1));
  return number > 1 ? `${path}.${number - 1}` : path;
}

const inodeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ ino }) => ino,
    () => undefined,
  );

/** "" while the first line is not whole. */
async function beginningOf(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf(LINE_BREAK);
  if (end < 0 && bytesRead < BEGINNING_BYTES) return "";
  return sha256(buffer.subarray(0, end < 0 ? bytesRead : end));
}

/** With the last line break. Empty: there is no whole line. */
async function wholeLines(handle: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  for (let length = bytes; ; length *= 2) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
    const end = buffer.subarray(0, bytesRead).lastIndexOf(LINE_BREAK);
    if (end >= 0 || bytesRead < length) return buffer.subarray(0, end + 1);
  }
}

function firstLines(bytes: Buffer, most: number): Buffer {
  let end = -1;
  for (let count = 0; count < most && end < bytes.length - 1; count++) end = bytes.indexOf(LINE_BREAK, end + 1);
  return bytes.subarray(0, end + 1);
}
