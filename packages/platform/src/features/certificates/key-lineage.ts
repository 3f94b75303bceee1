// The ancestors of a cluster's credential on the platform: access keys, certificates, and the cluster in which it was created.

import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { CredentialLineage, LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import { watchFirst } from "@postern/apiserver/authentication/revocation-watch";
import { tokenWithProof } from "@postern/apiserver/request/credentials";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { accessKeyAnnotations } from "../access-keys/access-key-refusal.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import { isVoid, type KeyOrigin, originsOf } from "../access-keys/key-origins.ts";
import { sourceRefusalOfKey } from "../access-keys/key-sources.ts";
import { needsSignedProof, proofRefusal } from "../access-keys/proofs/proof-of-possession.ts";
import type { ProofVerifier } from "../access-keys/proofs/proof-verifier.ts";
import { readOrigins } from "../access-keys/record/sealed-access-key.ts";
import type { Directory } from "../directory/directory.ts";
import { keyReaches } from "./certificate-is-within.ts";
import type { CertificateLedger } from "./certificate-ledger.ts";
import type { RequestGrants } from "./certificate-refusal.ts";

export type KeyLineage = {
  /** Its ancestors; the last is the key of the creating request. */
  readonly keys: readonly KeyOrigin[];
  /** Serials of the certificates on the way. */
  readonly certificates: readonly string[];
  /** The virtual cluster in which the credential has all permissions of its holder. Absent for a space. */
  readonly place?: { readonly project: string; readonly virtualCluster: string } | undefined;
  /** uid of the approved access request that it was created with, and ends with. */
  readonly accessRequest?: string | undefined;
};

export const encodeLineage = ({ keys, certificates, place, accessRequest }: KeyLineage): CredentialLineage => ({
  keys: keys.map((origin) => ({ ...origin })),
  certificates: [...certificates],
  ...(place === undefined ? {} : { place: { ...place } }),
  ...(accessRequest === undefined ? {} : { accessRequest }),
});

/** A request by one credential that another one approved has both as parents. The last is the one that had the say. */
export function decodeLineage(lineage: CredentialLineage): readonly KeyLineage[] {
  const { requested, approved } = lineage;
  if (requested === undefined && approved === undefined) return [decodePart(lineage)];
  return [requested, approved].flatMap((part) => (isJsonObject(part) ? [decodePart(part)] : []));
}

function decodePart({ keys, certificates, place, accessRequest }: CredentialLineage): KeyLineage {
  const { project, virtualCluster } = isJsonObject(place) ? place : {};
  const isPlace = typeof project === "string" && typeof virtualCluster === "string";
  return {
    keys: readOrigins(keys),
    certificates: textsOf(certificates),
    ...(isPlace ? { place: { project, virtualCluster } } : {}),
    ...(typeof accessRequest === "string" ? { accessRequest } : {}),
  };
}

/**
 * The credential as a cluster sees it: credentials that an access key creates there have that key as parent. `accessRequest` gives the uid of the access
 * request without which the caller could do less there.
 */
export function withKeyLineage(
  credential: Credential | undefined,
  place: KeyLineage["place"],
  keys: Pick<AccessKeyIndex, "byId" | "byName">,
  accessRequest: () => string | undefined,
): Credential | undefined {
  if (credential === undefined || credential.lineage !== undefined) return credential;
  return {
    ...credential,
    lineage: () =>
      encodeLineage({
        keys: originsOf({ credential }, keys),
        certificates: [],
        place,
        accessRequest: accessRequest(),
      }),
  };
}

/** Why a credential with this lineage is refused at this address of a client; undefined where it is accepted. For the audit log. */
export function sourceRefusalOf(
  lineage: CredentialLineage,
  address: string,
  keys: Pick<AccessKeyIndex, "byUid">,
  users: Pick<Directory, "user">,
): string | undefined {
  for (const { keys: origins } of decodeLineage(lineage)) {
    const key = keys.byUid(origins.at(-1)?.uid ?? "");
    const refusal = key && sourceRefusalOfKey(key, address, users);
    if (refusal !== undefined) return `the key it was created with: ${refusal.message}`;
  }
  return undefined;
}

/** The same for the client certificate of its connection, or for the signed proof beside it. Rejects with ApiError 401 for what is no proof. */
export async function proofRefusalOf(
  lineage: CredentialLineage | undefined,
  request: ApiRequest,
  { index, proofs }: { readonly index: Pick<AccessKeyIndex, "byUid">; readonly proofs: ProofVerifier },
): Promise<string | undefined> {
  const token = tokenWithProof(request);
  const proof = token === undefined ? undefined : proofs.read(request, token);
  const makers = decodeLineage(lineage ?? {}).flatMap(
    ({ keys: origins }) => index.byUid(origins.at(-1)?.uid ?? "") ?? [],
  );
  const signers = makers.filter(({ confirmation }) => needsSignedProof(confirmation));
  const [signer] = signers;
  const isSigned = proof !== undefined && signer !== undefined;
  if (proof !== undefined && signer === undefined) return "the key it was created with is bound to no key pair";
  for (const { confirmation } of isSigned ? makers.filter((key) => !signers.includes(key)) : makers) {
    const refusal = proofRefusal(confirmation, request.peerCertificate());
    if (refusal !== undefined) return `the key it was created with: ${refusal.message}`;
  }
  if (!isSigned) return undefined;
  if (signers.some(({ confirmation }) => confirmation !== signer.confirmation))
    return "the keys it was created with are bound to different key pairs";
  const { kind, name } = signer.owner;
  const refusal = await proofs.refusalOf(proof, signer.confirmation, `${kind} ${name}`);
  return refusal && `the key it was created with: ${refusal.message}`;
}

export function createLineageVerifier(deps: {
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName" | "refusalOf" | "onRevoked">;
  readonly certificates: Pick<CertificateLedger, "find" | "refusalOf" | "onRevoked">;
  readonly names: Pick<PlatformNames, "name" | "projectNamespace">;
  readonly granted: RequestGrants;
}): LineageVerifier {
  const { keys, certificates, names, granted } = deps;
  const refusalOfGrant = ({ accessRequest }: KeyLineage): string | undefined =>
    accessRequest === undefined || granted.isLive(accessRequest)
      ? undefined
      : "the access request that it was created with has ended";
  const refusalOfKeys = ({ keys: origins, place }: KeyLineage): string | undefined => {
    const maker = origins.at(-1);
    if (maker === undefined) return undefined;
    if (isVoid(origins, (name) => keys.byName(name))) return "the access key that it was created with was compromised";
    const key = keys.byUid(maker.uid);
    if (key === undefined) return "the key it was created with does not exist";
    const why = keys.refusalOf(key);
    if (why !== undefined) return `the key it was created with is refused: ${why}`;
    if (place === undefined || keyReaches(key, place, names)) return undefined;
    return "has more permissions than the key it was created with";
  };
  const refusalOfCertificates = ({ certificates: serials }: KeyLineage): string | undefined => {
    const isOver = (serial: string): boolean =>
      certificates.refusalOf(serial, certificates.find(serial)?.instanceUid ?? "") !== undefined;
    return serials.some(isOver) ? "the certificate it was created with is not valid any more" : undefined;
  };
  return {
    judge(lineage) {
      const parts = decodeLineage(lineage);
      const origins = parts.flatMap(({ keys: made }) => made);
      const maker = origins.at(-1);
      let refusal: string | undefined;
      for (const part of parts) refusal ??= refusalOfGrant(part) ?? refusalOfKeys(part) ?? refusalOfCertificates(part);
      return {
        refusal,
        annotations: maker === undefined ? {} : accessKeyAnnotations(maker.name, origins.slice(0, -1)),
      };
    },
    onRevoked(lineage, listener) {
      const watches = decodeLineage(lineage).flatMap((part) => {
        const { keys: origins, certificates: serials, accessRequest } = part;
        const maker = keys.byUid(origins.at(-1)?.uid ?? "");
        return [
          ...(maker === undefined ? [] : [(end: () => void) => keys.onRevoked(maker.id, end)]),
          ...serials.map((serial) => (end: () => void) => certificates.onRevoked(serial, end)),
          ...(accessRequest === undefined
            ? []
            : [(end: () => void) => granted.onChange(() => void (refusalOfGrant(part) !== undefined && end()))]),
        ];
      });
      return watchFirst(watches)(listener);
    },
  };
}

const textsOf = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value) ? value.filter((item) => typeof item === "string") : [];
