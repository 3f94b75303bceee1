// Everything that a request passes through: the front door, and behind it a chain of filters for each of the API surfaces.

import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { OpenRequests } from "@postern/apiserver/authorization/open-requests";
import type { Freshness } from "@postern/apiserver/cache/freshness";
import { createFairShares } from "@postern/apiserver/chain/fair-shares";
import type { Handler } from "@postern/apiserver/chain/handler";
import { createHandlerChain, type HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { isLongRunning } from "@postern/apiserver/request/long-running";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { requiredResource } from "@postern/apiserver/server/standard-surface";
import type { Replicas } from "@postern/apiserver/storage/replicas";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";
import { proxiedRequest } from "../audit/proxied-request.ts";
import { notingUse } from "../authorization/noting-use.ts";
import type { Configuration } from "../config/configuration.ts";
import { answeredOnceAllKnow } from "./answered-once-all-know.ts";
import { isLongRunningBackup } from "./backup-route.ts";
import type { DomainMetrics } from "./domain-metrics.ts";
import { createFrontDoor } from "./front-door.ts";
import { createLeakReports, leakReportAuthorizer, leakReporters, leakReportLimits } from "./leak-reports.ts";
import type { ManagementSurface } from "./management-surface.ts";
import type { PlatformCore } from "./platform-core.ts";
import {
  createProxyCertificateAuthenticator,
  createProxyServiceAccountAuthenticator,
  isInsideIdentity,
} from "./proxy-authenticators.ts";
import { createProxyQuestion } from "./proxy-decision.ts";
import { createProxyRoute, isLongRunningProxy } from "./proxy-route.ts";
import { failedLoginsOf, fairSharesOf, rateLimitsOf } from "./rate-limits.ts";
import { createUrgentCheck } from "./urgent-requests.ts";
import { withDiscoveryRefusals } from "./with-discovery-refusals.ts";

export type RequestHandlerOptions = {
  readonly configuration: Configuration;
  readonly core: PlatformCore;
  readonly surface: ManagementSurface;
  readonly freshness: Freshness;
  /** Absent: no other server can be on this store. */
  readonly replicas: Replicas | undefined;
  readonly audit: AuditOptions;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly domainMetrics: Pick<DomainMetrics, "leakReported">;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export function createRequestHandler(options: RequestHandlerOptions): ApiHandler {
  const { configuration, core, surface, freshness, replicas, audit, runtime, logger, metrics } = options;
  const { clock } = runtime;
  const openRequests = new OpenRequests(runtime);
  // Rates and wrong credentials are counted together, whichever surface they come to.
  const chain: HandlerChainDeps = {
    runtime,
    logger,
    metrics,
    isServed: surface.serves,
    isCredential: (text) => core.keys.isChosenValue(text),
    authenticator: freshAuthenticator(core.authenticator, freshness),
    authorizer: notingUse(core.authorizer, core.usage),
    audit,
    // One for all surfaces: a place is a place, whichever path a request takes.
    shares: createFairShares(fairSharesOf(configuration), runtime),
    isUrgent: createUrgentCheck(core.names),
    rateLimits: rateLimitsOf(configuration, clock),
    failedLogins: failedLoginsOf(configuration, clock),
    openRequests,
  };
  const proxyAuthenticators = [
    // Before that of access keys, which refuses every token that is none.
    createProxyServiceAccountAuthenticator(core, surface),
    core.authenticator,
    createProxyCertificateAuthenticator(core, surface),
  ];
  return createFrontDoor({
    management: answeredOnceAllKnow(
      createHandlerChain(heldToItsKey(surface.route, core), {
        ...chain,
        isLongRunning: (request, info) => isLongRunning(request, info) || isLongRunningBackup(request, info),
      }),
      replicas,
    ),
    leaks: answeredOnceAllKnow(
      createHandlerChain(leakReports(options), {
        ...chain,
        authenticator: leakReporters,
        authorizer: leakReportAuthorizer,
        rateLimits: leakReportLimits(clock),
        isUrgent: () => true,
      }),
      replicas,
    ),
    proxy: createHandlerChain(createProxyRoute(core, surface), {
      ...chain,
      authenticator: freshAuthenticator(unionAuthenticator(proxyAuthenticators), freshness),
      // As the management API decides it: who may act as whom.
      authorizer: core.authorizer,
      questionOf: createProxyQuestion(core),
      withRefusals: withDiscoveryRefusals,
      auditedAs: proxiedRequest,
      isLongRunning: isLongRunningProxy,
      leavesImpersonation: isInsideIdentity,
    }),
  });
}

/** What a narrowed key gives away, in a role or a binding, is asked about as if the key used it: its owner's rights do not help it. */
const heldToItsKey =
  (route: Handler, { keys, authorizer }: Pick<PlatformCore, "keys" | "authorizer">): Handler =>
  (context) => {
    const key = context.credential === undefined ? undefined : keys.byId(context.credential.id);
    if (key?.restrictions === undefined) return route(context);
    const outerAuthorizer = { authorize: authorizer.authorize, narrowRules: <T>(rules: T): T => rules };
    return route({ ...context, outerAuthorizer });
  };

const leakReports = ({ configuration, core, surface, runtime, domainMetrics, signal }: RequestHandlerOptions) =>
  createLeakReports({
    ...core,
    policy: configuration.accessKeys.leaked,
    accessKeys: () => requiredResource(surface.registry, core.names.managementGroup, "OwnedAccessKey"),
    recordEvent: surface.recordKeyEvent,
    onReport: domainMetrics.leakReported,
    runtime,
    onError: surface.onError,
    signal,
  });
