import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { followFiles } from "./follow-files.ts";
import { createWorkspace } from "./testing/openssl.ts";

const MINUTE = 60_000;
const settle = () => new Promise(setImmediate);

it("looks once a minute, also where the directory cannot be watched", async () => {
  using workspace = createWorkspace();
  const { scheduler, advance } = manualTime();
  let looks = 0;
  using _ = followFiles([workspace.path("absent/file")], scheduler, async () => void looks++);
  for (let minute = 1; minute <= 3; minute++) {
    advance(MINUTE);
    await settle();
    expect(looks).toBe(minute);
  }
});

it("watches a directory that was replaced from the next minute on", async () => {
  using workspace = createWorkspace();
  const time = manualTime();
  mkdirSync(workspace.path("tls"));
  let looks = 0;
  using _ = followFiles([workspace.path("tls/file")], time.scheduler, async () => void looks++);
  rmSync(workspace.path("tls"), { recursive: true });
  mkdirSync(workspace.path("tls"));
  time.advance(MINUTE);
  await settle();
  const before = looks;
  writeFileSync(workspace.path("tls/file.new"), "x");
  renameSync(workspace.path("tls/file.new"), workspace.path("tls/file"));
  // The timer of a look beside that of the next minute.
  await expect.poll(() => time.waiting).toBe(2);
  time.advance(1_000);
  await settle();
  expect(looks).toBe(before + 1);
});

it("looks again for a change during a look, and never twice at a time", async () => {
  using workspace = createWorkspace();
  const { scheduler, advance } = manualTime();
  const open: (() => void)[] = [];
  let looks = 0;
  const look = () => {
    looks++;
    return new Promise<void>((resolve) => open.push(resolve));
  };
  using following = followFiles([workspace.path("file")], scheduler, look);
  for (let change = 0; change < 3; change++) {
    following.lookIn(0);
    advance(0);
  }
  expect(looks).toBe(1);
  open.shift()?.();
  await settle();
  expect(looks).toBe(2);
  open.shift()?.();
  await settle();
  expect(looks).toBe(2);
});

it("leaves no timer behind", () => {
  using workspace = createWorkspace();
  const time = manualTime();
  const following = followFiles([workspace.path("file")], time.scheduler, async () => undefined);
  following.lookIn(5);
  following[Symbol.dispose]();
  following.lookIn(5);
  expect(time.waiting).toBe(0);
});
