// Reads audit logs of any size line by line.

import { createReadStream } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** A file of the log cannot be read. The message is one line, for people. */
export class AuditLogError extends Error {
  override readonly name = "AuditLogError";
}

const LINE_BREAK = 0x0a;
const CHUNK_BYTES = 1024 * 1024;

/** Without the line breaks. `isWanted` looks at the bytes of a line, so that others are never decoded. Rejects with the reason of the signal. */
export async function* linesOf(
  path: string,
  isWanted: (line: Buffer) => boolean = () => true,
  signal?: AbortSignal,
): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
      // A stream without an encoding gives Buffers.
      signal?.throwIfAborted();
      const text = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      let start = 0;
      for (let end = text.indexOf(LINE_BREAK); end >= 0; end = text.indexOf(LINE_BREAK, start)) {
        const line = text.subarray(start, end);
        start = end + 1;
        if (isWanted(line)) yield line.toString("utf8");
      }
      rest = text.subarray(start);
    }
  } catch (error) {
    signal?.throwIfAborted();
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new AuditLogError(`${path} cannot be read (${code})`, { cause: error });
  }
  if (rest.length > 0 && isWanted(rest)) yield rest.toString("utf8");
}

/** The files that a log was before it was renamed, the oldest first, and the log. */
export async function withRotated(path: string): Promise<readonly string[]> {
  const prefix = `${basename(path)}.`;
  // Not by counting up: while the log is renamed, a number may be missing.
  const numbers = (await readdir(dirname(path)).catch(() => []))
    .filter((name) => name.startsWith(prefix) && /^[1-9]\d*$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
  return [...numbers.sort((a, b) => b - a).map((number) => `${path}.${number}`), path];
}

const TAIL_BYTES = 64 * 1024;
const TIMESTAMP = /"stageTimestamp":"([^"]{20,32})"/g;

/** When the last event of a file happened, in milliseconds since the epoch; undefined where its end does not say. */
export async function lastEventTime(path: string): Promise<number | undefined> {
  try {
    await using handle = await open(path, "r");
    const { size } = await handle.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const last = [...buffer.toString("utf8").matchAll(TIMESTAMP)].at(-1)?.[1];
    const time = last === undefined ? Number.NaN : Date.parse(last);
    return Number.isNaN(time) ? undefined : time;
  } catch {
    return undefined;
  }
}
