// Authenticates requests to virtual clusters and spaces by the clusters' own credentials: certificates, and ServiceAccount tokens.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { Authentication, Authenticator } from "@postern/apiserver/authentication/authenticator";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { bearerTokenOf, tokenWithProof } from "@postern/apiserver/request/credentials";
import type { InnerRequest } from "@postern/apiserver/request/request-info";
import { whenDone } from "@postern/apiserver/runtime/awaitable";
import {
  looksLikeServiceAccountToken,
  SERVICE_ACCOUNT_CREDENTIAL,
} from "@postern/kubernetes/service-accounts/service-account-tokens";
import { ProxiedCall } from "../../authorization/request/proxied-call.ts";
import type { ProxyPath } from "../../authorization/request/proxy-path.ts";
import { below, type DestinationDeps, findSpace, findVirtualCluster } from "./proxy-destination.ts";

/** Accepts the certificates of the virtual cluster that the path names. Throws ApiError 401 for any other: it says nothing about whether there is such a cluster. */
export function createProxyCertificateAuthenticator(...deps: DestinationDeps): Authenticator {
  return {
    authenticate(request, innerRequest) {
      if (request.peerCertificate() === undefined) return undefined;
      const path = pathOf(innerRequest);
      if (path === undefined) return undefined;
      const found = findVirtualCluster(path, ...deps)
        ?.open()
        .authenticateCertificate(below(request, path));
      return whenDone(found, (authentication) =>
        authentication === undefined ? refuse() : insideOf(path, authentication),
      );
    },
  };
}

function refuse(): never {
  throw unauthorizedError();
}

/** Accepts the tokens that the virtual cluster or space which the path names gave to its ServiceAccounts. */
export function createProxyServiceAccountAuthenticator(...deps: DestinationDeps): Authenticator {
  return {
    authenticate(request, innerRequest) {
      const bearer = bearerTokenOf(request);
      const token = bearer.type === "token" ? bearer.token : tokenWithProof(request);
      if (token === undefined || !looksLikeServiceAccountToken(token)) return undefined;
      const path = pathOf(innerRequest);
      if (path === undefined) return undefined;
      const found = findVirtualCluster(path, ...deps) ?? findSpace(path, ...deps);
      const proven = found?.open().authenticateServiceAccount?.(below(request, path));
      return whenDone(proven, (authentication) => authentication && insideOf(path, authentication));
    },
  };
}

/** Its administrators make up any number of users, with any names: all of a project have one share of the server. */
function insideOf({ destination }: ProxyPath, { credential, ...authentication }: Authentication): Authentication {
  if (credential === undefined || destination.target === "Cluster") return { ...authentication };
  const account = `virtual clusters of ${destination.project}`;
  return { ...authentication, credential: { ...credential, account } };
}

/** Throws ApiError 400 for a path that can be read in more than one way. */
function pathOf(innerRequest: InnerRequest | undefined): ProxyPath | undefined {
  if (!(innerRequest instanceof ProxiedCall)) return undefined;
  if (innerRequest.pathRefusal !== undefined) throw innerRequest.pathRefusal;
  return innerRequest.path;
}

/** Prefixes of the handles of identities that a virtual cluster's own certificates and tokens prove. No access key's handle has one. */
const INSIDE_CREDENTIALS = ["certificate:", SERVICE_ACCOUNT_CREDENTIAL];

/**
 * A certificate or token of the virtual cluster is valid only there, and its RBAC decides, also about impersonation: those users do not exist on the
 * platform.
 */
export const isInsideIdentity = ({ credential }: Pick<RequestContext, "credential">): boolean =>
  credential !== undefined && INSIDE_CREDENTIALS.some((prefix) => credential.id.startsWith(prefix));
