// A further thread of a server in the process of its test: the module THREAD of the build, but its log, which it writes to standard error, goes into
// the file LOG_OF_THREAD.

import fs from "node:fs";
import { appendToLog } from "./log-to-file.ts";

const { THREAD: module = "", LOG_OF_THREAD: file = "" } = process.env;
const { write } = fs;
Object.assign(fs, {
  write(fd: number, content: string | Uint8Array, ...rest: readonly unknown[]): void {
    if (fd !== 2) {
      Reflect.apply(write, fs, [fd, content, ...rest]);
      return;
    }
    appendToLog(file, content);
    const done = rest.at(-1);
    if (typeof done === "function") process.nextTick(done, null, Buffer.byteLength(content));
  },
});
await import(module);
