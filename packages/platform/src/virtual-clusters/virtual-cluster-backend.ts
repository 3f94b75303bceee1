// The port through which the platform reaches a virtual cluster, wherever it runs.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";

/** Names one virtual cluster instance. */
export type VirtualClusterRef = {
  readonly project: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
};

export type ClientCertificateRequest = {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Undefined: the signer's own duration. */
  readonly expirationSeconds: number | undefined;
};

export type IssuedClientCertificate = {
  readonly certificatePem: string;
  /** Made for this reply and kept nowhere. */
  readonly privateKeyPem: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
};

export type VirtualClusterHealth =
  | { readonly ready: true; readonly version: string }
  | { readonly ready: false; readonly reason: string; readonly message: string };

/** How requests reach one virtual cluster, and what it signs. All methods reject with ApiErrors. */
export type VirtualClusterBackend = {
  /** PEM of what verifies the cluster's own endpoint; undefined where public roots do. */
  readonly serverCertificateAuthority: string | undefined;
  /** Serves a request whose path is already below the cluster's root, as `user`. */
  proxy(context: RequestContext, user: UserInfo): Promise<ApiResponse>;
  issueClientCertificate(request: ClientCertificateRequest, signal: AbortSignal): Promise<IssuedClientCertificate>;
  health(signal: AbortSignal): Promise<VirtualClusterHealth>;
};
