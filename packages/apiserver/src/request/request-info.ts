// The RequestInfo, parsed once from method and path. Router, authorizer, proxy and audit use it and never the raw URL.
// Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go

/** Verbs as Kubernetes names them. Requests outside the resource tree carry the lower-case HTTP method. */
export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | (string & {});

export type RequestInfo = {
  readonly isResourceRequest: boolean;
  /** The whole canonical path, below the base path of the server. */
  readonly path: string;
  readonly verb: Verb;
  /** `api` or `apis`; "" outside the resource tree. */
  readonly apiPrefix: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The path segments from the resource on. */
  readonly parts: readonly string[];
  readonly fieldSelector: string;
  readonly labelSelector: string;
};
