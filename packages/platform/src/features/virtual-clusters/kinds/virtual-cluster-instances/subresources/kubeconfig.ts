// POST virtualclusterinstances/{name}/kubeconfig: a kubeconfig for the caller. Only its access key is stored.

import { isTunnelled, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import {
  conflictError,
  forbiddenRequestError,
  internalError,
  notFoundError,
} from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { buildKubeconfigOf, type KubeconfigCredential } from "../../../../../foundation/kubeconfig/kubeconfig.ts";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { InstancePlace } from "../../../../authorization/inside/inside-groups.ts";
import { type WrapDeps, wrapCredential } from "../../../../wrapped-values/wrap-credential.ts";
import { wrapMsOf } from "../../../../wrapped-values/wrap-request.ts";
import type { WrappedCredential, WrappedSubject } from "../../../../wrapped-values/wrapped-record.ts";
import type { BackendRegistry } from "../../../backend-registry.ts";
import type { VirtualClusterBackend } from "../../../virtual-cluster-backend.ts";
import { grantBoundCertificate } from "./bound-certificate.ts";
import {
  asViewer,
  type CredentialDeps,
  type GrantedCredential,
  grantCertificate,
  grantToken,
} from "./kubeconfig-credential.ts";
import {
  KUBE_CONFIG_KIND,
  type KubeconfigEndpoint,
  type KubeconfigRequest,
  kubeconfigFields,
  readKubeconfigRequest,
} from "./kubeconfig-request.ts";
import { authorizedRequester, type Requester, type RequesterDeps } from "./kubeconfig-requester.ts";
import {
  isAddressOfPlatform,
  platformAddress,
  type ServerAddress,
  type ServerAddressDeps,
  serverAddressOf,
  verifiesTokens,
} from "./server-address.ts";

export type KubeconfigDeps = RequesterDeps &
  ServerAddressDeps &
  CredentialDeps &
  WrapDeps & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance" | "cluster" | "project">;
    readonly runtime: Pick<Runtime, "clock" | "random">;
    readonly backends: BackendRegistry;
    /** Called with the kind of the credential in each kubeconfig. Default: none. */
    readonly onKubeconfigIssued?: (kind: "token" | "certificate") => void;
  };

export const kubeConfig = (deps: KubeconfigDeps): Subresource => {
  const { names, lookup, backends, wrapped, onKubeconfigIssued } = deps;
  const resource = { group: names.managementGroup, resource: "virtualclusterinstances" };
  return {
    name: "kubeconfig",
    kind: { group: names.managementGroup, version: "v1", kind: KUBE_CONFIG_KIND },
    schema: kindSchema(kubeconfigFields.schema),
    description: "Kubeconfig for the virtual cluster, with a platform token or a client certificate.",
    async create(context, body) {
      const { namespace, name } = context.info;
      const request = readKubeconfigRequest(body, names.managementGroup);
      const requester = await authorizedRequester(context, deps);

      const instance = lookup.virtualClusterInstance(namespace, name);
      if (instance === undefined) throw notFoundError(resource, name);
      if (isBeingDeleted(instance)) throw conflictError(resource, name, "the virtual cluster is being deleted");
      const backend = backends.backendOf(instance);
      const endpoints = endpointsOf(request, instance, backend, deps);
      for (const { address } of endpoints) warnOfUnverified(request, instance, address.url, context, deps);
      const answer = { ...body, metadata: { name, namespace } };
      const project = names.projectOf(namespace) ?? namespace;
      const contextName = request.contextName ?? `${project}-${name}`;
      if (isDryRun(createOptionsOf(context.request.query))) {
        const subject = request.clientCert
          ? { certificateSubject: subjectOf(context, request, { project, virtualCluster: name }, deps) }
          : {};
        return { ...answer, status: { kubeConfig: textOf(endpoints, contextName, () => undefined), ...subject } };
      }

      const wrapMs = wrapMsOf(context.request.query);
      const { owner } = requester;
      if (wrapMs !== undefined) await wrapped.makeRoom(owner);
      const grant: Grant = { request, requester, instance, backend, context };
      const granted = await grantAll(endpoints, grant, deps);
      const text = textOf(endpoints, contextName, (endpoint) => granted.get(endpoint)?.credential);
      const all = [...granted.values()];
      const ends = all.flatMap(({ notAfter }) => notAfter ?? []);
      const end = ends.length === 0 ? {} : { expirationTimestamp: formatTimestamp(Math.min(...ends)) };
      const credential = all[0]?.known;
      if (credential === undefined) throw internalError("no credential was made", new Error("there is no endpoint"));
      const delivered =
        wrapMs === undefined
          ? { kubeConfig: text }
          : {
              wrapped: await wrapCredential(
                context,
                {
                  owner,
                  subject: subjectOfEvents(instance, credential),
                  credential,
                  content: { kubeConfig: text, name: `${project}/${name}`, ...end },
                  validMs: wrapMs,
                },
                deps,
              ),
            };
      onKubeconfigIssued?.(request.clientCert ? "certificate" : "token");
      return { ...answer, status: { ...delivered, ...end } };
    },
  };
};

