// Writes audit events to a file as JSON lines in a hash chain.

import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CHAIN_START, isSealed, TORN_LINE_ANNOTATION } from "@postern/apimachinery/audit/audit-chain";
import { type AuditChain, createAuditChain, hmacWith, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import type { AuditSink } from "./audit-sink.ts";
import { UnauthenticatedShare } from "./unauthenticated-share.ts";

export type FileAuditSinkOptions = {
  readonly path: string;
  /** The file is renamed to `path.1` before it would grow past this. Default: it grows without bound. */
  readonly maxBytes?: number;
  /** How many renamed files are kept. Default 10. */
  readonly maxBackups?: number;
  /** Seals each line. A file with unsealed lines is renamed first. Default: no seals. */
  readonly key?: Uint8Array;
  /** Lines have been handed to the operating system. */
  readonly onWritten?: () => void;
};

/** Opens the file, readable for its owner alone. Rejects when that is impossible. */
export async function createFileAuditSink(options: FileAuditSinkOptions): Promise<AuditSink> {
  const file = await openForAppend(options.path);
  const continues = options.key === undefined || file.last === undefined || file.endsTorn;
  if (continues || isSealed(file.last ?? "", hmacWith(options.key ?? new Uint8Array())))
    return new FileAuditSink(options, file);
  return new FileAuditSink(options, await renameAndOpen(options, file));
}

/** Without `resolve`, no caller waits. */
type Line = { readonly event: AuditEvent; readonly resolve?: () => void; readonly reject: (error: unknown) => void };

/** How long lines are gathered that nobody waits for: a write costs as much as the lines of many requests. */
const GATHER_MS = 10;

class FileAuditSink implements AuditSink {
  readonly #options: FileAuditSinkOptions;
  #file: OpenFile;
  #chain: AuditChain;
  /** The last write failed: what the file ends with has to be looked at. */
  #isTorn = false;
  #waiting: Line[] = [];
  #writing: Promise<void> | undefined;
  #gathering: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #share: UnauthenticatedShare;

  constructor(options: FileAuditSinkOptions, file: OpenFile) {
    this.#options = options;
    this.#file = file;
    this.#chain = createAuditChain(file.head, options.key);
    this.#share = new UnauthenticatedShare(options.maxBytes ?? Number.POSITIVE_INFINITY);
  }

  /** Resolves when the line has been handed to the operating system. */
  write(event: AuditEvent): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      this.#writing ??= this.#writeWaiting();
    });
  }

  writeSoon(event: AuditEvent, onError: (error: unknown) => void): void {
    if (this.#closed) {
      onError(closedError());
      return;
    }
    this.#waiting.push({ event, reject: onError });
    if (this.#writing === undefined) this.#gather();
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => this.#writeGathered(), GATHER_MS);
  }

  #writeGathered(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    if (this.#waiting.length > 0) this.#writing ??= this.#writeWaiting();
  }

  /** Everything that arrives in one turn, or during one write, goes out together; its text is made when the requests are answered. */
  async #writeWaiting(): Promise<void> {
    do {
      await nextTurn();
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#append(this.#share.admit(lines.map(({ event }) => event)));
        for (const { resolve } of lines) resolve?.();
      } catch (error) {
        for (const { reject } of lines) reject(error);
      }
    } while (this.#closed ? this.#waiting.length > 0 : this.#waiting.some(({ resolve }) => resolve !== undefined));
    this.#writing = undefined;
    if (this.#waiting.length > 0) this.#gather();
  }

  async #append(events: readonly AuditEvent[]): Promise<void> {
    if (events.length === 0) return;
    if (this.#isTorn) await this.#mend();
    let { text, head } = this.#chain.linesOf(this.#file.endsTorn ? markTorn(events) : events);
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#file.size > 0 && this.#file.size + Buffer.byteLength(text) > maxBytes) {
      await this.#rotate();
      const left = this.#share.beginFile();
      if (left.length > 0) ({ text, head } = this.#chain.linesOf([...left, ...events]));
    }
    const bytes = Buffer.from(text);
    this.#isTorn = true;
    await writeWhole(this.#file.handle, bytes);
    this.#isTorn = false;
    this.#file.size += bytes.length;
    this.#file.endsTorn = false;
    this.#chain.written(head);
    this.#options.onWritten?.();
  }

  /** Goes on from what really is in the file. */
  async #mend(): Promise<void> {
    const previous = this.#file.handle;
    this.#file = await openForAppend(this.#options.path);
    this.#chain = createAuditChain(this.#file.head, this.#options.key);
    this.#isTorn = false;
    await previous.close();
  }

  async #rotate(): Promise<void> {
    this.#file = await renameAndOpen(this.#options, this.#file);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#writeGathered();
    await this.#writing;
    try {
      await this.#append(this.#share.record());
    } finally {
      await this.#file.handle.close();
    }
  }
}

