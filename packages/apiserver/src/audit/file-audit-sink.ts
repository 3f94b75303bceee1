// Writes audit events to a file, one JSON line each.

import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditEvent } from "./audit-event.ts";
import type { AuditSink } from "./audit-sink.ts";

export type FileAuditSinkOptions = {
  readonly path: string;
  /** The file is renamed to `path.1` before it would grow past this. Default: it grows without bound. */
  readonly maxBytes?: number;
  /** How many renamed files are kept. Default 10. */
  readonly maxBackups?: number;
};

/** Opens the file, readable for its owner alone. Rejects when that is impossible. */
export async function createFileAuditSink(options: FileAuditSinkOptions): Promise<AuditSink> {
  return new FileAuditSink(options, await openForAppend(options.path));
}

type Line = { readonly event: AuditEvent; readonly resolve: () => void; readonly reject: (error: unknown) => void };

class FileAuditSink implements AuditSink {
  readonly #options: FileAuditSinkOptions;
  #file: OpenFile;
  #waiting: Line[] = [];
  #writing: Promise<void> | undefined;
  #closed = false;

  constructor(options: FileAuditSinkOptions, file: OpenFile) {
    this.#options = options;
    this.#file = file;
  }

  /** Resolves when the line has been handed to the operating system. */
  write(event: AuditEvent): Promise<void> {
    if (this.#closed) return Promise.reject(new Error("the audit log is closed"));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      this.#writing ??= this.#writeWaiting();
    });
  }

  /** Everything that arrives in one turn, or during one write, goes out together; its text is made when the requests are answered. */
  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#append(lines.map(({ event }) => `${stringifyJson(event)}\n`).join(""));
        for (const { resolve } of lines) resolve();
      } catch (error) {
        for (const { reject } of lines) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const { maxBytes = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#file.size > 0 && this.#file.size + bytes.length > maxBytes) await this.#rotate();
    await writeWhole(this.#file.handle, bytes);
    this.#file.size += bytes.length;
  }

  async #rotate(): Promise<void> {
    const { path, maxBackups = 10 } = this.#options;
    await rm(`${path}.${maxBackups}`, { force: true });
    for (let number = maxBackups - 1; number >= 1; number -= 1)
      await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
    await renameIfThere(path, `${path}.1`);
    const previous = this.#file.handle;
    this.#file = await openForAppend(path);
    await previous.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing;
    await this.#file.handle.close();
  }
}

type OpenFile = { readonly handle: FileHandle; size: number };

async function openForAppend(path: string): Promise<OpenFile> {
  const handle = await open(path, constants.O_APPEND | constants.O_CREAT | constants.O_RDWR, 0o600);
  try {
    await handle.chmod(0o600);
    const { size } = await handle.stat();
    return { handle, size: size + (await endLine(handle, size)) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

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

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    // Errors of system calls carry their name here.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