type Grant = {
  readonly request: KubeconfigRequest;
  readonly requester: Requester;
  readonly instance: VirtualClusterInstance;
  readonly backend: VirtualClusterBackend;
  readonly context: RequestContext;
};

/** One token opens all endpoints; of certificates, each endpoint has its own. */
async function grantAll(
  endpoints: readonly Endpoint[],
  { request, requester, instance, backend, context }: Grant,
  deps: KubeconfigDeps,
): Promise<ReadonlyMap<Endpoint, GrantedCredential>> {
  const granted = new Map<Endpoint, GrantedCredential>();
  if (!request.clientCert) {
    const token = await grantToken(request, requester, instance, context, deps);
    for (const endpoint of endpoints) granted.set(endpoint, token);
    return granted;
  }
  for (const endpoint of endpoints) {
    granted.set(
      endpoint,
      endpoint.needsBoundCertificate
        ? await grantBoundCertificate(request, requester, instance, context, deps)
        : await grantCertificate(request, requester, instance, backend, context, deps),
    );
  }
  return granted;
}

/** A kubeconfig with a context for each endpoint. The first is the current one. */
const textOf = (
  endpoints: readonly Endpoint[],
  contextName: string,
  credentialOf: (endpoint: Endpoint) => KubeconfigCredential,
): string =>
  buildKubeconfigOf(
    endpoints.map((endpoint, at) => ({
      server: endpoint.address.url,
      credential: credentialOf(endpoint),
      name: at === 0 ? contextName : `${contextName}-direct`,
      ...(endpoint.address.certificateAuthorityPem === undefined
        ? {}
        : { certificateAuthorityPem: endpoint.address.certificateAuthorityPem }),
    })),
    contextName,
  );

const subjectOfEvents = ({ metadata }: VirtualClusterInstance, known: WrappedCredential): WrappedSubject =>
  "keyUid" in known
    ? { kind: "OwnedAccessKey", name: known.keyName, uid: known.keyUid }
    : {
        kind: "VirtualClusterInstance",
        name: metadata.name ?? "",
        namespace: metadata.namespace ?? "",
        uid: metadata.uid ?? "",
      };

function subjectOf(
  { user }: RequestContext,
  { isReadOnly }: KubeconfigRequest,
  place: InstancePlace,
  { insideIdentity, names }: KubeconfigDeps,
) {
  const whole = insideIdentity(user, place);
  const { name, groups } = isReadOnly ? asViewer(whole, names) : whole;
  return { commonName: name, organizations: [...groups] };
}

