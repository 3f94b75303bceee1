import { isApiError } from "@postern/apimachinery/meta/api-error";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, it } from "vitest";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { AccessKeyRefusedError } from "../access-key-refusal.ts";
import { createProofVerifier } from "./proof-verifier.ts";
import { createUsedProofs } from "./used-proofs.ts";

/** The challenge to a proof without a nonce for this URL. */
async function challengeTo(htu: string, own: string): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const dpop = await new SignJWT({ htm: "GET", htu, jti: "1" })
    .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: await exportJWK(publicKey) })
    .setIssuedAt()
    .sign(privateKey);
  const proofs = createProofVerifier({
    keyRing: createFixedKeyRing(new Uint8Array(32)),
    clock: systemRuntime.clock,
    addresses: { url: () => own, isOwnName: () => false },
    used: createUsedProofs(),
  });
  try {
    proofs.read({ method: "GET", path: "/version", basePath: "", headers: { dpop } }, undefined);
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
