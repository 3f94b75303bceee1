// The proof of a request for a key: the key is bound to the pair of the client then (RFC 9449, section 5).

import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { Confirmation } from "./proof-of-possession.ts";
import type { ProofVerifier } from "./proof-verifier.ts";

/** A proof that its key has not signed, or that was used before. */
export class InvalidProofError extends Error {
  override readonly name = "InvalidProofError";
}

/** The bond of a key for this owner. Rejects with InvalidProofError, or with ApiError 429. */
export type Confirm = (owner: Pick<AccessKeyOwner, "kind" | "name">) => Promise<Confirmation>;

/** Undefined for a request without a proof: its key is bound to nothing. Throws ApiError 401 for what is no proof for the request. */
export function confirmationBy(request: ApiRequest, proofs: ProofVerifier): Confirm | undefined {
  if (request.headers["dpop"] === undefined) return undefined;
  const proof = proofs.read(request, undefined);
  return async ({ kind, name }) => {
    const confirmation = await proofs.confirmationOf(proof).catch(() => "");
    const why =
      confirmation === ""
        ? "its key (jwk) is not one for signatures"
        : (await proofs.refusalOf(proof, confirmation, `${kind} ${name}`))?.message;
    if (why === undefined) return confirmation;
    throw new InvalidProofError(`the DPoP proof: ${why}`);
  };
}
