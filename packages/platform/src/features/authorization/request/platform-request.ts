// The target of a request: the management API, or a cluster, space or virtual cluster behind a proxy.

import type { RequestInfo } from "@postern/apiserver/request/request-info";

/** The parts of a request that rights, scopes and rules look at, as the API that answers it reads them. */
export type TargetedRequest = Pick<
  RequestInfo,
  "isResourceRequest" | "verb" | "apiGroup" | "resource" | "subresource" | "namespace" | "name" | "path"
>;

/** `inner` is the request itself; through a proxy, the request to the API behind it. */
export type ManagementRequest = { readonly target: "Management"; readonly inner: TargetedRequest };
export type ClusterRequest = { readonly target: "Cluster"; readonly cluster: string; readonly inner: TargetedRequest };
export type SpaceRequest = {
  readonly target: "ProjectSpace";
  readonly project: string;
  readonly space: string;
  readonly inner: TargetedRequest;
};
export type VirtualClusterRequest = {
  readonly target: "ProjectVirtualCluster";
  readonly project: string;
  readonly virtualCluster: string;
  readonly inner: TargetedRequest;
};

/** Every request that the platform answers is one of these. */
export type PlatformRequest = ManagementRequest | ClusterRequest | SpaceRequest | VirtualClusterRequest;
export type ProxyRequest = Exclude<PlatformRequest, ManagementRequest>;

/** Target of a request, whatever it asks. */
export type RequestDestination<Request extends PlatformRequest = PlatformRequest> = Request extends PlatformRequest
  ? Omit<Request, "inner">
  : never;

export const managementRequest = (inner: TargetedRequest): ManagementRequest => ({ target: "Management", inner });

/** Request for one object; for all of a namespace, with an empty name. */
export const getRequest = (apiGroup: string, resource: string, namespace: string, name: string): TargetedRequest => ({
  isResourceRequest: true,
  verb: "get",
  apiGroup,
  resource,
  subresource: "",
  namespace,
  name,
  path: "",
});

export const isManagement = (request: PlatformRequest): request is ManagementRequest => request.target === "Management";

/** `virtualclusterinstances/kubeconfig`, or the plain resource without a subresource. */
export const resourceWithSubresource = ({
  resource,
  subresource,
}: Pick<TargetedRequest, "resource" | "subresource">): string =>
  subresource === "" ? resource : `${resource}/${subresource}`;
