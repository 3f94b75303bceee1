import { expect, it } from "vitest";
import { checkThreadOptions, checkThreads } from "./check-threads.ts";

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

it.each([
  ["nothing of threads that there can be", {}, "24.1.0", []],
  ["nothing of a default that waits for a newer Node", {}, "20.19.0", []],
  ["an error of threads that this Node cannot have", { threads: 2 }, "20.19.0", ["error --threads 2 needs Linux"]],
  ["an error of threads under load", { maxThreads: 2 }, "20.19.0", ["error --max-threads 2 needs Linux"]],
  ["a warning of more threads than processors", { threads: 6 }, "24.1.0", ["warning --threads 6 is more than the 4"]],
])("says %s", (_title, given, nodeVersion, said) => {
  const configuration = { threads: undefined, maxThreads: undefined, store: sqlite, ...given };
  const findings = checkThreadOptions(configuration, { ...MACHINE, nodeVersion });
  // A running server's own findings of this name replace them.
  expect(findings.map(({ check }) => check)).toEqual(said.map(() => "threads"));
  expect(findings.map(({ status, message }) => `${status} ${message}`)).toEqual(
    said.map((text) => expect.stringContaining(text)),
  );
});
