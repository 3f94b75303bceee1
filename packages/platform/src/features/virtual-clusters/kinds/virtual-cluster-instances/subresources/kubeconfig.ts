// POST virtualclusterinstances/{name}/kubeconfig: a kubeconfig for the caller. Only its access key is stored.

import type { PlatformNames } from "@postern/api/platform-names";
import { hasIngressEndpoint, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { badRequestError, conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import { buildKubeconfig, type KubeconfigCredential } from "../../../../../foundation/kubeconfig/kubeconfig.ts";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { InstancePlace } from "../../../../authorization/inside-groups.ts";
import type { BackendRegistry } from "../../../backend-registry.ts";
import type { PlatformEndpoint } from "../../../platform-endpoint.ts";
import type { VirtualClusterBackend } from "../../../virtual-cluster-backend.ts";
import {
  asViewer,
  authorizedRequester,
  type CredentialDeps,
  grantCertificate,
  grantToken,
  type RequesterDeps,
} from "./kubeconfig-credential.ts";
import {
  KUBE_CONFIG_KIND,
  type KubeconfigRequest,
  kubeconfigFields,
  readKubeconfigRequest,
} from "./kubeconfig-request.ts";

export type KubeconfigDeps = RequesterDeps &
  ServerAddressDeps &
  CredentialDeps & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance" | "cluster">;
    readonly backends: BackendRegistry;
    /** Called with the kind of the credential in each kubeconfig. Default: none. */
    readonly onKubeconfigIssued?: (kind: "token" | "certificate") => void;
  };

export const kubeConfig = (deps: KubeconfigDeps): Subresource => {
  const { names, lookup, backends, onKubeconfigIssued } = deps;
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
      const { url, certificateAuthorityPem } = addressFor(request, instance, backend, deps);
      const answer = { ...body, metadata: { name, namespace } };
      const project = names.projectOf(namespace) ?? namespace;
      const textWith = (credential: KubeconfigCredential) =>
        buildKubeconfig({
          server: url,
          credential,
          name: request.contextName ?? `${project}-${name}`,
          ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
        });
      if (isDryRun(createOptionsOf(context.request.query))) {
        const subject = request.clientCert
          ? { certificateSubject: subjectOf(context, request, { project, virtualCluster: name }, deps) }
          : {};
        return { ...answer, status: { kubeConfig: textWith(undefined), ...subject } };
      }

      const { credential, notAfter } = request.clientCert
        ? await grantCertificate(request, requester, instance, backend, context, deps)
        : await grantToken(request, requester, instance, context, deps);
      const text = textWith(credential);
      onKubeconfigIssued?.(request.clientCert ? "certificate" : "token");
      return {
        ...answer,
        status: {
          kubeConfig: text,
          ...(notAfter === undefined ? {} : { expirationTimestamp: formatTimestamp(notAfter) }),
        },
      };
    },
  };
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

/** Where the caller names an address itself, that is where its kubeconfig leads. */
function addressFor(
  { server, clientCert }: KubeconfigRequest,
  instance: VirtualClusterInstance,
  backend: VirtualClusterBackend,
  deps: ServerAddressDeps,
): ServerAddress {
  const needsOwnEndpoint = clientCert && backend.endpoint === "ingress";
  if (needsOwnEndpoint && server !== undefined) {
    return { url: server, certificateAuthorityPem: backend.serverCertificateAuthority };
  }
  return serverAddressOf(instance, backend, { ...deps, needsOwnEndpoint, server });
}

// At which address the holder of a kubeconfig reaches a virtual cluster, and what verifies it there.

type ServerAddressDeps = {
  readonly names: Pick<PlatformNames, "key" | "projectOf">;
  readonly lookup: Pick<ObjectLookup, "cluster">;
  readonly endpoint: PlatformEndpoint;
  /** Answer with the platform's own address where the virtual cluster has no ingress endpoint, instead of refusing. */
  readonly proxyFallback: boolean;
  /** A client certificate opens the virtual cluster's own endpoint, and not the platform's address for it. Default false. */
  readonly needsOwnEndpoint?: boolean;
  /** An address that the caller has named itself. Default: none. */
  readonly server?: string | undefined;
};

