import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { expect, it } from "vitest";
import { makeKeyPair } from "./p256-key-pair.ts";

it("writes keys as OpenSSL does, also those with zeros in front", { timeout: 30_000 }, () => {
  // One key in 256 begins with a zero.
  for (let count = 0; count < 1_000; count++) {
    const { privateKeyPem, publicKeyInfo } = makeKeyPair();
    if (count % 20 !== 0 && !privateKeyPem.includes("CAQEEIA")) continue;
    const privateKey = createPrivateKey(privateKeyPem);
    expect(privateKey.export({ type: "pkcs8", format: "pem" })).toBe(privateKeyPem);
    const publicKey = createPublicKey(privateKeyPem);
    expect(publicKey.export({ type: "spki", format: "der" })).toEqual(Buffer.from(publicKeyInfo));
    const text = Buffer.from("signed");
    expect(verify("sha256", text, publicKey, sign("sha256", text, privateKey))).toBe(true);
  }
});
