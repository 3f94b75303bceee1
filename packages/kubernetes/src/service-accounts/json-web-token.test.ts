import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { openToken, signToken } from "./json-web-token.ts";
import { createServiceAccountKeyPem, serviceAccountKeyFromPem } from "./service-account-key.ts";

const key = serviceAccountKeyFromPem(createServiceAccountKeyPem());
const other = serviceAccountKeyFromPem(createServiceAccountKeyPem());
const claims = { sub: "somebody", exp: 10 };
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const ours = { alg: "ES256", kid: key.id };

/** Signed as we sign, with any header. */
function signed(header: object, payload: string = encode(claims), { signingKey } = key): string {
  const content = `${encode(header)}.${payload}`;
  const bytes = sign("sha256", Buffer.from(content), { key: signingKey, dsaEncoding: "ieee-p1363" });
  return `${content}.${bytes.toString("base64url")}`;
}
const token = signToken(claims, key);
const [header = "", payload = "", signature = ""] = token.split(".");
const publicPem = key.verificationKey.export({ type: "spki", format: "pem" });

describe("a signed token (security book 20)", () => {
  it("gives back its claims to the key that signed it", () => {
    expect(openToken(token, key)).toEqual(claims);
    expect(openToken(signed(ours), key)).toEqual(claims);
  });

  it.each([
    ["of another key", signToken(claims, other)],
    ["of another key under our name", signed(ours, undefined, other)],
    ["that names another key", signed({ ...ours, kid: other.id })],
    ["that names no key", signed({ alg: "ES256" })],
    ["with a path as the name of its key", signed({ ...ours, kid: "../../dev/null" })],
    ["without a signature", `${header}.${payload}.`],
    ["with algorithm none", `${encode({ ...ours, alg: "none" })}.${payload}.`],
    ["with algorithm none, signed", signed({ ...ours, alg: "none" })],
    ["with the algorithm in other letters", signed({ ...ours, alg: "es256" })],
    [
      "signed with the public key as a shared secret",
      `${encode({ ...ours, alg: "HS256" })}.${payload}.${createHmac("sha256", publicPem)
        .update(`${encode({ ...ours, alg: "HS256" })}.${payload}`)
        .digest("base64url")}`,
    ],
    ["with extensions that must be understood", signed({ ...ours, crit: ["exp"] })],
    [
      "that brings its own key",
      signed({ ...ours, jwk: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }) }),
    ],
    ["that says where to fetch a key", signed({ ...ours, jku: "https://evil.example.com/keys" })],
    ["with other claims", `${header}.${encode({ ...claims, sub: "root" })}.${signature}`],
    [
      "with a signature in DER",
      `${header}.${payload}.${sign("sha256", Buffer.from(`${header}.${payload}`), key.signingKey).toString("base64url")}`,
    ],
    ["with a signature of zeros", `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`],
    ["with padding", `${token}==`],
    ["with a fourth part", `${token}.x`],
    ["with two parts", `${header}.${payload}`],
    ["whose claims are no object", signed(ours, encode(["sub"]))],
    ["whose claims are no JSON", signed(ours, Buffer.from("{").toString("base64url"))],
    ["that is empty", ""],
    ["that is very long", signed(ours, encode({ sub: "x".repeat(20_000) }))],
  ])("%s allows nothing", (_what, text) => {
    expect(openToken(text, key)).toBeUndefined();
  });

  it("can be written in one way only", () => {
    // The last character of 64 bytes in base64 carries 4 unused bits.
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(token.slice(-1));
    const twin = token.slice(0, -1) + alphabet[(last & ~15) | ((last + 1) & 15)];
    expect(twin).not.toBe(token);
    expect(openToken(twin, key)).toBeUndefined();
  });

  it("needs a key on the curve P-256", () => {
    const pem = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" });
    expect(() => serviceAccountKeyFromPem(pem.toString())).toThrow("P-256");
  });
});
