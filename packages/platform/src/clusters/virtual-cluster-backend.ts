// The port through which the platform reaches a virtual cluster, wherever it runs.

import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { CertificateRequest } from "../pki/certificate-request.ts";

export type ClientCertificateRequest = {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Undefined: the signer's own duration. */
  readonly expirationSeconds: number | undefined;
  /** What the client that keeps the private key signed with it. Undefined: the key is made for this reply. */
  readonly request?: CertificateRequest | undefined;
};

export type IssuedClientCertificate = {
  readonly certificatePem: string;
  /** Made for this reply and kept nowhere. Undefined where the client has it. */
  readonly privateKeyPem: string | undefined;
  /** Upper-case hexadecimal. */
  readonly serial: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
};

export type VirtualClusterHealth =
  | { readonly ready: true; readonly version: string }
  | { readonly ready: false; readonly reason: string; readonly message: string };

/** How requests reach one virtual cluster, and what it signs. All methods reject with ApiErrors. */
export type VirtualClusterBackend = {
  /** Where clients find it: at the platform's own address, or at a host of its own below the ingress suffix of its cluster. */
  readonly endpoint: "platform" | "ingress";
  /** Base URL at which the platform itself reaches it; undefined for a cluster that the platform serves. */
  readonly ownServer: string | undefined;
  /** Whether others run it: it may go down and come back without anything here telling of it. */
  readonly isRemote: boolean;
  /** PEM of what verifies the cluster's own endpoint; undefined where public roots do. */
  readonly serverCertificateAuthority: string | undefined;
  /** Serves a request whose path and RequestInfo are already those below the cluster's root, as `user`. */
  proxy(context: RequestContext, user: UserInfo): Promise<ApiResponse>;
  /**
   * Throws an ApiError where nothing leads to the cluster any more. Where its credential or address has changed, what lasts on the old
   * ones ends. Absent: it is always reached.
   */
  assertReached?(): void;
  /** Whose certificate a request carries that this cluster's authority signed; undefined for any other, or none. */
  authenticateCertificate(request: ApiRequest): Promise<Authentication | undefined>;
  /** Whose token a request carries that this cluster gave to a ServiceAccount; undefined for any other. Absent: none is known. */
  authenticateServiceAccount?(request: ApiRequest): Promise<Authentication | undefined>;
  issueClientCertificate(request: ClientCertificateRequest, signal: AbortSignal): Promise<IssuedClientCertificate>;
  /** Makes what the cluster needs where it is missing; for a cluster that others run, nothing. */
  provision(signal: AbortSignal): Promise<void>;
  /** Keeps one ClusterRoleBinding for each of these ClusterRoles, and removes those it kept for others. */
  bindRoles(clusterRoles: readonly string[], signal: AbortSignal): Promise<void>;
  /** Applies manifests with the permissions of the platform. Throws ObjectsError. Absent: it takes none. */
  applyObjects?(text: string, signal: AbortSignal): Promise<void>;
  /** Calls back when what `bindRoles` keeps may have changed, until disposed. Absent: there are no notifications, and it has to be polled. */
  followRoles?(listener: () => void): Disposable;
  health(signal: AbortSignal): Promise<VirtualClusterHealth>;
};
