// GET /join/<value>, POST /join, and what agents do with their key below /tunnel.

import { JOIN_PATH, TUNNEL_PATH } from "@postern/api/cluster-tunnel";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import { type FeatureRoute, isBelow } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import { AGENT_IMAGE, type AgentManifestOptions } from "../agent-manifests.ts";
import type { ClusterTunnels } from "../feature.ts";
import { createJoinRoute } from "./join-route.ts";
import { createTunnelAuthorizer, createTunnelRoute } from "./tunnel-route.ts";

type Needs = { readonly tunnels: ClusterTunnels; readonly keys: AccessKeys };

export const joinRoute = (
  { configuration, names, recordEvent, signal, rateLimiter }: Foundation,
  {
    tunnels,
    keys,
    endpoint,
  }: Needs & { readonly endpoint: { url(): string; readonly certificateAuthorityPem: string | undefined } },
): FeatureRoute => ({
  takes: (path) => isBelow(path, JOIN_PATH),
  // The value stands in the path.
  loggedUri: () => JOIN_PATH,
  handle: createJoinRoute({
    names,
    tunnels,
    idOf: keys.secrets.format.idOf,
    manifests: (): Omit<AgentManifestOptions, "joinValue"> => ({
      server: endpoint.url(),
      certificateAuthority: endpoint.certificateAuthorityPem,
      image: configuration.agent.image === "" ? AGENT_IMAGE : configuration.agent.image,
    }),
    recordEvent,
    signal,
  }),
  // The value or token is the credential.
  authenticator: anonymousCallers,
  authorizer: allowAnybody("the join value or token is the credential"),
  // Each token costs a signature. All agents of a company may share an address.
  rateLimits: { perSource: rateLimiter({ qps: 20, burst: 1_000 }) },
});

export const tunnelRoute = (
  { names, runtime, recordEvent, signal }: Foundation,
  {
    tunnels,
    keys,
    servers,
    destinations,
    endpoint,
  }: Needs & {
    readonly servers: () => Promise<number>;
    readonly destinations: PolicyVersion;
    readonly endpoint: { readonly certificateAuthorityPem: string | undefined };
  },
): FeatureRoute => ({
  takes: (path) => isBelow(path, TUNNEL_PATH),
  handle: createTunnelRoute({
    names,
    tunnels,
    keys: keys.index,
    servers,
    runtime,
    idOf: keys.secrets.format.idOf,
    recordEvent,
    certificateAuthority: () => endpoint.certificateAuthorityPem,
    signal,
  }),
  authenticator: keys.authenticator,
  authorizer: createTunnelAuthorizer({ tunnels, keys: keys.index }, destinations),
});