const closedError = (): Error => new Error("the audit log is closed");

/** The chain continues across files. */
async function renameAndOpen({ path, maxBackups = 10 }: FileAuditSinkOptions, file: OpenFile): Promise<OpenFile> {
  await rm(`${path}.${maxBackups}`, { force: true });
  for (let number = maxBackups - 1; number >= 1; number -= 1)
    await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
  await renameIfThere(path, `${path}.1`);
  const next = await openForAppend(path);
  await file.handle.close();
  return next;
}

/** `head` is the hash of the last line; `last` that line, where this file has one. */
type OpenFile = {
  readonly handle: FileHandle;
  readonly head: string;
  readonly last: string | undefined;
  size: number;
  endsTorn: boolean;
};

async function openForAppend(path: string): Promise<OpenFile> {
  const handle = await open(path, constants.O_APPEND | constants.O_CREAT | constants.O_RDWR, 0o600);
  try {
    await handle.chmod(0o600);
    const { size } = await handle.stat();
    const added = await endLine(handle, size);
    if (size === 0) return { handle, size, head: await headOfRotated(`${path}.1`), last: undefined, endsTorn: false };
    const last = await lastLine(handle, size + added);
    const text = Buffer.from(last).toString("utf8");
    return { handle, size: size + added, head: sha256(last), last: text, endsTorn: !isJson(text) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The first of them confirms that the line before it was written in part. */
const markTorn = ([first, ...rest]: readonly AuditEvent[]): readonly AuditEvent[] =>
  first === undefined
    ? rest
    : [{ ...first, annotations: { ...first.annotations, [TORN_LINE_ANNOTATION]: "true" } }, ...rest];

/** A process that was killed may have left half a line, which the next one must not be glued to. */
async function endLine(handle: FileHandle, size: number): Promise<number> {
  if (size === 0) return 0;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer.toString() === "\n") return 0;
  await handle.appendFile("\n");
  return 1;
}

/** FileHandle.appendFile does the same with more around it. */
async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) written += (await handle.write(bytes, written)).bytesWritten;
}

const CHUNK_BYTES = 64 * 1024;

/** Of a file that is not empty and ends with a line break. Reads from its end. */
async function lastLine(handle: FileHandle, size: number): Promise<Uint8Array> {
  let tail: Uint8Array = new Uint8Array(0);
  for (let end = size - 1; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    tail = Buffer.concat([buffer.subarray(0, bytesRead), tail]);
    const lineBreak = tail.lastIndexOf(LINE_BREAK);
    if (lineBreak >= 0) return tail.subarray(lineBreak + 1);
    end = start;
  }
  return tail;
}

const LINE_BREAK = 0x0a;

/** An empty log continues the chain of the rotated file. */
async function headOfRotated(path: string): Promise<string> {
  try {
    await using handle = await open(path, "r");
    const { size } = await handle.stat();
    return size === 0 ? CHAIN_START : sha256(await lastLine(handle, size));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return CHAIN_START;
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    // Errors of system calls carry their name here.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
