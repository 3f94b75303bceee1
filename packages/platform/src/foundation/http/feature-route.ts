// A route that a feature serves outside the resources of the management API.

import type { HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";

/** A handler, and in what the filters around it differ from those of the management API. */
export type ChainedHandler = Partial<HandlerChainDeps> & { readonly handle: Handler };

export type FeatureRoute = ChainedHandler & {
  /** Whether the route takes a request with this canonical path. */
  readonly takes: (path: string, request: Pick<ApiRequest, "method" | "headers">) => boolean;
  /** The URI for logs, where that of the request can contain a credential. Default: that of the request. */
  readonly loggedUri?: ((path: string) => string) | undefined;
  /** Files that are the same for all callers: they are not audited, and need no store. Default: false. */
  readonly isPublic?: boolean;
};

/** A path of the management API beside its resources, or all paths one below it that end with a star: RBAC authorizes it as a non-resource URL. */
export type ManagementRoute = { readonly path: string; readonly handle: Handler };

export const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);
