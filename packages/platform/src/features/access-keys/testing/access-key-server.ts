// A whole API surface of access keys, users and teams in memory, for tests: real registry, store, cache and index.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import { createPlatformNames } from "@postern/api/platform-names";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { DEFAULT_LIMITS } from "@postern/apiserver/endpoints/endpoint-context";
import { createEventLines } from "@postern/apiserver/endpoints/handlers/event-lines";
import { createListSegments } from "@postern/apiserver/endpoints/negotiation/list-segments";
import { createResourceRouter } from "@postern/apiserver/endpoints/resource-router";
import { admissionChain } from "@postern/apiserver/registry/admission-plugin";
import { createResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { defaultConfiguration } from "../../../foundation/config/configuration.ts";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { createObjectLookup } from "../../../foundation/lookup/object-lookup.ts";
import { followAccounts } from "../../../foundation/store/record-accounts.ts";
import { createRequestContext, type PlatformTestRequest } from "../../../testing/request-context.ts";
import { SEES_EVERYTHING } from "../../authorization/testing/sees-everything.ts";
import { createManagementBudgets } from "../../budgets/management-budgets.ts";
import { createCertificateLedger } from "../../certificates/certificate-ledger.ts";
import { createDirectory } from "../../directory/create-directory.ts";
import { selves } from "../../directory/kinds/selves/index.ts";
import { teams } from "../../directory/kinds/teams/index.ts";
import { users } from "../../directory/kinds/users/index.ts";
import { createAccessKeyAuthenticator } from "../access-key-authenticator.ts";
import { createAccessKeySecrets } from "../access-key-secrets.ts";
import { createAccessKeyIndex } from "../create-access-key-index.ts";
import { createGuessRateLimit } from "../guess-rate-limit.ts";
import { createIssuedGrants } from "../issued-grants.ts";
import { eventOfKey, type KeyEvent } from "../key-events.ts";
import type { KeyGrants } from "../key-grant.ts";
import { createKeyQuota } from "../key-quota.ts";
import { accessKeys } from "../kinds/access-keys/index.ts";
import { ownedAccessKeys } from "../kinds/owned-access-keys/index.ts";
import { createLastActivity } from "../last-activity.ts";
import { createRotationGuard } from "../rotation/rotation-guard.ts";
import { createSealedRecordWriter } from "../rotation/sealed-record-writer.ts";
import { createRotationMarks } from "../rotation-marks.ts";
import { accountOfClaim, createValueClaims } from "../unique-values.ts";
import { createKeyUsage } from "../usage/key-usage.ts";

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
  const names = createPlatformNames({ domain, name: domain.split(".")[0] ?? "", projectNamespacePrefix: "p-" });
  const viewOf = (resource: string): ViewPrefix => {
    const { prefix } = createResourceKeys("test", { group: names.managementGroup, resource, namespaced: false });
    return { view: cache.view(prefix), prefix };
  };
  const configuration = defaultConfiguration("/");
  const settings = { ...configuration, accessKeys: { ...configuration.accessKeys, ...options.accessKeys } };
  const directory = createDirectory({
    users: viewOf("users"),
    teams: viewOf("teams"),
    scheduler: time.scheduler,
  });
  const secrets = createAccessKeySecrets({
    platformName: names.name,
    keyRing: createFixedKeyRing(SERVER_KEY),
    random: systemRuntime.random,
  });
  const epochs = createClockEpochs(time.clock);
  const activityRecords = {
    view: cache.view("/registry/test/internal/key-activity/"),
    prefix: "/registry/test/internal/key-activity/",
  };
  const activity = createLastActivity(epochs, activityRecords);
  const rotationMarks = createRotationMarks();
  const keyRecords = viewOf("ownedaccesskeys");
  const keys = createAccessKeyIndex({
    ...keyRecords,
    rotationMarks,
    directory,
    secrets,
    restrictionNames: restrictionNames(names.name),
    activity,
    epochs,
    maxTTLSeconds: settings.accessKeys.maxTTLSeconds,
    clock: time.clock,
    random: systemRuntime.random,
    scheduler: time.scheduler,
    ...(options.keyGrants === undefined ? {} : { grants: options.keyGrants }),
  });
  const grants = createIssuedGrants();
  const authorizer: Authorizer = {
    authorize: (attributes) => ({
      verdict: attributes.user.groups.includes("system:masters") || allows(attributes) ? "allow" : "no-opinion",
      reason: "",
    }),
  };
  const events: KeyEvent[] = [];
  const failures: unknown[] = [];
  const budgets = createManagementBudgets({
    storage,
    cache,
    composition: "test",
    accessKeysPrefix: keyRecords.prefix,
    keys,
    names,
    quotaOf: () => undefined,
    limits: {
      project: { objects: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
      ownerBytes: options.ownerBytes ?? Number.POSITIVE_INFINITY,
      platformBytes: 2 ** 40,
    },
    onRefused: () => {},
  });
  const registry = createResourceRegistry({
    composition: "test",
    storage: budgets.storage,
    cache,
    admission: admissionChain([]),
    continueTokens: createContinueTokens(Buffer.from("key")),
    runtime,
    onHookError: (error) => {
      throw error;
    },
  });
  const claims = {
    prefix: "/registry/test/internal/key-values/",
    view: cache.view("/registry/test/internal/key-values/"),
  };
  const claimAccounts = followAccounts(claims, systemRuntime.scheduler, accountOfClaim);
  const sealedRecords = createSealedRecordWriter({ ...keyRecords, storage, cache });
  const rotations = createRotationGuard({
    marks: rotationMarks,
    currentOf: (uid) => keys.byUid(uid),
    writer: sealedRecords,
    ...time,
    onLocked: (key) => void events.push(eventOfKey(names, key, "RetiredValueUsed")),
    onError: (error) => void failures.push(error),
  });
  const certificates = createCertificateLedger({
    prefix: "/registry/test/internal/certificates/",
    ...(options.certificateLimit === undefined ? {} : { limit: options.certificateLimit }),
    storage,
    cache,
    keys,
    directory,
    names,
    epochs,
    ...time,
  });
  const authenticator = createAccessKeyAuthenticator({
    keys,
    activity,
    rotations,
    directory,
    names,
    clock: time.clock,
  });
  const dependencies = {
    names,
    configuration: settings,
    runtime,
    keys,
    budgets,
    activity,
    directory,
    authorizer,
    secrets,
    grants,
    recordEvent: (event: KeyEvent) => void events.push(event),
    identityOf: authenticator.identityOf,
    sealedRecords,
    countedRecords: createSealedRecordWriter({ ...keyRecords, storage: budgets.storage, cache }),
    comparisons: createGuessRateLimit(time.clock),
    valueClaims: createValueClaims({
      prefix: claims.prefix,
      ...(options.maxChosenValues === undefined
        ? {}
        : { accounts: claimAccounts, maxOfOwner: options.maxChosenValues }),
      keyPrefix: keyRecords.prefix,
      storage,
      secrets,
      rememberMs: settings.accessKeys.rememberValuesDays * 86_400_000,
      clock: time.clock,
    }),
    lookup: createObjectLookup(
      () => registry,
      names,
      (signal) => cache.refresh({ signal }),
    ),
    keyQuota: createKeyQuota({
      keys,
      maxPerOwner: settings.accessKeys.maxPerOwner,
      lookup: { project: () => undefined },
      restrictionNames: restrictionNames(names.name),
      reaches: async () => true,
    }),
    // The registry serves every verb of it.
    ownKeys: () => ownedAccessKeyResource.servedStore as Required<ResourceStorage>,
    certificates,
    allKeys: () => keys.all(),
    accessKeys: {
      get keys() {
        return ownedAccessKeyResource.keys;
      },
      get view() {
        return ownedAccessKeyResource.view;
      },
    },
    disableKey: () => Promise.reject(new Error("nothing is revoked here")),
    secretResource: nothingDelivered,
    namespaceResource: nothingDelivered,
    usage: createKeyUsage({ names, keys }, time.clock.now()),
    decisions: {
      explainDecision(): never {
        throw new Error("there is no decision point here");
      },
    },
  };
  const ownedAccessKeyResource = registry.install(ownedAccessKeys(dependencies));
  registry.install(accessKeys(dependencies));
  const withKeys = {
    ...dependencies,
    accessKeys: ownedAccessKeyResource,
    visibility: SEES_EVERYTHING,
    // There are no role bindings here.
    rbac: {
      version: 0,
      changesSince: () => undefined,
      onChange: () => ({ [Symbol.dispose]() {} }),
      grantsToUser: () => [],
      grantsToGroup: () => [],
      isBoundTo: () => false,
      rulesOf: () => undefined,
    },
    ruleResolver: { rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }) },
  };
  const userResource = registry.install(users(withKeys));
  const teamResource = registry.install(teams(withKeys));
  registry.install(selves(withKeys));
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
    async login(key: string): Promise<Authentication> {
      const request = createRequestContext({ url: "/", headers: { authorization: `Bearer ${key}` } }).request;
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
      await rotations[Symbol.asyncDispose]();
      certificates[Symbol.dispose]();
      claimAccounts[Symbol.dispose]();
      keys[Symbol.dispose]();
      directory[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      if (options.storage === undefined) await storage[Symbol.asyncDispose]();
    },
  };
}

/** Secrets and namespaces are not served here. */
function nothingDelivered(): never {
  throw new Error("no value is delivered here");
}
