import { isApiError } from "@postern/apimachinery/meta/api-error";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, it } from "vitest";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { AccessKeyRefusedError } from "../access-key-refusal.ts";
import { createProofVerifier, type ProofVerifier } from "./proof-verifier.ts";
import { createUsedProofs } from "./used-proofs.ts";

const verifierAt = (own: string) =>
  createProofVerifier({
    keyRing: createFixedKeyRing(new Uint8Array(32)),
    clock: systemRuntime.clock,
    addresses: { url: () => own, isOwnName: () => false },
    used: createUsedProofs(),
  });

/** The challenge to a proof without a nonce for this URL. */
async function challengeTo(htu: string, own: string): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const dpop = await new SignJWT({ htm: "GET", htu, jti: "1" })
    .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: await exportJWK(publicKey) })
    .setIssuedAt()
    .sign(privateKey);
  try {
    verifierAt(own).read({ method: "GET", path: "/version", basePath: "", headers: { dpop } }, undefined);
  } catch (error) {
    if (!isApiError(error) || !(error.cause instanceof AccessKeyRefusedError)) throw error;
    return /error="(\w+)"/.exec(error.cause.headers?.["www-authenticate"] ?? "")?.[1] ?? "";
  }
  return "none";
}

// Behind a proxy that ends TLS, no name of the serving certificate is known to clients.
it.each([
  ["https://platform.example.com", "https://platform.example.com:443"],
  ["https://platform.example.com:443", "https://platform.example.com:443"],
  ["https://platform.example.com:8443", "https://Platform.Example.com:8443"],
  ["https://[2001:db8::1]:8443", "https://[2001:DB8:0::1]:8443"],
])("a proof for %s is for the server at %s", async (origin, own) => {
  expect(await challengeTo(`${origin}/version`, own)).toBe("use_dpop_nonce");
});

it.each([
  ["http://platform.example.com:443", "https://platform.example.com:443"],
  ["https://platform.example.com:444", "https://platform.example.com:443"],
  ["https://other.example.com", "https://platform.example.com:443"],
  ["https://platform.example.com", ""],
])("a proof for %s is not for the server at %j", async (origin, own) => {
  expect(await challengeTo(`${origin}/version`, own)).toBe("invalid_dpop_proof");
});

it("a public key has the same confirmation with members that are not its own, of any size", async () => {
  const { publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)) };
  const confirmationOf = (more: object) =>
    verifierAt("").confirmationOf({ jwk: { ...jwk, ...more } } as unknown as Parameters<
      ProofVerifier["confirmationOf"]
    >[0]);
  expect(await confirmationOf({ issued: 2n ** 64n })).toBe(await confirmationOf({}));
});
