// Answers what is sent through the platform to a virtual cluster: decides, finds the backend, hands over.

import {
  badRequestError,
  forbiddenPathError,
  isApiError,
  notFoundError,
  resourceNotFoundError,
} from "@postern/apimachinery/meta/api-error";
import type { Authenticator } from "@postern/apiserver/authentication/authenticator";
import {
  looksLikeServiceAccountToken,
  SERVICE_ACCOUNT_CREDENTIAL,
} from "@postern/apiserver/authentication/service-account-tokens/service-account-tokens";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Authorizer, OuterAuthorizer } from "@postern/apiserver/authorization/authorizer";
import { forbiddenErrorFor } from "@postern/apiserver/chain/authorization-attributes";
import type { Handler, RequestContext } from "@postern/apiserver/chain/handler";
import { bearerTokenOf } from "@postern/apiserver/request/bearer-token";
import { isLongRunning, type LongRunningCheck } from "@postern/apiserver/request/long-running";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info-resolver";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { mountRequest } from "@postern/apiserver/transport/mount-request";
import { narrowRulesBehind } from "../authorization/effective-rules.ts";
import { insideIdentity } from "../authorization/inside-groups.ts";
import { type ProxyPath, parseProxyPath, proxyRequest } from "../authorization/proxy-target.ts";
import { isLocalCluster } from "../resources/clusters/cluster.ts";
import type { VirtualClusterInstance } from "../resources/virtual-cluster-instances/virtual-cluster-instance.ts";
import { isSystemName } from "../virtual-clusters/system-name.ts";
import type { ManagementSurface } from "./management-surface.ts";
import type { PlatformCore } from "./platform-core.ts";
import { refuseRemoteGrants } from "./refuse-remote-grants.ts";

type VirtualClusterPath = ProxyPath & { readonly destination: { readonly target: "ProjectVirtualCluster" } };

const isVirtualCluster = (path: ProxyPath): path is VirtualClusterPath =>
  path.destination.target === "ProjectVirtualCluster";

/** What the handles of identities begin with that a virtual cluster's own certificates and tokens prove. No access key's does. */
const INSIDE_CREDENTIALS = ["certificate:", SERVICE_ACCOUNT_CREDENTIAL];

export function createProxyRoute(
  core: PlatformCore,
  surface: Pick<ManagementSurface, "lookup" | "backends" | "spaces" | "reached">,
): Handler {
  return async (context) => {
    const path = parseProxyPath(context.request.path);
    if (path === undefined) throw resourceNotFoundError();
    decide(context, path, core);
    const outerAuthorizer = isInsideIdentity(context) ? undefined : createOuterAuthorizer(context, path, core);
    const inner = { ...context, request: below(context.request, path), outerAuthorizer };
    if (isVirtualCluster(path)) return await toVirtualCluster(inner, path, core, surface);
    const { destination } = path;
    if (destination.target === "Cluster") return await toCluster(inner, destination.cluster, core, surface);
    if (destination.target === "ProjectSpace") return await toSpace(inner, destination, core, surface);
    throw resourceNotFoundError();
  };
}

async function toVirtualCluster(
  context: RequestContext,
  path: VirtualClusterPath,
  core: PlatformCore,
  surface: Pick<ManagementSurface, "lookup" | "backends">,
): Promise<ApiResponse> {
  const { project, virtualCluster } = path.destination;
  const instance = instanceOf(path, core, surface);
  if (instance === undefined) {
    throw notFoundError({ group: core.names.managementGroup, resource: "virtualclusterinstances" }, virtualCluster);
  }
  const user = isInsideIdentity(context)
    ? context.user
    : insideIdentity(context.user, { project, virtualCluster }, core.sources);
  const backend = surface.backends.backendOf(instance);
  if (backend.isRemote) await refuseRemoteGrants(context);
  return await backend.proxy(context, user);
}

async function toSpace(
  context: RequestContext,
  { project, space }: { readonly project: string; readonly space: string },
  { names, sources }: PlatformCore,
  { lookup, spaces }: Pick<ManagementSurface, "lookup" | "spaces">,
): Promise<ApiResponse> {
  const instance = lookup.spaceInstance(names.projectNamespace(project), space);
  if (instance === undefined) throw notFoundError({ group: names.managementGroup, resource: "spaceinstances" }, space);
  const user = isInsideIdentity(context) ? context.user : insideIdentity(context.user, { project, space }, sources);
  const backend = spaces.spaceOf(instance);
  if (backend.isRemote) await refuseRemoteGrants(context);
  return await backend.proxy(context, user);
}

/** Callers keep their own name and groups there: what they may do is for the cluster's own RBAC to say. */
async function toCluster(
  context: RequestContext,
  name: string,
  { names }: PlatformCore,
  { lookup, reached }: Pick<ManagementSurface, "lookup" | "reached">,
): Promise<ApiResponse> {
  const cluster = lookup.cluster(name);
  if (cluster === undefined) throw notFoundError({ group: names.managementGroup, resource: "clusters" }, name);
  if (isLocalCluster(cluster)) {
    throw badRequestError("the built-in cluster has no API of its own: its virtual clusters and spaces have");
  }
  await refuseRemoteGrants(context);
  return await reached.ofCluster(cluster).proxy(context, outsideIdentity(context.user));
}

/** Nobody comes in from outside as a part of the system. */
function outsideIdentity({ name, groups }: UserInfo): UserInfo {
  if (isSystemName(name))
    throw forbiddenPathError(`user ${JSON.stringify(name)} cannot reach into a connected cluster`);
  return { name, groups: groups.filter((group) => !isSystemName(group)) };
}

type ProxyAuthenticatorDeps = readonly [
  Pick<PlatformCore, "names">,
  Pick<ManagementSurface, "lookup" | "backends" | "spaces">,
];

