import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { fileSystemRisk, riskOf } from "./file-system-risk.ts";

const store = (path: string) => ({ kind: "sqlite", path }) as const;

it("finds a store in memory by its folder", async ({ skip }) => {
  const mounts = await readFile("/proc/mounts", "utf8").catch(() => "");
  if (!mounts.includes(" /dev/shm tmpfs ")) skip("/dev/shm is no tmpfs here");
  const risk = await fileSystemRisk({ store: store("/dev/shm/postern.db") }, "linux");
  expect(risk?.message).toMatch(
    /^\/dev\/shm is in memory \(tmpfs\): the store is lost when the machine or the container stops/,
  );
  expect(risk?.remedy).toContain("--data-dir");
});

it.each([
  ["NFS", 0x6969],
  ["SMB", 0xff53_4d42],
  ["SMB", 0xfe53_4d42 | 0],
  ["9p", 0x0102_1997],
])("knows %s by its number", (name, type) => {
  expect(riskOf(type, "/data")?.message).toBe(
    `/data is on a network file system (${name}), where locks and writes of a database are not reliable: the store may be damaged`,
  );
});

it("says nothing of disks, of other stores, of folders that are not there and of other systems", async () => {
  const [ext4, xfs, btrfs, overlay] = [0xef53, 0x5846_5342, 0x9123_683e, 0x794c_7630];
  expect([ext4, xfs, btrfs, overlay].map((type) => riskOf(type, "/data"))).toEqual(Array(4).fill(undefined));
  expect(await fileSystemRisk({ store: { kind: "memory" } })).toBeUndefined();
  expect(await fileSystemRisk({ store: store("/nothing/is/here/postern.db") }, "linux")).toBeUndefined();
  expect(await fileSystemRisk({ store: store("/dev/shm/postern.db") }, "darwin")).toBeUndefined();
});
