// Runs a program of Node that is to be caught in the middle of its work.

import { type ChildProcess, spawn } from "node:child_process";

/** Where there is too little of the processor it runs behind the test, which would else come when all is over. */
export const spawnBehind = (...args: readonly string[]): ChildProcess =>
  spawn("nice", ["-n", "19", process.execPath, ...args], { stdio: "ignore" });
