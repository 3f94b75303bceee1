import { expect, it } from "vitest";
import { hasRange, queryOf } from "./audit-query.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");

it("asks for changes of the last day at first, and for no reads of the console", () => {
  expect(queryOf({}, NOW)).toEqual({ since: "2026-11-28T12:00:00.000Z", changes: "true", parts: "48" });
  expect(queryOf({ show: "all", key: " ci ", since: "0" }, NOW)).toEqual({ key: "ci", pages: "false", parts: "48" });
  expect(queryOf({ show: "refused", pages: "true" }, NOW)).toMatchObject({ refused: "true" });
  expect(queryOf({ show: "refused", pages: "true" }, NOW)).not.toHaveProperty("pages");
});

it("asks for the part of the time that was chosen", () => {
  const search = { since: "2026-11-28T10:00:00.000Z", until: "2026-11-28T11:00:00.000Z" };
  expect(queryOf(search, NOW)).toMatchObject(search);
  expect([hasRange(search), hasRange({ since: "3600" }), hasRange({})]).toEqual([true, false, false]);
});