/** Accepts the certificates of the virtual cluster that the path names. */
export function createProxyCertificateAuthenticator(...deps: ProxyAuthenticatorDeps): Authenticator {
  return {
    async authenticate(request) {
      if (request.peerCertificate() === undefined) return undefined;
      const found = backendAt(request, ...deps);
      return await found?.backend.authenticateCertificate(below(request, found.path));
    },
  };
}

/** Accepts the tokens that the virtual cluster or space which the path names gave to its ServiceAccounts. */
export function createProxyServiceAccountAuthenticator(...deps: ProxyAuthenticatorDeps): Authenticator {
  return {
    async authenticate(request) {
      const bearer = bearerTokenOf(request);
      if (bearer.type !== "token" || !looksLikeServiceAccountToken(bearer.token)) return undefined;
      const found = backendAt(request, ...deps) ?? spaceAt(request, ...deps);
      return await found?.backend.authenticateServiceAccount?.(below(request, found.path));
    },
  };
}

/** The virtual cluster that a request is for, where there is one. */
function backendAt(request: ApiRequest, ...[core, surface]: ProxyAuthenticatorDeps) {
  const path = parseProxyPath(request.path);
  if (path === undefined || !isVirtualCluster(path)) return undefined;
  const instance = instanceOf(path, core, surface);
  return instance === undefined ? undefined : { path, backend: surface.backends.backendOf(instance) };
}

/** The space that a request is for, where there is one. */
function spaceAt(request: ApiRequest, ...[{ names }, { lookup, spaces }]: ProxyAuthenticatorDeps) {
  const path = parseProxyPath(request.path);
  if (path === undefined || path.destination.target !== "ProjectSpace") return undefined;
  const { project, space } = path.destination;
  const instance = lookup.spaceInstance(names.projectNamespace(project), space);
  return instance === undefined ? undefined : { path, backend: spaces.spaceOf(instance) };
}

/** The route itself decides by what is asked behind the proxy. Acting as somebody else is decided here, as in the management API. */
export function createProxyAuthorizer({ authorizer }: Pick<PlatformCore, "authorizer">): Authorizer {
  return {
    authorize(attributes) {
      if (attributes.verb !== "impersonate") return { verdict: "allow", reason: "" };
      return authorizer.authorize(attributes);
    },
  };
}

/** What is asked behind the proxy decides whether a request runs long. One whose path is refused does not. */
export const isLongRunningProxy: LongRunningCheck = (request, info) => {
  try {
    const path = parseProxyPath(request.path);
    if (path === undefined) return isLongRunning(request, info);
    return isLongRunning(request, resolveRequestInfo(request.method, path.encodedPath, request.query));
  } catch (error) {
    if (isApiError(error)) return false;
    throw error;
  }
};

/**
 * A certificate or token of the virtual cluster opens that cluster alone, and there its own RBAC decides: also about who may act as whom,
 * since those users are nobody on the platform.
 */
export const isInsideIdentity = ({ credential }: RequestContext): boolean =>
  credential !== undefined && INSIDE_CREDENTIALS.some((prefix) => credential.id.startsWith(prefix));

function decide(context: RequestContext, path: ProxyPath, { authorizer, names, usage }: PlatformCore): void {
  if (isInsideIdentity(context)) return;
  const { request, user, credential, audit } = context;
  const proxied = proxyRequest(path, request.method, request.query);
  const decision = authorizer.decide(proxied, { user, credential });
  for (const [key, value] of Object.entries(decision.annotations)) audit.annotate(key, value);
  if (decision.verdict !== "allow")
    throw forbiddenErrorFor({ ...useOf(path, names), user, credential }, decision.reason);
  usage.note(proxied, { user, credential });
}

/** Holds what a request does inside to what its key opens there: what is done is asked about, and by whom is known here. */
function createOuterAuthorizer(
  { user, credential }: RequestContext,
  { destination }: ProxyPath,
  { authorizer, sources }: PlatformCore,
): OuterAuthorizer {
  return {
    authorize: (inner) => authorizer.decide({ ...destination, inner }, { user, credential }),
    narrowRules: narrowRulesBehind(sources, { user, credential }, destination),
  };
}

/** What the caller lacks, in the terms in which it can be granted. */
function useOf({ destination }: ProxyPath, names: PlatformCore["names"]) {
  const base = {
    verb: "use",
    isResourceRequest: true,
    apiGroup: names.managementGroup,
    apiVersion: "v1",
    subresource: "",
    path: "",
  };
  switch (destination.target) {
    case "ProjectVirtualCluster": {
      const namespace = names.projectNamespace(destination.project);
      return { ...base, resource: "virtualclusterinstances", namespace, name: destination.virtualCluster };
    }
    case "ProjectSpace": {
      const namespace = names.projectNamespace(destination.project);
      return { ...base, resource: "spaceinstances", namespace, name: destination.space };
    }
    case "Cluster":
      return { ...base, resource: "clusters", namespace: "", name: destination.cluster };
  }
}

function instanceOf(
  {
    destination: { project, virtualCluster },
  }: VirtualClusterPath & { readonly destination: { readonly project: string; readonly virtualCluster: string } },
  { names }: Pick<PlatformCore, "names">,
  { lookup }: Pick<ManagementSurface, "lookup">,
): VirtualClusterInstance | undefined {
  return lookup.virtualClusterInstance(names.projectNamespace(project), virtualCluster);
}

/** The request as the virtual cluster sees it, its path written anew from the one that was decided about. */
function below(request: ApiRequest, { base, encodedPath }: ProxyPath): ApiRequest {
  const mounted = mountRequest(request, base);
  if (mounted === undefined) throw resourceNotFoundError();
  return { ...mounted, path: encodedPath };
}
