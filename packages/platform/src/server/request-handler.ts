// The request handler: the API router, and a handler chain for each API surface.

import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import { LongRunningRequests } from "@postern/apiserver/authorization/long-running-requests";
import type { Freshness } from "@postern/apiserver/cache/freshness";
import { createHandlerChain, type HandlerChainDeps } from "@postern/apiserver/chain/handler-chain";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { EventLoopBudget } from "@postern/apiserver/limits/event-loop-budget";
import { createFairShares } from "@postern/apiserver/limits/fair-shares";
import { createLongWork } from "@postern/apiserver/limits/long-work";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Replicas } from "@postern/apiserver/storage/replicas";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import { startWorkThreads } from "@postern/kubernetes/server/start-work-threads";
import type { PlatformCore } from "../core/platform-core.ts";
import {
  createLeakReports,
  leakReportAuthorizer,
  leakReporters,
  leakReportLimits,
} from "../features/access-keys/routes/leak-reports.ts";
import { recordingUse } from "../features/access-keys/usage/key-usage.ts";
import { provisioningAuthenticator } from "../features/authorization/provisioning.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import type { ConsoleBuild } from "../features/console/console-build.ts";
import { createConsoleRoute } from "../features/console/console-route.ts";
import {
  createProxyCertificateAuthenticator,
  createProxyServiceAccountAuthenticator,
  isInsideIdentity,
} from "../features/proxy/routes/proxy-authenticators.ts";
import { createProxyQuestion } from "../features/proxy/routes/proxy-decision.ts";
import { createProxyRoute } from "../features/proxy/routes/proxy-route.ts";
import { createScimRoutes, scimErrorResponse } from "../features/scim/scim-routes.ts";
import { redeem } from "../features/sign-in/oauth-routes.ts";
import type { SignInRoutesDeps } from "../features/sign-in/sign-in-deps.ts";
import { createSignInRoutes, signInLimits } from "../features/sign-in/sign-in-routes.ts";
import { issueByRule } from "../features/trust/routes/issue-by-rule.ts";
import {
  createTokenExchangeRoute,
  exchangeAuthorizer,
  exchangers,
  MAX_EXCHANGE_BYTES,
} from "../features/trust/routes/token-exchange-route.ts";
import { createTokenExchange } from "../features/trust/token-exchange.ts";
import { markTokenUsed } from "../features/trust/used-tokens.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { createApiRouter } from "./api-router.ts";
import type { DomainMetrics } from "./domain-metrics.ts";
import type { ManagementSurface } from "./management-surface.ts";
import { createUrgentCheck, failedLoginsOf, fairSharesOf, rateLimitsOf } from "./rate-limits.ts";
import { createManagementCall, createSignInDeps, type SignInParts } from "./sign-in.ts";
import { withDiscoveryRefusals } from "./with-discovery-refusals.ts";
import { withReplicaConfirmation } from "./with-replica-confirmation.ts";

/** User that applies the manifests of --bootstrap-dir. No credential gives this name. */
const BOOTSTRAP_USER = { name: "system:bootstrap", groups: [GROUP_MASTERS] };

