import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { extendedTTL } from "./extended-ttl.ts";

const DAY = 86_400;
const NOW = Date.parse("2026-11-28T12:00:00Z");
const key = (age: number, spec: object, end?: string): OwnedAccessKey =>
  ({
    metadata: { name: "ci", creationTimestamp: new Date(NOW - age * DAY * 1_000).toISOString() },
    spec,
    status: end === undefined ? {} : { expirationTimestamp: end },
  }) as OwnedAccessKey;

it.each([
  ["counts from the creation", key(10, { ttl: 12 * DAY }, "2026-11-30T12:00:00Z"), 40 * DAY],
  ["never ends earlier", key(10, { ttl: 365 * DAY }, "2027-11-18T12:00:00Z"), 365 * DAY],
  ["restarts with each use", key(10, { ttl: DAY, ttlAfterLastActivity: true }, "2026-11-29T12:00:00Z"), 30 * DAY],
  ["has no end, and gets none", key(10, {}), 0],
  ["has the end of the server's default", key(10, {}, "2026-11-30T12:00:00Z"), 40 * DAY],
])("a key that %s", (_what, given, ttl) => {
  expect(extendedTTL(given, 30, NOW)).toBe(ttl);
});
