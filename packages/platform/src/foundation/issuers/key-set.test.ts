import { generateKeyPairSync } from "node:crypto";
import { expect, it } from "vitest";
import { keySetError, readKeySet } from "./key-set.ts";

const { n = "" } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
const exponent = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(512, "0"), "hex").toString("base64url");
const taken = (e: bigint): number => readKeySet(JSON.stringify({ keys: [{ kty: "RSA", n, e: exponent(e) }] })).length;

it.each([3n, 65_537n, 2n ** 31n - 1n])("RSA keys with the exponent %s are taken", (e) => {
  expect(taken(e)).toBe(1);
});

// With one as long as the modulus, a verification takes fifty times as long.
it.each([1n, 4n, 2n ** 31n + 1n, 2n ** 64n + 1n, 2n ** 2047n + 1n])(
  "RSA keys with the exponent %s are passed over",
  (e) => {
    expect(taken(e)).toBe(0);
  },
);

it("a key whose curve is no text is passed over", () => {
  const keys = [{ kty: "EC", crv: { toString: 1, valueOf: 1 }, x: "a", y: "a" }];
  expect(readKeySet(JSON.stringify({ keys }))).toEqual([]);
  expect(keySetError(JSON.stringify({ keys }))).toContain("must contain a key for signatures");
});
