import { expect, test } from "vitest";
import { packOutcomes, unpackOutcomes, unpackWrites, WritePacker } from "./packed-writes.ts";
import type { Write, WriteResult } from "./revision-table.ts";

test("writes arrive as they were added, each with its own value", () => {
  const packer = new WritePacker();
  const added: Write[] = [
    { key: "/a", expected: undefined, value: Buffer.from("first") },
    { key: "/b", expected: 7, value: undefined },
    { key: "/c", expected: 0, value: Buffer.from("") },
    { key: "/d", expected: 8, value: Buffer.from("second") },
  ];
  for (const write of added) packer.add(write);
  expect(packer.count).toBe(4);
  const { writes, bytes } = packer.take();
  expect([...unpackWrites(structuredClone(writes), bytes)]).toEqual(added);
  expect(packer.count).toBe(0);
  expect(packer.take().writes.keys).toEqual([]);
});

test("outcomes arrive as they were, each with what was there before", () => {
  const row = (revision: number, text: string) => ({ key: "/x", revision, value: Buffer.from(text) });
  const results: WriteResult[] = [
    { type: "written", revision: 10, before: undefined },
    { type: "written", revision: 11, before: row(3, "old") },
    { type: "full" },
    { type: "refused", before: undefined },
    { type: "refused", before: row(4, "other") },
  ];
  const { outcomes, bytes } = packOutcomes(results);
  expect(unpackOutcomes(structuredClone(outcomes), bytes)).toEqual([
    { type: "written", revision: 10, before: undefined },
    { type: "written", revision: 11, before: { revision: 3, value: Buffer.from("old") } },
    { type: "full" },
    { type: "refused", before: undefined },
    { type: "refused", before: { revision: 4, value: Buffer.from("other") } },
  ]);
});
