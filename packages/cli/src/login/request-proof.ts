// Signs a proof of each request with the key pair of POSTERN_DPOP_KEY, for an access key in POSTERN_TOKEN that is bound to it.
// Source: RFC 9449

import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { RequestProof } from "@postern/client/api-client";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";

export const DPOP_KEY = "POSTERN_DPOP_KEY";

/** Undefined without one. Throws UsageError. */
export async function environmentKeyPair(environment: CommandContext["environment"]): Promise<KeyObject | undefined> {
  const path = environment[DPOP_KEY] ?? "";
  if (path === "") return undefined;
  const pem = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${path} of ${DPOP_KEY} (${error.code})`);
  });
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;
  } catch {
    // Also a key with a passphrase.
  }
  throw new UsageError(`${path} of ${DPOP_KEY} contains no private key of the curve P-256 in PEM`);
}

/** Proofs for a server at this address. */
export function createRequestProof(server: string, privateKey: KeyObject): RequestProof {
  const jwk = createPublicKey(privateKey).export({ format: "jwk" });
  let nonce: string | undefined;
  return {
    async headers({ method, path }, token) {
      // Loads the library only here: most commands start without it.
      const { SignJWT } = await import("jose");
      const url = new URL(`${server}${path}`);
      const claims = {
        ...{ jti: randomUUID(), htm: method, htu: `${url.origin}${url.pathname}`, ath: hashOf(token) },
        ...(nonce === undefined ? {} : { nonce }),
      };
      const proof = new SignJWT(claims).setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk }).setIssuedAt();
      return { authorization: `DPoP ${token}`, dpop: await proof.sign(privateKey) };
    },
    isWantedAgain({ status, header }) {
      nonce = header("dpop-nonce") ?? nonce;
      return status === 401 && /error="use_dpop_nonce"/.test(header("www-authenticate") ?? "");
    },
  };
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64url");
