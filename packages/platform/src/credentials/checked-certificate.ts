// A certificate that proved who somebody is, checked against what is known of its serial.

import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { untilFirst } from "@postern/apiserver/authentication/credential-end";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { keyNotFoundError } from "../authentication/access-key-authenticator.ts";
import type { CertificateLedger } from "./certificate-ledger.ts";

const NOTHING: Disposable = { [Symbol.dispose]: () => {} };

/** Throws ApiError 401, in the one text for all credentials, for a certificate that was revoked or that nobody knows. */
export function checkedCertificate(
  { user, credential }: Authentication,
  { peerCertificate }: Pick<ApiRequest, "peerCertificate">,
  instanceUid: string,
  ledger: Pick<CertificateLedger, "refusalOf" | "onRevoked">,
): Authentication {
  const serial = peerCertificate()?.serialNumber ?? "";
  const why = ledger.refusalOf(serial, instanceUid);
  if (why !== undefined) throw keyNotFoundError(why, credential?.id);
  if (credential === undefined) return { user };
  return {
    user,
    credential: {
      ...credential,
      onRevoked: untilFirst([
        (listener) => credential.onRevoked?.(listener) ?? NOTHING,
        (listener) => ledger.onRevoked(serial, listener),
      ]),
    },
  };
}
