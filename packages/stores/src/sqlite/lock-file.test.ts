import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockFile } from "./lock-file.ts";
import { StoreLockedError } from "./sqlite-errors.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "postern-lock-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

it("is held by one at a time, and stays an empty file of this user alone", () => {
  const path = join(directory, "lock");
  const first = lockFile(path);
  expect(() => lockFile(path)).toThrow(StoreLockedError);
  first[Symbol.dispose]();
  const second = lockFile(path);
  expect(() => lockFile(path)).toThrow(StoreLockedError);
  second[Symbol.dispose]();
  expect(statSync(path)).toMatchObject({ size: 0, mode: 0o100600 });
});

it("ends with the process that holds it, also when that is killed", async () => {
  const path = join(directory, "lock");
  const holder = `import { lockFile } from ${JSON.stringify(new URL("./lock-file.ts", import.meta.url).href)};
    globalThis.held = lockFile(${JSON.stringify(path)}); console.log("held"); setInterval(() => {}, 1000);`;
  const args = ["--import", "tsx", "-C", "@postern/source", "--input-type=module", "-e", holder];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  expect(() => lockFile(path)).toThrow(StoreLockedError);
  child.kill("SIGKILL");
  await once(child, "exit");
  lockFile(path)[Symbol.dispose]();
});