/** The address that the caller names is that of a server which does not know the token, or not its rules. */
function warnOfUnverified(
  { server, clientCert, isReadOnly }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  url: string,
  { warnings }: RequestContext,
  deps: ServerAddressDeps,
): void {
  if (server === undefined || clientCert || isAddressOfPlatform(url, instance, deps)) return;
  if (isReadOnly) warnings.add(READ_ONLY_ELSEWHERE);
  else if (!verifiesTokens(instance)) warnings.add(UNVERIFIED_ELSEWHERE);
}

const READ_ONLY_ELSEWHERE =
  "spec.server: only the platform knows the rules of a read-only token, and another server refuses it: leave out spec.server";
const UNVERIFIED_ELSEWHERE =
  "spec.server: the virtual cluster refuses the token unless it asks the platform about tokens (spec.verifiesTokens): leave out spec.server, or set spec.clientCert";

/** Where a context of the kubeconfig leads. */
type Endpoint = {
  readonly address: ServerAddress;
  /** A client certificate for it is bound to an access key: the platform takes it, for a cluster that others run. */
  readonly needsBoundCertificate: boolean;
};

/** The first is that of the current context. Throws ApiErrors. */
function endpointsOf(
  request: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: KubeconfigDeps,
): readonly Endpoint[] {
  const { clientCert, server } = request;
  const isPlatforms = server !== undefined && isAddressOfPlatform(server, instance, deps);
  const wanted = backend.isRemote ? endpointFor(request, isPlatforms, instance, deps) : undefined;
  const platform = platformAddress(instance, deps);
  const ofPlatform = {
    address: isPlatforms ? { ...platform, url: server } : platform,
    needsBoundCertificate: clientCert,
  };
  const direct = (address: ServerAddress): Endpoint => ({ address, needsBoundCertificate: false });
  switch (wanted) {
    case "Platform":
      return [ofPlatform];
    case "Cluster":
      return [direct(ownAddress(request, instance, backend, deps))];
    case "Both":
      return [ofPlatform, direct(ownAddress(request, instance, backend, deps))];
    default:
      return [direct(addressFor(request, instance, backend, deps))];
  }
}

/** Undefined: as the credential says. Throws ApiError 403 for a certificate that the project keeps from leading past the platform. */
function endpointFor(
  { clientCert, server, endpoint }: KubeconfigRequest,
  isPlatforms: boolean,
  instance: VirtualClusterInstance,
  { names, lookup }: KubeconfigDeps,
): KubeconfigEndpoint | undefined {
  const named = endpoint ?? (server === undefined || !clientCert ? undefined : isPlatforms ? "Platform" : "Cluster");
  if (!clientCert) return named;
  const { namespace = "", name = "" } = instance.metadata;
  if (lookup.project(names.projectOf(namespace) ?? "")?.spec?.certificateEndpoint !== "Platform") {
    // The platform knows no address of a cluster that its agent connects.
    return named ?? (isTunnelled(instance) ? "Platform" : undefined);
  }
  if (named === undefined || named === "Platform") return "Platform";
  throw forbiddenRequestError(
    { group: names.managementGroup, resource: "virtualclusterinstances" },
    name,
    "spec.certificateEndpoint of the project is Platform: client certificates lead through the platform, or request a token",
  );
}

const ownAddress = (
  request: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: ServerAddressDeps,
): ServerAddress =>
  request.server === undefined
    ? serverAddressOf(instance, backend, { needsOwnEndpoint: true }, deps)
    : addressFor(request, instance, backend, deps);

/** An address that the caller names goes into its kubeconfig. */
function addressFor(
  { server, clientCert, isReadOnly }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: ServerAddressDeps,
): ServerAddress {
  const needsOwnEndpoint = clientCert && backend.endpoint === "ingress";
  if (needsOwnEndpoint && server !== undefined) {
    return { url: server, certificateAuthorityPem: backend.serverCertificateAuthority };
  }
  return serverAddressOf(instance, backend, { needsOwnEndpoint, needsPlatform: isReadOnly, server }, deps);
}
