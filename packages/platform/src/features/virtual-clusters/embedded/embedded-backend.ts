// The backend of a virtual cluster that this process serves.

import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenPathError, internalError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import { watchFirst, watchRevocation } from "@postern/apiserver/authentication/revocation-watch";
import { GROUP_AUTHENTICATED, GROUP_MASTERS, type UserInfo } from "@postern/apiserver/authentication/user-info";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { presentedToken, tokenWithProof } from "@postern/apiserver/request/credentials";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { VersionInfo } from "@postern/apiserver/version/version-info";
import {
  looksLikeServiceAccountToken,
  SERVICE_ACCOUNT_CREDENTIAL,
} from "@postern/kubernetes/service-accounts/service-account-tokens";
import { isSystemName } from "../../../foundation/kinds/system-name.ts";
import { commonNameIn } from "../../../foundation/pki/common-name.ts";
import { makeKeyPair } from "../../../foundation/pki/p256-key-pair.ts";
import { keyNotFoundError } from "../../access-keys/access-key-refusal.ts";
import type { CatchUp } from "../../access-keys/index/catch-up.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import { checkedCertificate } from "../../certificates/checked-certificate.ts";
import { signSubject } from "../certificate-signing/sign-request.ts";
import type {
  ClientCertificateRequest,
  IssuedClientCertificate,
  VirtualClusterBackend,
} from "../virtual-cluster-backend.ts";
import { areRolesBound } from "./bind-roles.ts";
import type { CertificateHolders } from "./certificate-holders.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";
import type { EmbeddedClusters } from "./embedded-clusters.ts";

export type EmbeddedBackendDeps = {
  readonly clusters: EmbeddedClusters;
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup">;
  readonly runtime: Pick<Runtime, "clock" | "random">;
  readonly version: VersionInfo;
  /** CA certificates in PEM for the platform's endpoint, which is also that of its embedded clusters; undefined for public CAs. */
  readonly serverCertificateAuthority: string | undefined;
  /** Holders of certificates that are refused. Absent: none. */
  readonly holders?: CertificateHolders;
  /** The ledger of certificates, by serial number. Absent: all that the CA signed are valid. */
  readonly certificates?: Pick<CertificateLedger, "find" | "refusalOf" | "whenFound" | "onRevoked" | "noteUse">;
  /** Why a credential with this lineage is refused at this address of a client; undefined where it is accepted. Absent: all are. */
  readonly sourceRefusalOf?: (lineage: CredentialLineage, address: string) => string | undefined;
  /** The same for the proof of possession of a token's request. Rejects with ApiError 401 for what is none. Absent: none is needed. */
  readonly proofRefusalOf?: (
    lineage: CredentialLineage | undefined,
    request: ApiRequest,
  ) => Promise<string | undefined>;
  /** For tokens whose ServiceAccount another server may just have created. Default: memory shows everything that has been written. */
  readonly catchUp?: CatchUp;
};

