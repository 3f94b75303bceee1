// A whole API surface of access keys, users and teams in memory, for tests: real registry, store, cache and index.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import { MANAGEMENT } from "@postern/api/platform-names";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { DEFAULT_LIMITS } from "@postern/apiserver/endpoints/endpoint-context";
import { createEventLines } from "@postern/apiserver/endpoints/handlers/event-lines";
import { createListSegments } from "@postern/apiserver/endpoints/negotiation/list-segments";
import { createResourceRouter } from "@postern/apiserver/endpoints/resource-router";
import { createRateLimiter } from "@postern/apiserver/limits/rate-limiter";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { admissionChain } from "@postern/apiserver/registry/admission-plugin";
import { createResourceRegistry, type ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { defaultConfiguration } from "../../../foundation/config/configuration.ts";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { createFoundation, type Foundation } from "../../../foundation/foundation.ts";
import { followAccounts } from "../../../foundation/store/record-accounts.ts";
import { createRequestContext, type PlatformTestRequest } from "../../../testing/request-context.ts";
import type { Authorization } from "../../authorization/feature.ts";
import { SEES_EVERYTHING } from "../../authorization/testing/sees-everything.ts";
import { openBudgets } from "../../budgets/feature.ts";
import type { MemoryBudgets } from "../../budgets/memory-limit.ts";
import { createCertificateLedger } from "../../certificates/certificate-ledger.ts";
import { openDirectory } from "../../directory/feature.ts";
import { directoryKinds } from "../../directory/kinds/index.ts";
import type { IdentityProviders } from "../../sign-in/providers/identity-provider-index.ts";
import { openOneTimeDelivery } from "../../wrapped-values/feature.ts";
import { createAccessKeyAuthenticator } from "../access-key-authenticator.ts";
import { createGuessRateLimit } from "../chosen-values/guess-rate-limit.ts";
import { accountOfClaim, createValueClaims } from "../chosen-values/unique-values.ts";
import { type AccessKeys, DAY_MS } from "../feature.ts";
import { createAccessKeyIndex } from "../index/create-access-key-index.ts";
import { createIssuedGrants } from "../issued-grants.ts";
import { eventOfKey, type KeyEvent } from "../key-events.ts";
import type { KeyGrants } from "../key-grant.ts";
import { createKeyQuota } from "../key-quota.ts";
import { accessKeyKinds, credentialsOf } from "../kinds/index.ts";
import { createLastActivity } from "../last-use/last-activity.ts";
import { createRotationGuard } from "../rotation/rotation-guard.ts";
import { createRotationMarks } from "../rotation/rotation-marks.ts";
import { createSealedRecordWriter } from "../rotation/sealed-record-writer.ts";
import { createAccessKeySecrets } from "../secrets/access-key-secrets.ts";
import { KeyUsage } from "../usage/key-usage.ts";

export const SERVER_KEY = Buffer.alloc(32, 7);

export type AccessKeyServerOptions = {
  readonly domain?: string;
  readonly accessKeys?: {
    readonly maxTTLSeconds?: number;
    readonly defaultTTLSeconds?: number;
    readonly machineDefaultTTLSeconds?: number;
    readonly maxPerOwner?: number;
  };
  /** Values that are remembered for one owner. Default: no limit. */
  readonly maxChosenValues?: number;
  /** Bytes of the keys of one owner. Default: no limit. */
  readonly ownerBytes?: number;
  /** Certificates of one holder. Default: that of the ledger. */
  readonly certificateLimit?: StoredAmount;
  /** Which another server may be on as well. Default: its own. */
  readonly storage?: Storage;
  /** Current grants of keys. Default: none. */
  readonly keyGrants?: KeyGrants;
  /** Permissions beside those of members of system:masters, who may do everything. */
  readonly allows?: (attributes: AuthorizationAttributes) => boolean;
};

export type AccessKeyServer = Awaited<ReturnType<typeof createAccessKeyServer>>;

export async function createAccessKeyServer(options: AccessKeyServerOptions = {}) {
  const { domain = "postern", allows = () => false } = options;
  const time = manualTime();
  const runtime: Runtime = { clock: time.clock, random: systemRuntime.random, scheduler: time.scheduler };
  const { storage = createMemoryStorage() } = options;
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const events: KeyEvent[] = [];
  const failures: unknown[] = [];
  const configuration = defaultConfiguration("/");
  const lifetime = new AbortController();
  const base: Foundation = {
    ...createFoundation(
      {
        configuration: {
          ...configuration,
          platform: { domain, name: domain.split(".")[0] ?? "", projectNamespacePrefix: "p-" },
          accessKeys: {
            ...configuration.accessKeys,
            ...options.accessKeys,
            maxMiBPerOwner: (options.ownerBytes ?? Number.POSITIVE_INFINITY) / 2 ** 20,
          },
        },
        storage,
        cache,
        runtime,
        keyRing: createFixedKeyRing(SERVER_KEY),
        metrics: createServerMetrics(),
        onError: (error) => void failures.push(error),
        signal: lifetime.signal,
      },
      () => registry,
    ),
    recordEvent: (event) => void events.push(event as KeyEvent),
  };
  const { names, epochs } = base;
  const directory = openDirectory(base);
  const secrets = createAccessKeySecrets({
    platformName: names.name,
    keyRing: base.keyRing,
    random: systemRuntime.random,
  });
  const activityRecords = base.records("key-activity");
  const activity = createLastActivity(epochs, activityRecords);
  const rotationMarks = createRotationMarks();
  const records = base.objects("ownedaccesskeys");
  const openIndex = () =>
    createAccessKeyIndex(base, records, { directory, secrets, activity, rotationMarks, grants: options.keyGrants });
  const keys = openIndex();
  const grants = createIssuedGrants();
  const authorizer: Authorizer = {
    authorize: (attributes) => ({
      verdict: attributes.user.groups.includes("system:masters") || allows(attributes) ? "allow" : "no-opinion",
      reason: "",
    }),
  };
  const claims = base.records("key-values");
  const claimAccounts = followAccounts(claims, systemRuntime.scheduler, accountOfClaim);
  const sealedRecords = createSealedRecordWriter(records, base);
  const rotations = createRotationGuard(base, {
    marks: rotationMarks,
    currentOf: (uid) => keys.byUid(uid),
    writer: sealedRecords,
    onLocked: (key) => void events.push(eventOfKey(names, key, "RetiredValueUsed")),
    onRetiredUse: () => {},
  });
  const certificates = createCertificateLedger(base, { keys, directory }, options.certificateLimit);
  const authenticator = createAccessKeyAuthenticator({
    keys,
    activity,
    rotations,
    directory,
    names,
    clock: time.clock,
  });
  // Nothing that memory does not know, and no metrics.
  const feature = {
    index: keys,
    records,
    secrets,
    authenticator,
    rotations,
    sealedRecords,
    activity,
    usage: new KeyUsage({ names, keys }, time.clock.now()),
    grants,
    comparisons: createGuessRateLimit((limit) => createRateLimiter(limit, time.clock)),
    recordEvent: base.recordEvent,
    valueClaims: createValueClaims({
      prefix: claims.prefix,
      ...(options.maxChosenValues === undefined
        ? {}
        : { accounts: claimAccounts, maxOfOwner: options.maxChosenValues }),
      keyPrefix: records.prefix,
      storage,
      secrets,
      rememberMs: configuration.accessKeys.rememberValuesDays * DAY_MS,
      clock: time.clock,
    }),
  } as unknown as AccessKeys;
  const budgets = openBudgets(base, { keys: feature, memory: { platformBytes: 2 ** 40 } as MemoryBudgets });
  const registry: ResourceRegistry = createResourceRegistry({
    composition: MANAGEMENT,
    storage: budgets.management.storage,
    cache,
    admission: admissionChain([]),
    continueTokens: createContinueTokens(Buffer.from("key")),
    runtime,
    onHookError: (error) => {
      throw error;
    },
  });
  // There are no role bindings and no decision point here.
  const authorization = {
    authorizer,
    ruleResolver: { rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }) },
    rbac: {
      version: 0,
      changesSince: () => undefined,
      onChange: () => ({ [Symbol.dispose]() {} }),
      grantsToUser: () => [],
      grantsToGroup: () => [],
      isBoundTo: () => false,
      rulesOf: () => undefined,
    },
    visibilityOf: () => SEES_EVERYTHING,
  } as unknown as Authorization;
  const credentials = credentialsOf(base, { keys: feature, certificates });
  const quota = createKeyQuota({
    keys,
    maxPerOwner: base.configuration.accessKeys.maxPerOwner,
    lookup: { project: () => undefined },
    restrictionNames: restrictionNames(names.name),
    reaches: async () => true,
  });
  const needs = { keys: feature, directory, authorization, budgets, credentials };
  const delivery = openOneTimeDelivery(base, { keys: feature });
  const ofKeys = accessKeyKinds(base, {
    ...needs,
    wrapped: delivery.values,
    quota,
    certificates,
    providers: { get: () => undefined, all: () => [] } as unknown as IdentityProviders,
    endpoint: { url: () => "https://platform.test", certificateAuthorityPem: undefined },
  });
  const ofDirectory = directoryKinds(base, needs);
  const ownedAccessKeyResource = registry.install(ofKeys.ownedAccessKeys);
  registry.install(ofKeys.accessKeys);
  const userResource = registry.install(ofDirectory.users);
  const teamResource = registry.install(ofDirectory.teams);
  registry.install(ofDirectory.selves);
  const handler = createResourceRouter(registry, {
    runtime,
    // Checks that only the handler chain makes are done before a request comes here.
    authorizer: { authorize: () => ({ verdict: "allow", reason: "" }) },
    limits: DEFAULT_LIMITS,
    eventLines: createEventLines(),
    listSegments: createListSegments(),
  });

  const respond = async (context: RequestContext) => {
    try {
      const response = await handler(context);
      if (response.body.type !== "bytes") throw new Error("expected a finished body");
      const text = Buffer.from(response.body.bytes as Uint8Array).toString();
      return { status: response.status, text, body: JSON.parse(text), warnings: context.warnings.texts };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const text = JSON.stringify(error.toStatus());
      return { status: error.code, text, body: error.toStatus() as any, warnings: context.warnings.texts };
    }
  };

  return {
    names,
    time,
    storage,
    cache,
    registry,
    directory,
    secrets,
    activity,
    activityRecords,
    rotationMarks,
    keys,
    /** Another index of the same records, which was asked nothing yet. */
    openIndex,
    grants,
    certificates,
    authenticator,
    events,
    failures,
    runtime,
    ownedAccessKeyResource,
    userResource,
    teamResource,
    /** Paths are below `/apis/management.<domain>/v1/` unless they begin with a slash. */
    send(request: PlatformTestRequest & { readonly as?: Authentication }) {
      const { as, url, ...rest } = request;
      const path = url.startsWith("/") ? url : `/apis/${names.managementGroup}/v1/${url}`;
      return respond(
        createRequestContext({ ...rest, url: path, ...(as === undefined ? {} : { ...as, credential: as.credential }) }),
      );
    },
    /** Authentication by a key; throws as the authenticator does. */
    async login(
      key: string,
      { address: remoteAddress = "192.0.2.1", userAgent = "test" } = {},
    ): Promise<Authentication> {
      const headers = { authorization: `Bearer ${key}`, "user-agent": userAgent };
      const { request } = createRequestContext({ url: "/", headers, remoteAddress });
      const authentication = await authenticator.authenticate(request);
      if (authentication === undefined) throw new Error("no credential");
      return authentication;
    },
    /** Everything in the store, as text. */
    async dump(): Promise<string> {
      const { entries } = await storage.list("/");
      return entries.map(({ key, value }) => `${key} ${Buffer.from(value).toString()}`).join("\n");
    },
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await rotations[Symbol.asyncDispose]();
      budgets[Symbol.dispose]();
      delivery[Symbol.dispose]();
      certificates[Symbol.dispose]();
      claimAccounts[Symbol.dispose]();
      keys[Symbol.dispose]();
      directory[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      if (options.storage === undefined) await storage[Symbol.asyncDispose]();
    },
  };
}
