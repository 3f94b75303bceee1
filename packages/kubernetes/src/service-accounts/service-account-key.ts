// The key pairs with which one cluster signs and verifies the tokens of its ServiceAccounts.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";

export type ServiceAccountKey = {
  readonly signingKey: KeyObject;
  readonly verificationKey: KeyObject;
  /** Follows from the public key. Tokens name it in their header. */
  readonly id: string;
};

/** The keys of a cluster now: they change while it runs. */
export type ServiceAccountKeys = {
  /** The first one signs; tokens of all of them are accepted. Never empty. */
  readonly current: readonly [ServiceAccountKey, ...ServiceAccountKey[]];
  onChange(listener: () => void): Disposable;
};

/** One key that stays. */
export const onlyKey = (key: ServiceAccountKey): ServiceAccountKeys => ({
  current: [key],
  onChange: () => ({ [Symbol.dispose]: () => undefined }),
});

/** A new key, as PKCS #8 in PEM. Secret. */
export const createServiceAccountKeyPem = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** Throws if the text is not a private key on the curve P-256. */
export function serviceAccountKeyFromPem(pem: string): ServiceAccountKey {
  const signingKey = createPrivateKey(pem);
  if (signingKey.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error("the key of ServiceAccount tokens must be on the curve P-256");
  }
  const verificationKey = createPublicKey(signingKey);
  const publicKeyInfo = verificationKey.export({ type: "spki", format: "der" });
  return { signingKey, verificationKey, id: createHash("sha256").update(publicKeyInfo).digest("base64url") };
}
