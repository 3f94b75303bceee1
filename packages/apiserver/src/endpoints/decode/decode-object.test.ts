import { describe, expect, it } from "vitest";
import { unrecognizedError } from "./decode-object.ts";

const KEY = "pst_abcdefgh23_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6";
const hexadecimal = (text: string) => Buffer.from(text).toString("hex");
const excerptOf = (body: string) =>
  /unknown \((.*)\)$/.exec(unrecognizedError({ kind: "Key" }, Buffer.from(body), "unknown").message)?.[1];

describe("the error for an unreadable body", () => {
  it.each([
    ["", "<empty>"],
    ['{"kind":"Key"', '{"kind":"Key"'],
    ['{"apiVersion":"v1","kind":"Key","x', '{"apiVersion":"v1","kind":"Key ...'],
    ["garbage", hexadecimal("garbage")],
    ["x".repeat(31), `${hexadecimal("x".repeat(30))} ...`],
  ])("is its beginning, as upstream: %j", (body, shown) => expect(excerptOf(body)).toBe(shown));

  it.each([
    [KEY, `${hexadecimal("pst_abcdefgh23_")}<redacted> ...`],
    [`{"${KEY}`, '{"pst_abcdefgh23_<redacted> ...'],
    ['{"spec":{"key":"chosen-by-a-client', '{"spec":{"key": ...'],
    ['{"key":"x', '{"key": ...'],
    ["spec:\n  key: chosen-by-a-client", `${hexadecimal("spec:\n  key:")} ...`],
    ["token=chosen-by-a-client", `${hexadecimal("token=")} ...`],
  ])("is nothing of a credential: %j", (body, shown) => expect(excerptOf(body)).toBe(shown));
});
