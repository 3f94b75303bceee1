// An authenticated certificate, checked against the record of its serial number.

import type { Authentication, CredentialAnnotations } from "@postern/apiserver/authentication/authenticator";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import { watchFirst } from "@postern/apiserver/authentication/revocation-watch";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { accessKeyAnnotations, keyNotFoundError } from "../access-keys/access-key-refusal.ts";
import type { CertificateLedger } from "./certificate-ledger.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";
import { encodeLineage } from "./key-lineage.ts";

const NOTHING: Disposable = { [Symbol.dispose]: () => {} };

/** The key that it was asked for with, and those before. */
function annotationsOf(certificate: IssuedCertificate | undefined): CredentialAnnotations {
  const origins = certificate?.issuedTo?.origins ?? [];
  const last = origins.at(-1);
  return last === undefined ? {} : accessKeyAnnotations(last.name, origins.slice(0, -1));
}

/** Credentials that are created with a certificate have it and its ancestors as parents. */
const lineageOf = (serial: string, certificate: IssuedCertificate | undefined): CredentialLineage => {
  const { origins = [], project, virtualCluster } = certificate?.issuedTo ?? {};
  const place = project === undefined || virtualCluster === undefined ? undefined : { project, virtualCluster };
  return encodeLineage({ keys: origins, certificates: [serial], place });
};

/** Fails with ApiError 401, in the one text for all credentials, for a certificate that is revoked or unknown. */
export function checkedCertificate(
  proven: Authentication,
  request: Pick<ApiRequest, "peerCertificate" | "remoteAddress">,
  instanceUid: string,
  ledger: Pick<CertificateLedger, "find" | "refusalOf" | "whenFound" | "onRevoked">,
): Awaitable<Authentication> {
  const serial = request.peerCertificate()?.serialNumber ?? "";
  const check = (): Authentication => checkedNow(proven, serial, instanceUid, ledger);
  const found = ledger.whenFound(serial, instanceUid, request.remoteAddress);
  return found === undefined ? check() : found.then(check);
}

function checkedNow(
  { user, credential }: Authentication,
  serial: string,
  instanceUid: string,
  ledger: Pick<CertificateLedger, "find" | "refusalOf" | "onRevoked">,
): Authentication {
  const why = ledger.refusalOf(serial, instanceUid);
  const annotations = annotationsOf(ledger.find(serial));
  if (why !== undefined) throw keyNotFoundError(why, credential?.id, annotations);
  if (credential === undefined) return { user };
  return {
    user,
    credential: {
      ...credential,
      annotations,
      lineage: () => lineageOf(serial, ledger.find(serial)),
      onRevoked: watchFirst([
        (listener) => credential.onRevoked?.(listener) ?? NOTHING,
        (listener) => ledger.onRevoked(serial, listener),
      ]),
    },
  };
}
