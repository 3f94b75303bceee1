import { expect, it } from "vitest";
import { checkThreads } from "./check-threads.ts";

const MACHINE = { platform: "linux", nodeVersion: "24.1.0", processors: 4 };
const sqlite = { kind: "sqlite", path: "/x" } as const;

it.each([
  ["1 thread serves requests", {}, undefined],
  ["1 thread serves requests, and up to 4 do under load", {}, 1],
  ["3 threads serve requests, and up to 4 do under load", {}, 3],
  ["2 threads serve requests, and up to 6 do under load", { maxThreads: 6 }, 2],
  ["2 threads serve requests", { threads: 2 }, 2],
  ["1 thread serves requests", { maxThreads: 1 }, undefined],
])("%s", (message, given, running) => {
  const configuration = { threads: undefined, maxThreads: undefined, store: sqlite, ...given };
  expect(checkThreads(configuration, MACHINE, running)).toEqual({ check: "threads", status: "ok", message });
});
