import { describe, expect, it } from "vitest";
import { ApiError, badRequestError, invalidObjectError } from "../meta/api-error.ts";
import { invalidError } from "../validation/field-error.ts";
import { redactCredentials } from "./redact-credentials.ts";

const HANDLE = "pst_abcdefgh23_";
const SECRET = "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB4cD5eF6";
const TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0aaaa.";
const hexadecimal = (text: string) => Buffer.from(text).toString("hex");

describe("a text that quotes what was sent", () => {
  it.each([
    ["an access key", `x "${HANDLE}${SECRET}" y`, `x "${HANDLE}<redacted>" y`],
    ["one of another platform", `key_${"a".repeat(10)}_${SECRET}`, `key_${"a".repeat(10)}_<redacted>`],
    ["one that is cut off", `(${HANDLE}${SECRET.slice(0, 12)} ...)`, `(${HANDLE}<redacted> ...)`],
    [
      "one in hexadecimal",
      `(${hexadecimal(`key: ${HANDLE}${SECRET}`)} ...)`,
      `(${hexadecimal(`key: ${HANDLE}`)}<redacted> ...)`,
    ],
    ["two of them", `${HANDLE}${SECRET},${HANDLE}${SECRET}`, `${HANDLE}<redacted>,${HANDLE}<redacted>`],
    ["a token", `Bearer ${TOKEN}${SECRET}`, `Bearer ${TOKEN}<redacted>`],
    [
      "a private key",
      `-----BEGIN EC PRIVATE KEY-----\\n${SECRET}\\n-----END EC PRIVATE KEY-----`,
      "-----BEGIN EC PRIVATE KEY-----<redacted>-----END EC PRIVATE KEY-----",
    ],
  ])("does not show %s", (_, text, shown) => {
    expect(redactCredentials(text)).toBe(shown);
    expect(redactCredentials(shown)).toBe(shown);
  });

  it.each([
    `Invalid value: "app_production_frankfurt"`,
    `"${HANDLE.slice(0, -1)}" not found`,
    `${HANDLE}${SECRET.slice(0, 7)}`,
    "a SHA-256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "(7b226b696e64223a224f776e65644163636573734b6579227d ...)",
    "eyJhbGciOiJFUzI1NiJ9",
  ])("shows all else: %s", (text) => expect(redactCredentials(text)).toBe(text));
});

describe("a refusal", () => {
  it("shows no credential in its message, its causes, or the name that it is about", () => {
    const key = HANDLE + SECRET;
    const field = `metadata.labels[${key}]`;
    const error = invalidObjectError({ group: "", kind: "Thing" }, key, [invalidError(field, key, "must be short")]);
    expect(error.message).toContain(`${HANDLE}<redacted>`);
    for (const text of [JSON.stringify(error.toStatus()), error.message, String(error.stack)]) {
      expect(text).not.toContain(SECRET.slice(0, 8));
    }
    expect(badRequestError("as it is")).toEqual(new ApiError({ code: 400, reason: "BadRequest", message: "as it is" }));
  });
});
