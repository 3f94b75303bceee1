// Requests through the proxy: who sends them, whether they are allowed, and where they go.

import { unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { ChainedHandler } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { GrantedAccess } from "../../authorization/granted-access.ts";
import type { SessionRecordings } from "../../session-recordings/feature.ts";
import type { VirtualClusters } from "../../virtual-clusters/feature.ts";
import {
  createProxyCertificateAuthenticator,
  createProxyServiceAccountAuthenticator,
  isInsideIdentity,
} from "./proxy-authenticators.ts";
import { createProxyQuestion, type ProxyDeps } from "./proxy-decision.ts";
import { createProxyRoute } from "./proxy-route.ts";
import { withDiscoveryRefusals } from "./with-discovery-refusals.ts";

export type ProxyNeeds = {
  readonly keys: AccessKeys;
  readonly authorization: Authorization;
  readonly clusters: VirtualClusters;
  readonly granted: GrantedAccess;
  readonly recordings: SessionRecordings;
};

export function proxyRoute(
  { names, lookup }: Foundation,
  { keys, authorization, clusters, granted, recordings }: ProxyNeeds,
): ChainedHandler {
  const { authorizer, sources, sourceCheck } = authorization;
  const { index, authenticator, usage } = keys;
  const { backends, spaces, reached, destinations, wakeUp } = clusters;
  const deps: ProxyDeps = { names, keys: index, authenticator, authorizer, sources, usage, sourceCheck, granted };
  const places = { lookup, backends, spaces, reached, destinations, wakeUp, recordings };
  return {
    handle: createProxyRoute(deps, places),
    authenticator: unionAuthenticator([
      // Before the authenticator of access keys, which refuses all other tokens.
      createProxyServiceAccountAuthenticator(deps, places),
      authenticator,
      // Certificates of kubeconfigs for clusters that others run; below this path alone, as those of embedded ones.
      { authenticate: (request, behind) => authenticator.authenticateCertificate(request, behind) },
      createProxyCertificateAuthenticator(deps, places),
    ]),
    // Impersonation, as the management API decides it.
    authorizer,
    questionOf: createProxyQuestion(deps),
    withRefusals: withDiscoveryRefusals,
    skipImpersonation: isInsideIdentity,
  };
}
