import { createHmac, randomBytes, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { accessKeyDigest } from "./access-key-digest.ts";

test("the digest of a value is HMAC-SHA-256", () => {
  for (let round = 0; round < 200; round++) {
    const key = new Uint8Array(randomBytes(randomInt(0, 65)));
    const value = randomBytes(randomInt(0, 200)).toString(round % 2 === 0 ? "latin1" : "base64url");
    const expected = createHmac("sha256", key).update(value, "utf8").digest("hex");
    // Again, with what was kept of the key.
    for (let time = 0; time < 2; time++) {
      expect(Buffer.from(accessKeyDigest(key, value)).toString("hex"), `${key} ${value}`).toBe(expected);
    }
  }
});

test("a key that HMAC would have to hash first is refused", () => {
  expect(() => accessKeyDigest(new Uint8Array(65), "value")).toThrow(RangeError);
});
