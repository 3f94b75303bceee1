import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { describe, expect, it } from "vitest";
import { readAuthorityRecord, rotated } from "./authority-record.ts";

const create = (generation: number) => ({ certificate: `certificate ${generation}`, privateKey: `key ${generation}` });
const earlier = readAuthorityRecord({ certificate: "certificate 1", privateKey: "key 1" });
const stored = (record: object): JsonObject => JSON.parse(JSON.stringify(record));

describe("the record of a CA", () => {
  it("is read from an earlier release, and as it was written", () => {
    expect(earlier).toEqual({ current: create(1), generation: 1 });
    const prepared = rotated(earlier, "Prepare", 5, create);
    expect(readAuthorityRecord(stored(prepared))).toEqual(prepared);
    const completed = rotated(prepared, "Complete", 7, create);
    expect(readAuthorityRecord(stored(completed))).toEqual(completed);
  });

  it.each([{}, { certificate: "c" }, { current: {}, generation: 2 }])("is refused where it is %j", (record) => {
    expect(() => readAuthorityRecord(record)).toThrow("incomplete");
  });
});

describe("a step of a rotation", () => {
  const prepared = rotated(earlier, "Prepare", 5, create);

  it("keeps the current CA beside the new one, and changes nothing when it is repeated", () => {
    expect(prepared).toEqual({ current: create(1), generation: 2, next: { ...create(2), preparedAt: 5 } });
    expect(rotated(prepared, "Prepare", 6, create)).toBe(prepared);
  });

  it("leaves one CA, the new one or the earlier one", () => {
    expect(rotated(prepared, "Complete", 7, create)).toEqual({ current: create(2), generation: 2, rotatedAt: 7 });
    expect(rotated(prepared, "Abort", 7, create)).toEqual({ current: create(1), generation: 2 });
  });

  it("never makes two CAs of one number", () => {
    const aborted = rotated(prepared, "Abort", 7, create);
    expect(rotated(aborted, "Prepare", 8, create).next).toMatchObject(create(3));
  });

  it.each(["Complete", "Abort"] as const)("%s needs a preparation", (action) => {
    expect(() => rotated(earlier, action, 5, create)).toThrow("no rotation of the CA is prepared");
    const completed = rotated(prepared, "Complete", 0, create);
    expect(() => rotated(completed, action, 5, create)).toThrow("was completed at 1970-01-01T00:00:00.000Z");
  });
});
