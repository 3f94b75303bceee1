// A route that a feature serves outside the resources of the management API.

import type { HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Handler } from "@postern/apiserver/context/request-context";

/** A handler, and in what the filters around it differ from those of the management API. */
export type FeatureRoute = Partial<HandlerChainDeps> & { readonly handle: Handler };
