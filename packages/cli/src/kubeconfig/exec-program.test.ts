import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { execProgram } from "./exec-program.ts";

const directory = mkdtempSync(join(tmpdir(), "exec-program-"));
afterAll(() => rmSync(directory, { recursive: true }));
const file = (name: string, mode: number): string => {
  const path = join(directory, name);
  writeFileSync(path, "");
  chmodSync(path, mode);
  return path;
};
const node = "/opt/node/bin/node";
const packageName = "postern@1.2.3";

it("names the script where it can be run", () => {
  const script = file("postern", 0o755);
  expect(execProgram({ execPath: node, script, packageName })).toEqual({ command: script, args: [] });
});

it("names Node and the script where the script cannot be run by itself", () => {
  const script = file("postern.js", 0o600);
  expect(execProgram({ execPath: node, script, packageName })).toEqual({ command: node, args: [script] });
});

it("names the single executable", () => {
  const alone = { command: "/usr/bin/postern", args: [] };
  expect(execProgram({ execPath: "/usr/bin/postern", script: undefined, packageName })).toEqual(alone);
  expect(execProgram({ execPath: "/usr/bin/postern", script: "/usr/bin/postern", packageName })).toEqual(alone);
});

it("names npx where npx runs it, whose cache does not stay", () => {
  const script = "/opt/cache/_npx/0123/node_modules/.bin/postern";
  expect(execProgram({ execPath: node, script, packageName })).toEqual({
    command: "npx",
    args: ["--yes", packageName],
  });
});
