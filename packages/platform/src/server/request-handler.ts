// The request handler: the API router, and a handler chain for each API surface and each route of a feature.

import type { PlatformNames } from "@postern/api/platform-names";
import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { type Authenticator, unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { LongRunningRequests } from "@postern/apiserver/authorization/long-running-requests";
import type { Freshness } from "@postern/apiserver/cache/freshness";
import { createHandlerChain, type HandlerChain, type HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { EventLoopBudget } from "@postern/apiserver/limits/event-loop-budget";
import { createFairShares } from "@postern/apiserver/limits/fair-shares";
import { createLongWork } from "@postern/apiserver/limits/long-work";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";
import { startWorkThreads } from "@postern/kubernetes/server/start-work-threads";
import type { AccessKeys } from "../features/access-keys/feature.ts";
import { recordingUse } from "../features/access-keys/usage/key-usage.ts";
import type { Authorization } from "../features/authorization/feature.ts";
import { provisioningAuthenticator } from "../features/authorization/provisioning.ts";
import { createManagementQuestion } from "../features/authorization/source-question.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { proxyRoute } from "../features/proxy/routes/index.ts";
import { checkWrap } from "../features/wrapped-values/wrap-request.ts";
import type { ChainedHandler, FeatureRoute, ManagementRoute } from "../foundation/http/feature-route.ts";
import { type CallManagement, createManagementCall } from "../foundation/http/management-call.ts";
import { createApiRouter, type RoutedChain } from "./api-router.ts";
import type { Platform } from "./compose.ts";
import { createUrgentCheck, failedLoginsOf, fairSharesOf, rateLimitsOf } from "./rate-limits.ts";
import { type FeatureRouteParts, featureRoutes, type ManagementRouteParts, managementRoutes } from "./routes.ts";
import { withReplicaConfirmation } from "./with-replica-confirmation.ts";

export type RequestHandlerParts = FeatureRouteParts &
  ManagementRouteParts & {
    readonly memory: Pick<MemoryBudgets, "bodyBytes">;
    /** Absent: it never is. */
    readonly isMemoryShort?: (() => boolean) | undefined;
    readonly freshness: Freshness;
    readonly audit: AuditOptions;
    /** Of the event loop, as the transport sees it. */
    readonly eventLoopBudget: EventLoopBudget;
    readonly logger: Logger;
    /** Undefined: no tracing. */
    readonly tracing: Tracing | undefined;
  };

export function createRequestHandler(platform: Platform, parts: RequestHandlerParts): ApiHandler {
  const { base, keys, authorization, clusters, signIn, api, granted, frontProxy, recordings } = platform;
  const { cache, names, signal } = base;
  const { freshness } = parts;
  const shared = sharedByChains(platform, parts);
  const confirmed: HandlerChainDeps = { ...shared, outermost: withReplicaConfirmation(parts.replicas) };
  const { audit: _, ...unaudited } = shared;
  /** Credentials, rules and providers have to be the newest there are. */
  const fresh = (authenticator: Authenticator): Authenticator => freshAuthenticator(authenticator, freshness, cache);
  const chain = ({ handle, ...own }: ChainedHandler): HandlerChain => {
    const authenticator = own.authenticator === undefined ? shared.authenticator : fresh(own.authenticator);
    return createHandlerChain(handle, { ...confirmed, ...own, authenticator });
  };
  const routed = ({ takes, loggedUri, isPublic, ...route }: FeatureRoute): RoutedChain => ({
    takes,
    loggedUri,
    chain: isPublic === true ? createHandlerChain(route.handle, { ...unaudited, ...route }) : chain(route),
  });

  const answered = withRoutes(api.route, managementRoutes(platform, parts));
  const managed = wrappingChecked(heldToItsKey(answered, keys, authorization), names);
  const questionOf = createManagementQuestion(shared.authorizer, authorization.sourceCheck);
  const management = createHandlerChain(managed, { ...confirmed, questionOf });
  /** Requests that come by the network. The server's own, for pages and directories, come by no front proxy. */
  const received =
    frontProxy === undefined
      ? management
      : createHandlerChain(managed, {
          ...confirmed,
          questionOf,
          authenticator: fresh(unionAuthenticator([frontProxy.authenticator, keys.authenticator])),
          withRefusals: frontProxy.withRefusals,
        });
  const callBy = (to: HandlerChain): CallManagement => createManagementCall(to, names.managementGroup, signal);
  const provisioning = provisioningAuthenticator(fresh(keys.authenticator.parts), keys.index);
  const provision = callBy(createHandlerChain(managed, { ...confirmed, authenticator: provisioning }));
  const { routes, page } = featureRoutes(platform, { ...parts, call: callBy(management), provision });
  return createApiRouter({
    sessions: { keys: keys.index, publicUrl: signIn.publicUrl },
    management: received,
    proxy: chain(proxyRoute(base, { keys, authorization, clusters, granted, recordings })),
    routes: routes.map(routed),
    page: page && routed(page),
  });
}

/** Rates, failed logins and places are counted across all surfaces, whichever path a request takes. */
function sharedByChains(
  { base, keys, authorization, api, activity }: Platform,
  { logger, tracing, freshness, audit, memory, eventLoopBudget, isMemoryShort }: RequestHandlerParts,
): HandlerChainDeps {
  const { cache, configuration, share, names, runtime, metrics, signal } = base;
  const { clock } = runtime;
  return {
    runtime,
    logger,
    metrics,
    tracing,
    isServed: api.serves,
    chosenCredentials: { isCredential: keys.index.isChosenValue, isAny: keys.index.mayHaveChosenValues },
    authenticator: freshAuthenticator(keys.authenticator, freshness, cache),
    authorizer: recordingUse(authorization.authorizer, keys.usage),
    audit,
    observer: activity.observer,
    shares: createFairShares(fairSharesOf(configuration, memory, share), {
      ...runtime,
      eventLoopBudget,
      isShort: isMemoryShort,
    }),
    longWork: createLongWork(clock, startWorkThreads(signal, runtime), metrics.rowOverBudget),
    isUrgent: createUrgentCheck(names),
    rateLimits: rateLimitsOf(configuration, share, clock),
    failedLogins: failedLoginsOf(configuration, share, clock),
    openRequests: new LongRunningRequests(runtime),
  };
}

/** Paths beside the resources. */
const withRoutes = (route: Handler, routes: readonly ManagementRoute[]): Handler => {
  const byPath = new Map(routes.map(({ path, handle }) => [path, handle]));
  return (context) => {
    const { isResourceRequest, path } = context.info;
    const handle = isResourceRequest ? undefined : (byPath.get(path) ?? byPath.get(belowParent(path)));
    return handle === undefined ? route(context) : handle(context);
  };
};

const belowParent = (path: string): string => `${path.slice(0, path.lastIndexOf("/"))}/*`;

/** A response that should be wrapped and is not would show its credential. */
const wrappingChecked =
  (route: Handler, names: PlatformNames): Handler =>
  (context) => {
    const { query } = context.request;
    if (query.size > 0) checkWrap(context.info, query, names);
    return route(context);
  };

/** Permissions that a limited key grants in a role or binding are checked as if the key used them: those of its owner do not count. */
const heldToItsKey =
  (route: Handler, { index }: AccessKeys, { authorizer }: Authorization): Handler =>
  (context) => {
    const key = context.credential === undefined ? undefined : index.byId(context.credential.id);
    if (key?.restrictions === undefined) return route(context);
    const outerAuthorizer = { authorize: authorizer.authorize, narrowRules: <T>(rules: T): T => rules };
    return route(context.with({ outerAuthorizer }));
  };
