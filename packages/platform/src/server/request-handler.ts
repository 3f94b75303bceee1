// The request handler: the API router, and a handler chain for each API surface and each route of a feature.

import type { PlatformNames } from "@postern/api/platform-names";
import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { type Authenticator, unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import { LongRunningRequests } from "@postern/apiserver/authorization/long-running-requests";
import type { Freshness } from "@postern/apiserver/cache/freshness";
import { createHandlerChain, type HandlerChain, type HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { EventLoopBudget } from "@postern/apiserver/limits/event-loop-budget";
import { createFairShares } from "@postern/apiserver/limits/fair-shares";
import { createLongWork } from "@postern/apiserver/limits/long-work";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { Replicas } from "@postern/apiserver/storage/replicas";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";
import { startWorkThreads } from "@postern/kubernetes/server/start-work-threads";
import type { AccessKeys } from "../features/access-keys/feature.ts";
import { leakRoute } from "../features/access-keys/routes/index.ts";
import type { ReportedValue } from "../features/access-keys/routes/leak-reports.ts";
import { recordingUse } from "../features/access-keys/usage/key-usage.ts";
import type { Authorization } from "../features/authorization/feature.ts";
import { provisioningAuthenticator } from "../features/authorization/provisioning.ts";
import { createManagementQuestion } from "../features/authorization/source-question.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { joinRoute, tunnelRoute } from "../features/cluster-tunnels/routes/index.ts";
import type { ConsoleBuild } from "../features/console/console-build.ts";
import { consoleRoute } from "../features/console/console-route.ts";
import { documentationRoute, type LoadDocumentation } from "../features/documentation/documentation-route.ts";
import type { FrontProxy } from "../features/front-proxy/feature.ts";
import { proxyRoute } from "../features/proxy/routes/index.ts";
import { scimRoute } from "../features/scim/scim-routes.ts";
import { signInRoute } from "../features/sign-in/feature.ts";
import type { SignInRoutesDeps } from "../features/sign-in/sign-in-deps.ts";
import { exchangeRoute } from "../features/trust/routes/index.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import { readingOf } from "../features/wrapped-values/reading-of.ts";
import { unwrapRoute } from "../features/wrapped-values/routes/unwrap-route.ts";
import { checkWrap } from "../features/wrapped-values/wrap-request.ts";
import type { ChainedHandler, FeatureRoute } from "../foundation/http/feature-route.ts";
import { type CallManagement, createManagementCall } from "../foundation/http/management-call.ts";
import { createApiRouter, type RoutedChain } from "./api-router.ts";
import type { Platform } from "./compose.ts";
import { createUrgentCheck, failedLoginsOf, fairSharesOf, rateLimitsOf } from "./rate-limits.ts";
import { withReplicaConfirmation } from "./with-replica-confirmation.ts";

/** User that applies the manifests of --bootstrap-dir. No credential gives this name. */
const BOOTSTRAP_USER = { name: "system:bootstrap", groups: [GROUP_MASTERS] };

export type RequestHandlerParts = Pick<SignInRoutesDeps, "administrator" | "home"> & {
  readonly memory: Pick<MemoryBudgets, "bodyBytes">;
  /** Absent: it never is. */
  readonly isMemoryShort?: (() => boolean) | undefined;
  /** Undefined: there is no console in this process. */
  readonly loadConsole: (() => Promise<ConsoleBuild>) | undefined;
  /** Undefined: there is no documentation in this process. */
  readonly loadDocumentation: LoadDocumentation | undefined;
  readonly freshness: Freshness;
  /** Where clients reach the platform. */
  readonly endpoint: PlatformEndpoint;
  /** Absent: no other server can be on this store. */
  readonly replicas: Replicas | undefined;
  readonly audit: AuditOptions;
  /** Of the event loop, as the transport sees it. */
  readonly eventLoopBudget: EventLoopBudget;
  readonly logger: Logger;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** Undefined: no other cluster forwards requests to this server. */
  readonly frontProxy: FrontProxy | undefined;
};

export function createRequestHandler(platform: Platform, parts: RequestHandlerParts): ApiHandler {
  const { base, keys, authorization, clusters, signIn, api, activity, granted } = platform;
  const { cache, configuration, names, runtime, metrics, signal } = base;
  const { clock } = runtime;
  const { freshness, audit } = parts;
  // Rates and failed logins are counted across all surfaces.
  const shared: HandlerChainDeps = {
    runtime,
    logger: parts.logger,
    metrics,
    tracing: parts.tracing,
    isServed: api.serves,
    chosenCredentials: {
      isCredential: keys.index.isChosenValue,
      isAny: keys.index.mayHaveChosenValues,
    },
    authenticator: freshAuthenticator(keys.authenticator, freshness, cache),
    authorizer: recordingUse(authorization.authorizer, keys.usage),
    audit,
    observer: activity.observer,
    // One for all surfaces: a place is a place, whichever path a request takes.
    shares: createFairShares(fairSharesOf(configuration, parts.memory), {
      ...runtime,
      eventLoopBudget: parts.eventLoopBudget,
      isShort: parts.isMemoryShort,
    }),
    longWork: createLongWork(clock, startWorkThreads(signal, runtime), metrics.rowOverBudget),
    isUrgent: createUrgentCheck(names),
    rateLimits: rateLimitsOf(configuration, clock),
    failedLogins: failedLoginsOf(configuration, clock),
    openRequests: new LongRunningRequests(runtime),
  };
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

  const managed = wrappingChecked(heldToItsKey(api.route, keys, authorization), names);
  const questionOf = createManagementQuestion(shared.authorizer, authorization.sourceCheck);
  const management = createHandlerChain(managed, { ...confirmed, questionOf });
  /** Requests that come by the network. The server's own, for pages and directories, come by no front proxy. */
  const received =
    parts.frontProxy === undefined
      ? management
      : createHandlerChain(managed, {
          ...confirmed,
          questionOf,
          authenticator: fresh(unionAuthenticator([parts.frontProxy.authenticator, keys.authenticator])),
          withRefusals: parts.frontProxy.withRefusals,
        });
  const callBy = (to: HandlerChain): CallManagement => createManagementCall(to, names.managementGroup, signal);
  const provisioning = provisioningAuthenticator(fresh(keys.authenticator.parts), keys.index);
  const provision = callBy(createHandlerChain(managed, { ...confirmed, authenticator: provisioning }));
  const { routes, page } = featureRoutes(platform, { ...parts, call: callBy(management), provision });
  return createApiRouter({
    sessions: { keys: keys.index, publicUrl: signIn.publicUrl },
    management: received,
    proxy: chain(proxyRoute(base, { keys, authorization, clusters, granted })),
    routes: routes.map(routed),
    page: page && routed(page),
  });
}

type RouteParts = Pick<
  RequestHandlerParts,
  "administrator" | "home" | "loadConsole" | "loadDocumentation" | "endpoint" | "replicas"
> & {
  readonly call: CallManagement;
  /** As directories may use it. */
  readonly provision: CallManagement;
};

/** The routes of features, but for the page of the console, which also answers mistyped addresses. Exported for its test. */
export function featureRoutes(
  { base, directory, keys, mint, trust, tunnels, clusters, signIn, certificates, delivery }: Platform,
  parts: RouteParts,
): { readonly routes: readonly FeatureRoute[]; readonly page: FeatureRoute | undefined } {
  const { administrator, home, call, provision, endpoint, replicas } = parts;
  const [loadConsole, loadDocumentation] = base.configuration.console
    ? [parts.loadConsole, parts.loadDocumentation]
    : [];
  const { publicUrl } = signIn;
  const { destinations } = clusters;
  const { route: pages, grants } = signInRoute(base, { signIn, directory, keys, mint, call, administrator, home });
  const servers = async (): Promise<number> => (await replicas?.count()) ?? 1;
  const reportOther: ReportedValue = (value, context, options) =>
    delivery.values.report(value, readingOf(context), options);
  return {
    routes: [
      leakRoute(base, { keys, reportOther }),
      unwrapRoute(base, { delivery, keys, certificates, directory }),
      exchangeRoute(base, { trust, keys, mint, grants }),
      pages,
      scimRoute(base, { keys, call: provision, publicUrl }),
      tunnelRoute(base, { tunnels, keys, servers, destinations, endpoint }),
      joinRoute(base, { tunnels, keys, endpoint }),
      ...(loadDocumentation === undefined ? [] : [documentationRoute(base, loadDocumentation)]),
    ],
    page: loadConsole && consoleRoute(base, loadConsole, endpoint),
  };
}

/** The management API for the server's own requests, which are audited as those of anybody. */
export const createBootstrapHandler = (
  { base: { runtime, metrics }, authorization, api }: Platform,
  { audit, logger }: Pick<RequestHandlerParts, "audit" | "logger">,
): ApiHandler =>
  createHandlerChain(api.route, {
    runtime,
    logger,
    metrics,
    isServed: api.serves,
    authenticator: { authenticate: () => ({ user: BOOTSTRAP_USER }) },
    authorizer: authorization.authorizer,
    audit,
  });

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