export type RequestHandlerDeps = {
  readonly configuration: Configuration;
  readonly memory: Pick<MemoryBudgets, "bodyBytes">;
  /** Absent: it never is. */
  readonly isMemoryShort?: (() => boolean) | undefined;
  readonly core: PlatformCore;
  readonly surface: ManagementSurface;
  readonly signIn: SignInParts;
  readonly administrator: SignInRoutesDeps["administrator"];
  readonly home: SignInRoutesDeps["home"];
  /** Undefined: there is no console in this process. */
  readonly loadConsole: (() => Promise<ConsoleBuild>) | undefined;
  readonly freshness: Freshness;
  /** Absent: no other server can be on this store. */
  readonly replicas: Replicas | undefined;
  readonly audit: AuditOptions;
  readonly runtime: Runtime;
  /** Of the event loop, as the transport sees it. */
  readonly turn: EventLoopBudget;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly domainMetrics: Pick<DomainMetrics, "leakReported">;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export function createRequestHandler(deps: RequestHandlerDeps): ApiHandler {
  const { configuration, core, surface, freshness, replicas, audit, runtime, logger, metrics } = deps;
  const { clock } = runtime;
  const openRequests = new LongRunningRequests(runtime);
  // Rates and failed logins are counted across all surfaces.
  const chain: HandlerChainDeps = {
    runtime,
    logger,
    metrics,
    tracing: deps.tracing,
    isServed: surface.serves,
    chosenCredentials: {
      isCredential: core.keys.isChosenValue,
      isAny: core.keys.mayHaveChosenValues,
    },
    authenticator: freshAuthenticator(core.authenticator, freshness),
    authorizer: recordingUse(core.authorizer, core.usage),
    audit,
    // One for all surfaces: a place is a place, whichever path a request takes.
    shares: createFairShares(fairSharesOf(configuration, deps.memory), {
      ...runtime,
      turn: deps.turn,
      isShort: deps.isMemoryShort,
    }),
    longWork: createLongWork(clock, startWorkThreads(deps.signal, runtime), deps.metrics.rowOverBudget),
    isUrgent: createUrgentCheck(core.names),
    rateLimits: rateLimitsOf(configuration, clock),
    failedLogins: failedLoginsOf(configuration, clock),
    openRequests,
  };
  const proxyAuthenticators = [
    // Before the authenticator of access keys, which refuses all other tokens.
    createProxyServiceAccountAuthenticator(core, surface),
    core.authenticator,
    createProxyCertificateAuthenticator(core, surface),
  ];
  const outermost = withReplicaConfirmation(replicas);
  const management = createHandlerChain(heldToItsKey(surface.route, core), { ...chain, outermost });
  const signIn = createSignInDeps(deps.signIn, management, deps);
  const { audit: _, ...unaudited } = chain;
  const { loadConsole } = deps;
  return createApiRouter({
    sessions: { keys: core.keys, publicUrl: deps.signIn.publicUrl },
    management,
    console:
      loadConsole === undefined || !configuration.console
        ? undefined
        : createHandlerChain(createConsoleRoute({ load: loadConsole, settings: core.names }), {
            // Files that everybody has: what people do in the page is audited where the page asks for it.
            ...unaudited,
            authenticator: exchangers,
            authorizer: exchangeAuthorizer,
            rateLimits: signInLimits(clock),
          }),
    scim: createHandlerChain(
      createScimRoutes({
        ...core,
        call: createManagementCall(
          createHandlerChain(heldToItsKey(surface.route, core), {
            ...chain,
            outermost,
            authenticator: provisioningAuthenticator(chain.authenticator, core.keys),
          }),
          core.names.managementGroup,
          deps.signal,
        ),
        publicUrl: deps.signIn.publicUrl,
      }),
      // The request goes on to the management API, which decides about it.
      { ...chain, outermost, authorizer: exchangeAuthorizer, errorResponse: scimErrorResponse },
    ),
    signIn: createHandlerChain(createSignInRoutes(signIn, deps.signIn.backChannel), {
      ...chain,
      outermost,
      // It returns an identity.
      authenticator: freshAuthenticator(exchangers, freshness),
      authorizer: exchangeAuthorizer,
      rateLimits: signInLimits(clock),
      bodyBytes: MAX_EXCHANGE_BYTES,
    }),
    leaks: createHandlerChain(leakReports(deps), {
      ...chain,
      outermost,
      authenticator: leakReporters,
      authorizer: leakReportAuthorizer,
      rateLimits: leakReportLimits(clock),
      isUrgent: () => true,
    }),
    exchange: createHandlerChain(tokenExchange(deps, signIn), {
      ...chain,
      // The credential is in the body. The rules have to be the newest there are.
      authenticator: freshAuthenticator(exchangers, freshness),
      authorizer: exchangeAuthorizer,
      // The exchange answers in the words of OAuth when it is asked too much.
      rateLimits: {},
      bodyBytes: MAX_EXCHANGE_BYTES,
    }),
    proxy: createHandlerChain(createProxyRoute(core, surface), {
      ...chain,
      outermost,
      authenticator: freshAuthenticator(unionAuthenticator(proxyAuthenticators), freshness),
      // Impersonation, as the management API decides it.
      authorizer: core.authorizer,
      questionOf: createProxyQuestion(core),
      withRefusals: withDiscoveryRefusals,
      skipImpersonation: isInsideIdentity,
    }),
  });
}

/** The management API for the server's own requests, which are audited as those of anybody. */
export function createBootstrapHandler({
  core,
  surface,
  audit,
  runtime,
  logger,
  metrics,
}: Pick<RequestHandlerDeps, "core" | "surface" | "audit" | "runtime" | "logger" | "metrics">): ApiHandler {
  return createHandlerChain(surface.route, {
    runtime,
    logger,
    metrics,
    isServed: surface.serves,
    authenticator: { authenticate: () => ({ user: BOOTSTRAP_USER }) },
    authorizer: core.authorizer,
    audit,
  });
}

/** Permissions that a limited key grants in a role or binding are checked as if the key used them: those of its owner do not count. */
const heldToItsKey =
  (route: Handler, { keys, authorizer }: Pick<PlatformCore, "keys" | "authorizer">): Handler =>
  (context) => {
    const key = context.credential === undefined ? undefined : keys.byId(context.credential.id);
    if (key?.restrictions === undefined) return route(context);
    const outerAuthorizer = { authorize: authorizer.authorize, narrowRules: <T>(rules: T): T => rules };
    return route(context.with({ outerAuthorizer }));
  };

const tokenExchange = ({ core, surface, runtime, signal }: RequestHandlerDeps, signIn: SignInRoutesDeps): Handler =>
  createTokenExchangeRoute({
    redeem: (form, context) => redeem(form, context, signIn),
    names: core.names,
    exchange: createTokenExchange({
      rules: core.trustRules,
      verifier: core.verifier,
      take: (rule, id, expiresAt) => markTokenUsed(core.takenTokens, rule, id, expiresAt),
      issue: issueByRule({ mint: surface.mint, clock: runtime.clock, signal }),
      clock: runtime.clock,
    }),
    format: core.secrets.format,
    now: () => runtime.clock.now(),
  });

const leakReports = ({ configuration, core, surface, runtime, domainMetrics, signal }: RequestHandlerDeps) =>
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
