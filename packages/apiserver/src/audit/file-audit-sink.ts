// Writes audit events to a file as JSON lines in a hash chain.

import { constants } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CHAIN_START, isSealed, TORN_LINE_ANNOTATION, tornRun } from "@postern/apimachinery/audit/audit-chain";
import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import { type AuditChain, type AuditLine, createAuditChain, hmacWith, lineOf, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import type { AuditSink } from "./audit-sink.ts";
import { FileShares, isServerRecord, serverRecord, type Unwritten } from "./file-shares.ts";

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

/** The record of events whose write failed: their number, some of which may be in the log, and the time of the first. */
const UNWRITTEN_ANNOTATION = "audit-log/unwritten-events";
const UNWRITTEN_SINCE_ANNOTATION = "audit-log/unwritten-since";

/** Without `resolve`, no caller waits. */
type Line = { readonly of: Unwritten; readonly resolve?: () => void; readonly reject: (error: unknown) => void };

/** How long lines that no request waits for are gathered: a write costs as much as the lines of many requests. */
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
  /** The record of events whose write failed. */
  #lost: AuditLine | undefined;
  /** Records of omitted events that are not written yet. */
  readonly #records: AuditLine[] = [];
  readonly shares: FileShares;

  constructor(options: FileAuditSinkOptions, file: OpenFile) {
    this.#options = options;
    this.#file = file;
    this.#chain = createAuditChain(file.head, options.key);
    this.shares = new FileShares(options.maxBytes ?? Number.POSITIVE_INFINITY);
  }

  /** Resolves when the line has been handed to the operating system. */
  write(event: AuditEvent): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ of: { event }, resolve, reject });
      this.#writing ??= this.#writeWaiting();
    });
  }

  async writeLines(lines: readonly AuditLine[]): Promise<void> {
    if (this.#closed) throw closedError();
    await new Promise<void>((resolve, reject) => {
      // All of them are written together, or none.
      for (const of of lines.slice(0, -1)) this.#waiting.push({ of, reject: () => undefined });
      for (const of of lines.slice(-1)) this.#waiting.push({ of, resolve, reject });
      if (lines.length === 0) resolve();
      else this.#writing ??= this.#writeWaiting();
    });
  }

  writeSoon(event: AuditEvent, onError: (error: unknown) => void): void {
    if (this.#closed) {
      onError(closedError());
      return;
    }
    this.#waiting.push({ of: { event }, reject: onError });
    if (this.#writing === undefined) this.#gather();
  }

  countOnly(event: AuditEvent): boolean {
    return !this.#closed && this.shares.countOnly(event);
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
    try {
      await this.#writeLines();
    } finally {
      // After an error as well: later lines are still written.
      this.#writing = undefined;
      if (this.#isAwaited()) this.#writing = this.#writeWaiting();
      else if (this.#waiting.length > 0) this.#gather();
    }
  }

  /** Whether a request waits for its line. One may have come since the last look. */
  #isAwaited(): boolean {
    return this.#closed ? this.#waiting.length > 0 : this.#waiting.some(({ resolve }) => resolve !== undefined);
  }

  async #writeLines(): Promise<void> {
    do {
      await nextTurn();
      const lines = this.#waiting;
      this.#waiting = [];
      let admitted: readonly AuditLine[] = [];
      try {
        admitted = this.shares.admit(lines.map(({ of }) => of));
        await this.#append(admitted);
        for (const { resolve } of lines) resolve?.();
      } catch (error) {
        this.#keepCounts(admitted);
        for (const { reject } of lines) caught(throwLater, reject)(error);
      }
    } while (this.#isAwaited());
  }

  async #append(admitted: readonly AuditLine[]): Promise<void> {
    const linesNow = (): readonly AuditLine[] => [
      ...(this.#lost === undefined ? [] : [this.#lost]),
      ...this.#records,
      ...admitted,
    ];
    let lines = linesNow();
    if (lines.length === 0) return;
    if (this.#isTorn) await this.#mend();
    let { bytes, head } = this.#linesOf(lines);
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#file.size > 0 && this.#file.size + bytes.length > maxBytes) {
      this.#file = await renameAndOpen(this.#options, this.#file);
      this.#records.push(...this.shares.beginFile());
      lines = linesNow();
      ({ bytes, head } = this.#linesOf(lines));
    }
    this.#isTorn = true;
    await writeWhole(this.#file.handle, bytes);
    this.#isTorn = false;
    this.#file.size += bytes.length;
    this.#file.head = head;
    this.#file.endsTorn = false;
    this.#chain.written(head);
    this.#lost = undefined;
    this.#records.length = 0;
    this.#options.onWritten?.();
  }

  #linesOf(lines: readonly AuditLine[]): { readonly bytes: Buffer; readonly head: string } {
    const { text, head } = this.#chain.linesOf(this.#file.endsTorn ? markTorn(lines) : lines);
    return { bytes: Buffer.from(text), head };
  }

  /** Goes on from what really is in the file. */
  async #mend(): Promise<void> {
    const previous = this.#file.handle;
    this.#file = await openForAppend(this.#options.path);
    this.#chain = createAuditChain(this.#file.head, this.#options.key);
    this.#isTorn = false;
    await previous.close();
  }

  /** The next line says how many events could not be written. Counts of omitted events wait for it. */
  #keepCounts(lines: readonly AuditLine[]): void {
    this.#records.push(...lines.filter(isServerRecord));
    const events = lines.filter((line) => !isServerRecord(line)).map(({ event }) => event);
    const last = events.at(-1);
    if (last === undefined) return;
    const before = this.#lost?.event.annotations ?? {};
    this.#lost = serverRecord(last, {
      [UNWRITTEN_ANNOTATION]: String(Number(before[UNWRITTEN_ANNOTATION] ?? 0) + events.length),
      [UNWRITTEN_SINCE_ANNOTATION]: before[UNWRITTEN_SINCE_ANNOTATION] ?? events[0]?.stageTimestamp ?? "",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#writeGathered();
    while (this.#writing !== undefined) await this.#writing;
    try {
      await this.#append(this.shares.records());
    } finally {
      await this.#file.handle.close();
    }
  }
}

const closedError = (): Error => new Error("the audit log is closed");

/** Renames the file only when there is another to continue in: a failure at any step loses nothing, and the next attempt continues from there. */
async function renameAndOpen({ path, maxBackups = 10 }: FileAuditSinkOptions, file: OpenFile): Promise<OpenFile> {
  const handle = await open(
    `${path}.next`,
    constants.O_APPEND | constants.O_CREAT | constants.O_TRUNC | constants.O_RDWR,
    0o600,
  );
  try {
    if (await exists(path)) {
      await makeRoom(path, maxBackups);
      await rename(path, `${path}.1`);
    }
    await rename(`${path}.next`, path);
  } catch (error) {
    await handle.close();
    throw error;
  }
  // Its lines are written; an error of its end changes nothing.
  await file.handle.close().catch(() => undefined);
  // The chain continues across files, and so does a line that was written in part.
  return { handle, size: 0, head: file.head, last: undefined, endsTorn: file.endsTorn };
}

/** Moves files up to the first free number; without one, the oldest is removed. */
async function makeRoom(path: string, maxBackups: number): Promise<void> {
  let free = 1;
  while (free < maxBackups && (await exists(`${path}.${free}`))) free++;
  for (let number = free - 1; number >= 1; number--) await rename(`${path}.${number}`, `${path}.${number + 1}`);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/** `head` is the hash of the last line, also where an earlier file has it; `last` the last line that the file had when it was opened. */
type OpenFile = {
  readonly handle: FileHandle;
  readonly last: string | undefined;
  head: string;
  size: number;
  endsTorn: boolean;
};

async function openForAppend(path: string): Promise<OpenFile> {
  const handle = await open(path, constants.O_APPEND | constants.O_CREAT | constants.O_RDWR, 0o600);
  try {
    await handle.chmod(0o600);
    const { size } = await handle.stat();
    // An empty log continues the chain of the renamed one.
    if (size === 0) return { handle, size, ...(await endOfFile(`${path}.1`)), last: undefined };
    const added = await endLine(handle, size);
    const end = await endOfLines(handle, size + added);
    return { handle, size: size + added, ...end };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const textOf = (line: Uint8Array): string => Buffer.from(line).toString("utf8");

function isJson(line: Uint8Array): boolean {
  try {
    JSON.parse(textOf(line));
    return true;
  } catch {
    return false;
  }
}

/** The first of them confirms that the line before it was written in part. */
const markTorn = ([first, ...rest]: readonly AuditLine[]): readonly AuditLine[] =>
  first === undefined ? rest : [withAnnotation(first.event, TORN_LINE_ANNOTATION), ...rest];

const withAnnotation = (event: AuditEvent, name: string): AuditLine =>
  lineOf({ ...event, annotations: { ...event.annotations, [name]: "true" } });

/** A process that was killed may have left half a line, which the next one must not be glued to. */
async function endLine(handle: FileHandle, size: number): Promise<number> {
  if (await endsWithLineBreak(handle, size)) return 0;
  await handle.appendFile("\n");
  return 1;
}

async function endsWithLineBreak(handle: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_BREAK;
}

/** FileHandle.appendFile does the same with more around it. */
async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) written += (await handle.write(bytes, written)).bytesWritten;
}

const CHUNK_BYTES = 64 * 1024;

/** The last line of a file that is not empty, read from its end. Its line break is, or would be, at `size - 1`. */
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

type EndOfFile = Pick<OpenFile, "head" | "last" | "endsTorn">;

/** Lines in a row of a file that no line confirms; a file with more is none of this server. */
const MAX_TORN = 100;

/** The end of a file that is not empty. Several incomplete lines in a row are confirmed together. */
async function endOfLines(handle: FileHandle, size: number): Promise<EndOfFile> {
  const last = await lastLine(handle, size);
  const torn: string[] = [];
  let line = last;
  for (let end = size; !isJson(line) && torn.length < MAX_TORN; line = await lastLine(handle, end)) {
    torn.unshift(textOf(line));
    end -= line.length + 1;
    if (end <= 0) break;
  }
  const isTorn = torn.length > 0;
  return { head: sha256(isTorn ? tornRun(torn) : last), last: textOf(last), endsTorn: isTorn };
}

async function endOfFile(path: string): Promise<EndOfFile> {
  try {
    await using handle = await open(path, "r");
    const { size } = await handle.stat();
    if (size === 0) return NO_LINES;
    return await endOfLines(handle, (await endsWithLineBreak(handle, size)) ? size : size + 1);
  } catch (error) {
    // Errors of system calls carry their name here.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return NO_LINES;
  }
}

const NO_LINES: EndOfFile = { head: CHAIN_START, last: undefined, endsTorn: false };
