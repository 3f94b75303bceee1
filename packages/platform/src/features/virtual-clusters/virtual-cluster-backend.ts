// The port through which the platform reaches a virtual cluster, wherever it runs.

import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { CertificateRequest } from "../../foundation/pki/certificate-request.ts";
import type { StreamTap } from "../proxy/stream-tap.ts";

export type ClientCertificateRequest = {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Undefined: the signer's own duration. */
  readonly expirationSeconds: number | undefined;
  /** Milliseconds since the epoch that the certificate must not outlive. Signers may ignore `expirationSeconds`, and those before Kubernetes 1.22 do. */
  readonly latestEnd?: number | undefined;
  /** The certificate request of a client that keeps its private key. Undefined: the key is generated here. */
  readonly request?: CertificateRequest | undefined;
};

export type IssuedClientCertificate = {
  readonly certificatePem: string;
  /** Generated for this response and not stored. Undefined if the client has it. */
  readonly privateKeyPem: string | undefined;
  /** Upper-case hexadecimal. */
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** The common name of the CA, where it is one of this server. */
  readonly issuer?: string;
};

export type VirtualClusterHealth =
  | { readonly ready: true; readonly version: string }
  | { readonly ready: false; readonly reason: string; readonly message: string };

/** How requests reach one virtual cluster, and what it signs. All methods fail with ApiErrors. */
export type VirtualClusterBackend = {
  /** The address for clients: below the platform's, or its own host below the ingress suffix of its cluster. */
  readonly endpoint: "platform" | "ingress";
  /** Base URL at which the platform itself reaches it; undefined for a cluster that the platform serves. */
  readonly ownServer: string | undefined;
  /** Whether it runs elsewhere: it may become unavailable without notice. */
  readonly isRemote: boolean;
  /** CA certificates in PEM for the cluster's own endpoint; undefined for public CAs. */
  readonly serverCertificateAuthority: string | undefined;
  /**
   * Serves a request whose path and RequestInfo are already those below the cluster's root, as `user`. `tap`: what a connection to a remote cluster passes through
   * once it has left HTTP.
   */
  proxy(context: RequestContext, user: UserInfo, tap?: StreamTap): Awaitable<ApiResponse>;
  /**
   * Throws an ApiError if the cluster is no longer connected. If its credential or address has changed, long-running requests on the old
   * ones end. Absent: it is always connected.
   */
  assertReached?(): void;
  /** The user of a client certificate that this cluster's CA signed; undefined for any other, or none. */
  authenticateCertificate(request: ApiRequest): Promise<Authentication | undefined>;
  /** The ServiceAccount of a token that this cluster issued; undefined for any other. Absent: tokens are not known here. */
  authenticateServiceAccount?(request: ApiRequest): Promise<Authentication | undefined>;
  issueClientCertificate(request: ClientCertificateRequest, signal: AbortSignal): Promise<IssuedClientCertificate>;
  /** Creates what the cluster needs if it is missing; does nothing for clusters elsewhere. */
  provision(signal: AbortSignal): Promise<void>;
  /** Maintains one ClusterRoleBinding for each of these ClusterRoles, and deletes those for others. */
  bindRoles(clusterRoles: readonly string[], signal: AbortSignal): Promise<void>;
  /** Applies manifests with the permissions of the platform. Throws ObjectsError. Absent: it takes none. */
  applyObjects?(text: string, signal: AbortSignal): Promise<void>;
  /** Calls back when these bindings may have changed, until disposed. Absent: there are no notifications, so poll. */
  followRoles?(listener: () => void): Disposable;
  health(signal: AbortSignal): Promise<VirtualClusterHealth>;
};
