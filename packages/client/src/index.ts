// The public interface of `postern/client`: any Kubernetes API, with typed resources, streaming watches and informers.

export { type ApiClient, type ApiClientOptions, type ApiRequest, createApiClient, type Query } from "./api-client.ts";
export { Informer, type InformerEvent, type InformerOptions } from "./informer.ts";
export { type Connection, type LoadOptions, loadConnection } from "./load-kubeconfig.ts";
export {
  type CallOptions,
  createResourceClient,
  type DeleteOptions,
  type ListOptions,
  listAll,
  type ObjectList,
  type Patch,
  type ResourceAddress,
  type ResourceClient,
  type WatchOptions,
  type WriteOptions,
} from "./resource-client.ts";
export { createNodeTransport, type NodeTransportOptions } from "./transport/node.ts";
export type { Transport, TransportRequest, TransportResponse } from "./transport/transport.ts";
export type { WatchEvent } from "./watch-events.ts";
