// The record of a test run for the scan at its end: all responses and outputs, and the files of its servers.
// A frame is a line of JSON that describes the following bytes and their number.

import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Requests and inputs come from tests; responses and outputs are scanned. */
type FrameKind = "request" | "input" | "answer" | "output";
export type Frame = { readonly kind: FrameKind; readonly place: string; readonly content: Buffer };

export type RunRecorder = {
  write(kind: FrameKind, place: string, content: Uint8Array): void;
};

/** A file is read as a whole, and must not grow without limit. */
const MAX_FILE_BYTES = 32 << 20;
const LINE_BREAK = 0x0a;

/** Where tests create their temporary directories. */
export const temporaryFolder = (folder: string): string => join(folder, "files", "there");
/** The directories that tests have removed, each in a numbered folder. */
export const removedFolder = (folder: string): string => join(folder, "files", "removed");
const filesFolder = (folder: string): string => join(folder, "files");
const framesFolder = (folder: string): string => join(folder, "frames");

export function createRunFolders(folder: string): void {
  mkdirSync(framesFolder(folder), { recursive: true, mode: 0o700 });
  mkdirSync(temporaryFolder(folder), { recursive: true, mode: 0o700 });
  mkdirSync(removedFolder(folder), { recursive: true, mode: 0o700 });
}

/** Written at once: a worker may be ended at any time. */
export function createRunRecorder(folder: string): RunRecorder {
  let number = 0;
  let size = 0;
  /** Open as long as the worker runs: there are tens of thousands of frames. */
  let file: number | undefined;
  return {
    write(kind, place, content) {
      if (size > MAX_FILE_BYTES && file !== undefined) {
        closeSync(file);
        file = undefined;
        number++;
        size = 0;
      }
      file ??= openSync(join(framesFolder(folder), `${process.pid}-${number}`), "a", 0o600);
      const head = Buffer.from(`${JSON.stringify({ kind, place, bytes: content.length })}\n`);
      const frame = Buffer.concat([head, content]);
      size += frame.length;
      for (let written = 0; written < frame.length; ) written += writeSync(file, frame, written);
    },
  };
}

export function* readFrames(folder: string): Generator<Frame> {
  for (const name of readdirSync(framesFolder(folder))) {
    const bytes = readFileSync(join(framesFolder(folder), name));
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(LINE_BREAK, at);
      const head = JSON.parse(bytes.toString("utf8", at, end)) as { kind: FrameKind; place: string; bytes: number };
      at = end + 1 + head.bytes;
      yield { kind: head.kind, place: head.place, content: bytes.subarray(end + 1, at) };
    }
  }
}

export type KeptFile = {
  readonly path: string;
  /** Below the folder for temporary directories, as the test named it. */
  readonly name: string;
};

/** All regular files of the run, including those that tests have removed. */
export const keptFiles = (folder: string): readonly KeptFile[] =>
  readdirSync(filesFolder(folder), { recursive: true, encoding: "utf8" }).flatMap((found) => {
    const path = join(filesFolder(folder), found);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return [];
    return [{ path, name: found.replace(/^(there|removed\/\d+-\d+)\//, "") }];
  });