/** `uid` is that of the instance. */
export function createEmbeddedBackend(deps: EmbeddedBackendDeps, uid: string): VirtualClusterBackend {
  const {
    clusters,
    runtime,
    names,
    version,
    serverCertificateAuthority,
    holders,
    certificates,
    sourceRefusalOf,
    proofRefusalOf,
    catchUp,
  } = deps;
  /** A token of another cluster is not valid here, even if it was authenticated before. */
  const accountCredential = `${SERVICE_ACCOUNT_CREDENTIAL}${uid}:`;
  /** Throws ApiError 401 for a credential that goes back to a key that is not accepted from there. */
  const checkSource = ({ credential }: Authentication, { remoteAddress }: ApiRequest): void => {
    const lineage = credential?.lineage?.();
    const why = lineage === undefined ? undefined : sourceRefusalOf?.(lineage, remoteAddress);
    if (why !== undefined) throw keyNotFoundError(why, credential?.id, credential?.annotations);
  };
  /** A certificate proves itself; a token that goes back to a bound key needs the proof as well. */
  const checkProof = async ({ credential }: Authentication, request: ApiRequest): Promise<void> => {
    const why = await proofRefusalOf?.(credential?.lineage?.(), request);
    if (why !== undefined) throw keyNotFoundError(why, credential?.id, credential?.annotations);
  };
  return {
    endpoint: "platform",
    isRemote: false,
    ownServer: undefined,
    serverCertificateAuthority,

    async proxy(context, user) {
      const cluster = await clusters.open(uid);
      const isOwnAccount = context.credential?.id.startsWith(accountCredential) === true;
      return await cluster.handle(context, isOwnAccount ? context.user : acceptedUser(user));
    },

    async authenticateCertificate(request) {
      if (request.peerCertificate() === undefined) return undefined;
      const proven = await verified(request);
      if (proven === undefined) return undefined;
      const authentication =
        certificates === undefined ? proven : await checkedCertificate(proven, request, uid, certificates);
      checkSource(authentication, request);
      if (holders?.isRefused(authentication.user) === true) return undefined;
      certificates?.noteUse(request);
      return holders === undefined ? authentication : untilRefused(authentication, holders);
    },

    async authenticateServiceAccount(request) {
      const token = presentedToken(request) ?? tokenWithProof(request);
      if (token === undefined) return undefined;
      const authenticate = async () => await (await clusters.open(uid)).serviceAccountTokens.authenticateToken(token);
      const first = await authenticate().catch(async (error: unknown) => {
        // Only for tokens with the signature of the cluster, which cannot be guessed.
        const caughtUp = isApiError(error) ? catchUp?.(request.remoteAddress) : undefined;
        if (caughtUp === undefined) throw error;
        await caughtUp;
        return await authenticate();
      });
      // Another server may just have prepared the key that signed it; such a text can be made up.
      const mayBeNew = first === undefined && looksLikeServiceAccountToken(token);
      const caughtUp = mayBeNew ? catchUp?.(request.remoteAddress, { isFormless: true }) : undefined;
      const authentication = caughtUp === undefined ? first : await caughtUp.then(authenticate);
      if (authentication?.credential === undefined) return undefined;
      checkSource(authentication, request);
      await checkProof(authentication, request);
      const { user, credential } = authentication;
      const id = `${accountCredential}${credential.id.slice(SERVICE_ACCOUNT_CREDENTIAL.length)}`;
      return { user, credential: { ...credential, id } };
    },

    async issueClientCertificate(request) {
      const names = [request.commonName, ...request.organizations];
      if (names.some(isSystemName)) throw forbiddenPathError("certificates are not issued for system names");
      // No authenticator of this server would accept it.
      if (names.some((name) => CONTROL_CHARACTER.test(name))) {
        throw forbiddenPathError("certificates are not issued for names with control characters");
      }
      return issueClientCertificate(await clusters.open(uid), request, runtime);
    },

    provision: (signal) => clusters.provision(uid, signal),

    async bindRoles(clusterRoles, signal) {
      // Most are up to date, and need not be started to find that out.
      const bindings = await clusters.objectsOf(uid, CLUSTER_ROLE_BINDINGS, signal);
      if (await inTurns(areRolesBound(bindings, clusterRoles, names), runtime.clock)) return;
      await (await clusters.open(uid)).bindRoles(clusterRoles, signal);
    },

    async applyObjects(text, signal) {
      await (await clusters.open(uid)).applyObjects(text, signal);
    },

    followRoles: (listener) => clusters.follow(uid, CLUSTER_ROLE_BINDINGS, listener),

    async health() {
      const fault = clusters.faultOf(uid);
      if (fault !== undefined) return { ready: false, ...fault };
      if (await clusters.exists(uid)) return { ready: true, version: version.gitVersion };
      return { ready: false, reason: "NotProvisioned", message: "the virtual cluster has not been set up yet" };
    },
  };

  /** The user of a certificate, after checking its signature and its dates. */
  async function verified(request: ApiRequest): Promise<Authentication | undefined> {
    const first = await verifiedNow(request);
    // Another server may just have prepared the CA that signed it; such a certificate can be made up.
    const caughtUp = first === undefined ? catchUp?.(request.remoteAddress, { isFormless: true }) : undefined;
    return caughtUp === undefined ? first : await caughtUp.then(() => verifiedNow(request));
  }

  async function verifiedNow(request: ApiRequest): Promise<Authentication | undefined> {
    const { clientCertificates } = await clusters.open(uid);
    try {
      return await clientCertificates.authenticate(request);
    } catch (error) {
      // From another signer, for another usage, or expired: it is ignored here.
      if (isApiError(error, "Unauthorized")) return undefined;
      throw error;
    }
  }
}

/** The same identity; its credential also becomes invalid when its user is refused. */
function untilRefused(
  { user, credential }: Authentication,
  { isRefused, onChange }: CertificateHolders,
): Authentication {
  if (credential === undefined) return { user };
  const watches = [credential.onRevoked, watchRevocation(() => isRefused(user), onChange)];
  return { user, credential: { ...credential, onRevoked: watchFirst(watches.filter((watch) => watch !== undefined)) } };
}

const CONTROL_CHARACTER = /\p{Cc}/u;
const CLUSTER_ROLE_BINDINGS = { group: RBAC_GROUP, resource: "clusterrolebindings", namespaced: false };

/**
 * Requests from outside never have system identities: neither through the platform, nor with a certificate that was signed inside.
 */
function acceptedUser({ name, groups }: UserInfo): UserInfo {
  if (isSystemName(name)) throw forbiddenPathError(`user ${JSON.stringify(name)} cannot be used in a virtual cluster`);
  return { name, groups: [...groups.filter((group) => !isSystemName(group)), GROUP_AUTHENTICATED] };
}

/**
 * From the cluster's own signer. The CA key is ours and no approval is needed, so no request object is created (ADRs 12 and 39). The private key is
 * nowhere but in the result. The certificate is recorded before it is returned: until then it is refused.
 */
function issueClientCertificate(
  { authority }: Pick<EmbeddedCluster, "authority">,
  { commonName, organizations, expirationSeconds, latestEnd, request }: ClientCertificateRequest,
  runtime: Pick<Runtime, "clock" | "random">,
): IssuedClientCertificate {
  // The signer refuses the same in requests of clients.
  if (organizations.includes(GROUP_MASTERS)) {
    throw internalError("the virtual cluster has not signed the certificate", new Error(`asked for ${GROUP_MASTERS}`));
  }
  // Only the public key of a client's request counts: its subject is replaced by the caller's identity.
  const { privateKeyPem, publicKeyInfo } =
    request === undefined
      ? makeKeyPair()
      : { privateKeyPem: undefined, publicKeyInfo: request.publicKey.export({ type: "spki", format: "der" }) };
  const { pem, serialNumber, notAfter } = signSubject(
    { commonName, organizations, publicKeyInfo, expirationSeconds, latestEnd },
    authority,
    runtime,
  );
  return {
    certificatePem: pem,
    privateKeyPem,
    serial: serialNumber,
    notAfter,
    issuer: commonNameIn(authority.certificate.subject),
  };
}
