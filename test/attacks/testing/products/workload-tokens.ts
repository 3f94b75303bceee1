// Tokens of workloads that trust rules judge, from an issuer whose keys stand in the rules.

import { generateKeyPairSync, sign } from "node:crypto";

export const ISSUER = "https://issuer.products.example";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const WORKLOAD_KEYS = JSON.stringify({
  keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256", use: "sig" }],
});
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signed, and valid for five minutes, with these claims. */
export function workloadToken(claims: object): string {
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now, nbf: now - 5, exp: now + 300 };
  const content = `${encode({ alg: "ES256", kid: "one", typ: "JWT" })}.${encode({ iss: ISSUER, sub: "workload", aud: "postern", ...times, ...claims })}`;
  return `${content}.${sign("sha256", Buffer.from(content), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}
