// Keeps what tests delete until the run is over: their temporary directories are moved aside.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { removedFolder } from "./run-record.ts";

/** Directories of tests outside the temporary folder, such as in memory. */
const OF_TESTS = /^postern-/;
/** Those of the tests of the secret scan itself. */
export const PLANTED = "planted-leaks-";
const BLOCK_BYTES = 4096;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

/** From then on, `rm` of Node keeps directories of tests, in tests and in what they start in their own process. */
export function keepRemovedFiles(folder: string): void {
  const { rmSync } = fs;
  const { rm } = fs.promises;
  fs.rmSync = (path, options) => {
    if (options?.recursive !== true || !keepDirectory(folder, String(path))) rmSync(path, options);
  };
  fs.promises.rm = async (path, options) => {
    if (options?.recursive !== true || !keepDirectory(folder, String(path))) await rm(path, options);
  };
  syncBuiltinESMExports();
}

let kept = 0;

/**
 * Moves the directory into the record of the run if it is on the same disk, and copies it otherwise. True if nothing is left to
 * remove.
 */
export function keepDirectory(folder: string, directory: string): boolean {
  const name = basename(directory);
  const isOfTest = dirname(directory) === tmpdir() || OF_TESTS.test(name);
  if (!isOfTest || name.startsWith(PLANTED)) return false;
  const place = join(removedFolder(folder), `${process.pid}-${kept++}`);
  fs.mkdirSync(place, { mode: 0o700 });
  try {
    fs.renameSync(directory, join(place, name));
    return true;
  } catch {
    if (fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) copyFiles(directory, place);
    return false;
  }
}

function copyFiles(directory: string, place: string): void {
  for (const name of fs.readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const from = join(directory, name);
    if (!fs.statSync(from, { throwIfNoEntry: false })?.isFile()) continue;
    const to = join(place, basename(directory), name);
    fs.mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    copyContent(from, to);
  }
}

/** Leaves out empty blocks: the log of etcd is a file of 64 MB from its first record on. */
function copyContent(from: string, to: string): void {
  const content = fs.readFileSync(from);
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += BLOCK_BYTES) {
    const block = content.subarray(at, at + BLOCK_BYTES);
    if (block.compare(ZEROS, 0, block.length) !== 0) blocks.push(block);
  }
  fs.writeFileSync(to, Buffer.concat(blocks), { mode: 0o600 });
}
