import { expect, it } from "vitest";
import { AuditCounts } from "./audit-counts.ts";

const HOUR_MS = 3_600_000;
const at = (hour: number): string => new Date(hour * HOUR_MS).toISOString();

it("puts each request into its part, also what the clock wrote before the first and after the last", () => {
  const counts = new AuditCounts(4, 0, 4 * HOUR_MS);
  for (const hour of [-1, 0, 0.5, 3.9, 4, 9]) counts.add({ time: at(hour), code: 200, sourceIP: "a" });
  counts.add({ time: at(1), code: 429, sourceIP: "b" });
  counts.add({ time: "never", code: 200, sourceIP: "c" });
  expect(counts.read()).toEqual({
    from: at(0),
    until: at(4),
    requests: [3, 1, 0, 3],
    refused: [0, 1, 0, 0],
    sources: [
      { sourceIP: "a", requests: 6, refused: 0 },
      { sourceIP: "b", requests: 1, refused: 1 },
    ],
    moreSources: 0,
  });
});

it("names the most frequent addresses among a hundred thousand, in bounded memory", () => {
  const counts = new AuditCounts(1, 0, HOUR_MS);
  for (let index = 0; index < 100_000; index++) {
    counts.add({ time: at(0.5), code: 200, sourceIP: index % 2 === 0 ? "office" : `bot-${index}` });
  }
  const { requests, sources, moreSources } = counts.read();
  expect(requests).toEqual([100_000]);
  expect([sources.length, sources[0], moreSources]).toEqual([
    10,
    { sourceIP: "office", requests: 50_000, refused: 0 },
    991,
  ]);
});
