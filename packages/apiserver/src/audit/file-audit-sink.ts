// Writes audit events to a file, one JSON line each.

import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
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

type Line = { readonly text: string; readonly resolve: () => void; readonly reject: (error: unknown) => void };

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
      this.#waiting.push({ text: `${stringifyJson(event)}\n`, resolve, reject });
      this.#writing ??= this.#writeWaiting();
    });
  }

  /** Everything that arrives during one write goes out with the next. */
  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#append(lines.map(({ text }) => text).join(""));
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
    await this.#file.handle.appendFile(bytes);
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

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    // Errors of system calls carry their name here.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