type ServerAddress = {
  readonly url: string;
  /** PEM; undefined where public roots verify it. */
  readonly certificateAuthorityPem: string | undefined;
};

/** Throws ApiError 400, which says what to configure, where the virtual cluster has no ingress endpoint. */
export function serverAddressOf(
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "endpoint" | "ownServer" | "serverCertificateAuthority">,
  deps: ServerAddressDeps,
): ServerAddress {
  const platform = platformAddress(instance, deps);
  const { server = "" } = deps;
  // The platform's address for it needs no endpoint of its own, and is verified as the platform.
  if (server !== "" && new URL(server).pathname === new URL(platform.url).pathname) return { ...platform, url: server };
  const address = ownAddressOf(instance, backend, deps) ?? platform;
  return server === "" ? address : { ...address, url: server };
}

/** Undefined where the platform answers for it. */
function ownAddressOf(
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "endpoint" | "ownServer" | "serverCertificateAuthority">,
  deps: ServerAddressDeps,
): ServerAddress | undefined {
  const missing = missingForIngress(instance, backend, deps);
  if (missing !== undefined && (deps.needsOwnEndpoint === true || !deps.proxyFallback)) {
    throw noIngressEndpoint(instance, missing, deps);
  }
  if (missing !== undefined || backend.endpoint === "platform") return undefined;
  return {
    url: ownServerOf(instance, backend) ?? `https://${ingressHost(instance, deps)}`,
    certificateAuthorityPem: backend.serverCertificateAuthority,
  };
}

/** What would have to be configured; undefined when the ingress endpoint is there. */
function missingForIngress(
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "endpoint" | "ownServer">,
  deps: ServerAddressDeps,
): string | undefined {
  // The platform serves it, so it is there.
  if (backend.endpoint === "platform") return undefined;
  if (!hasIngressEndpoint(instance)) {
    return "set spec.template.accessPoint.ingress.enabled of the virtual cluster instance to true";
  }
  if (ingressSuffix(instance, deps) !== "") return undefined;
  if (ownServerOf(instance, backend) !== undefined) return undefined;
  const cluster = quoteGo(instance.spec?.clusterRef?.cluster ?? "");
  return `annotate cluster ${cluster} with ${deps.names.key("ingress-suffix")}`;
}

/** A virtual cluster that is in no cluster of the platform's has no ingress there: it is where its own kubeconfig says. */
const ownServerOf = (
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "ownServer">,
): string | undefined => ((instance.spec?.clusterRef?.cluster ?? "") === "" ? backend.ownServer : undefined);

function noIngressEndpoint(
  { metadata }: VirtualClusterInstance,
  missing: string,
  { names, needsOwnEndpoint = false }: ServerAddressDeps,
) {
  const otherWay = needsOwnEndpoint
    ? "set spec.server to its address, or request a token: a client certificate is valid only at its own endpoint"
    : "set kubeConfig.proxyFallback, so that the server returns its own address";
  const project = names.projectOf(metadata.namespace ?? "") ?? "";
  return badRequestError(
    `virtual cluster ${quoteGo(metadata.name ?? "")} of project ${quoteGo(project)} has no ingress endpoint: ${missing}, or ${otherWay}`,
  );
}

function platformAddress({ metadata }: VirtualClusterInstance, { names, endpoint }: ServerAddressDeps): ServerAddress {
  const project = names.projectOf(metadata.namespace ?? "") ?? "";
  return {
    url: `${endpoint.url()}/kubernetes/project/${project}/virtualcluster/${metadata.name ?? ""}`,
    certificateAuthorityPem: endpoint.certificateAuthorityPem,
  };
}

const ingressSuffix = ({ spec }: VirtualClusterInstance, { names, lookup }: ServerAddressDeps): string =>
  lookup.cluster(spec?.clusterRef?.cluster ?? "")?.metadata.annotations?.[names.key("ingress-suffix")] ?? "";

function ingressHost(instance: VirtualClusterInstance, deps: ServerAddressDeps): string {
  const { namespace = "", name = "" } = instance.metadata;
  return `${name}-${deps.names.projectOf(namespace) ?? ""}.${ingressSuffix(instance, deps).replace(/^\.+/, "")}`;
}
