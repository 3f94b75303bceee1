// The address at which the holder of a kubeconfig reaches a virtual cluster, and the authority that verifies it there.

import type { PlatformNames } from "@postern/api/platform-names";
import {
  hasIngressEndpoint,
  isRunByOthers,
  isTunnelled,
  type VirtualClusterInstance,
} from "@postern/api/virtual-cluster-instance";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { PlatformEndpoint } from "../../../platform-endpoint.ts";
import type { VirtualClusterBackend } from "../../../virtual-cluster-backend.ts";

export type ServerAddressDeps = {
  readonly names: Pick<PlatformNames, "key" | "projectOf">;
  readonly lookup: Pick<ObjectLookup, "cluster">;
  readonly endpoint: PlatformEndpoint;
  /** Answer with the platform's own address where the virtual cluster has no ingress endpoint, instead of refusing. */
  readonly proxyFallback: boolean;
};

/** The address that a kubeconfig needs, by its credential and by its requester. */
export type WantedAddress = {
  /** A client certificate opens the virtual cluster's own endpoint, and not the platform's address for it. Default false. */
  readonly needsOwnEndpoint?: boolean;
  /** A key with rules: the virtual cluster cannot verify it, whatever it asks the platform. Default false. */
  readonly needsPlatform?: boolean;
  /** An address that the caller has named itself. Default: none. */
  readonly server?: string | undefined;
};

export type ServerAddress = {
  readonly url: string;
  /** PEM; undefined where public roots verify it. */
  readonly certificateAuthorityPem: string | undefined;
};

/** Throws ApiError 400, which says what to configure, where the virtual cluster has no ingress endpoint. */
export function serverAddressOf(
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "endpoint" | "ownServer" | "serverCertificateAuthority">,
  wanted: WantedAddress,
  deps: ServerAddressDeps,
): ServerAddress {
  const platform = platformAddress(instance, deps);
  const { server = "" } = wanted;
  // It needs no endpoint of its own, and is verified as the platform.
  if (server !== "" && isAddressOfPlatform(server, instance, deps)) return { ...platform, url: server };
  const address = ownAddressOf(instance, backend, wanted, deps) ?? platform;
  return server === "" ? address : { ...address, url: server };
}

/** Whether tokens of the platform are good at the virtual cluster's own endpoint: it asks the platform about them. */
export const verifiesTokens = ({ spec }: VirtualClusterInstance): boolean => spec?.verifiesTokens === true;

/** The platform's address for the virtual cluster, under whichever of the platform's names. */
export const isAddressOfPlatform = (url: string, instance: VirtualClusterInstance, deps: ServerAddressDeps): boolean =>
  new URL(url).pathname === new URL(platformAddress(instance, deps).url).pathname;

/** Undefined where the platform answers for it. */
function ownAddressOf(
  instance: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "endpoint" | "ownServer" | "serverCertificateAuthority">,
  { needsOwnEndpoint = false, needsPlatform = false, server = "" }: WantedAddress,
  deps: ServerAddressDeps,
): ServerAddress | undefined {
  // The address in the tunnel is none of the network.
  if (isTunnelled(instance) && needsOwnEndpoint) throw unknownAddress(instance, deps);
  if (isTunnelled(instance)) return undefined;
  const isPlatforms = server === "" && !needsOwnEndpoint && (needsPlatform || !verifiesTokens(instance));
  if (isPlatforms && isRunByOthers(instance)) return undefined;
  const missing = missingForIngress(instance, backend, deps);
  if (missing !== undefined && (needsOwnEndpoint || !deps.proxyFallback))
    throw noIngressEndpoint(instance, missing, needsOwnEndpoint, deps);
  if (missing !== undefined || isPlatforms || backend.endpoint === "platform") return undefined;
  return {
    url: ownServerOf(instance, backend) ?? `https://${ingressHost(instance, deps)}`,
    certificateAuthorityPem: backend.serverCertificateAuthority,
  };
}

/** Setting that is missing; undefined when the ingress endpoint is there. */
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

function unknownAddress({ metadata }: VirtualClusterInstance, { names }: ServerAddressDeps) {
  const project = names.projectOf(metadata.namespace ?? "") ?? "";
  return badRequestError(
    `virtual cluster ${quoteGo(metadata.name ?? "")} of project ${quoteGo(project)} is connected by its agent, and the platform does not know its address: set spec.server to it, or request a token`,
  );
}

function noIngressEndpoint(
  { metadata }: VirtualClusterInstance,
  missing: string,
  needsOwnEndpoint: boolean,
  { names }: ServerAddressDeps,
) {
  const otherWay = needsOwnEndpoint
    ? "set spec.server to its address, or request a token: a client certificate is valid only at its own endpoint"
    : "set kubeConfig.proxyFallback, so that the server returns its own address";
  const project = names.projectOf(metadata.namespace ?? "") ?? "";
  return badRequestError(
    `virtual cluster ${quoteGo(metadata.name ?? "")} of project ${quoteGo(project)} has no ingress endpoint: ${missing}, or ${otherWay}`,
  );
}

/** The platform's own address for the virtual cluster. */
export function platformAddress(
  { metadata }: Pick<VirtualClusterInstance, "metadata">,
  { names, endpoint }: Pick<ServerAddressDeps, "names" | "endpoint">,
): ServerAddress {
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
