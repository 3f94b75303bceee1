import { describe, expect, it } from "vitest";
import { createWarningRecorder, warningHeaders } from "./with-warnings.ts";

describe("createWarningRecorder", () => {
  it("drops duplicates and empty texts, and keeps the order", () => {
    const recorder = createWarningRecorder();
    for (const text of ["b", "a", "", "b"]) recorder.add(text);
    expect(recorder.texts).toEqual(["b", "a"]);
  });
});

describe("warningHeaders", () => {
  it.each([
    ["plain", '299 - "plain"'],
    ['unknown field "spec.x"', '299 - "unknown field \\"spec.x\\""'],
    ["back\\slash", '299 - "back\\\\slash"'],
    ["line\r\nbreak\u0000", '299 - "linebreak"'],
  ])("writes %j as %j", (text, header) => {
    expect(warningHeaders([text])).toEqual([header]);
  });

  it("leaves out what has nothing printable", () => {
    expect(warningHeaders(["\n"])).toEqual([]);
  });

  it("cuts no warning while all together are within 4096 runes", () => {
    const texts = ["ä".repeat(4000), "b".repeat(96)];
    expect(warningHeaders(texts).map((header) => Buffer.from(header, "latin1").toString().length)).toEqual([4008, 104]);
  });

  it("cuts each to 256 runes once they are over, and stops at 4096", () => {
    const texts = Array.from({ length: 20 }, (_, number) => String.fromCharCode(97 + number).repeat(300));
    const headers = warningHeaders(texts);
    expect(headers).toHaveLength(16);
    expect(headers[0]).toBe(`299 - "${"a".repeat(256)}"`);
  });
});
