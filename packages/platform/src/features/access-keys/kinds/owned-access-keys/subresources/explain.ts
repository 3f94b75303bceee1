// POST ownedaccesskeys/{name}/explain: whether a key may do something, and why not; and how its scope could be narrowed.

import type { KeyScope } from "@postern/api/access-key-scope";
import {
  type ExplainedRequest,
  type OwnedAccessKeyExplanation,
  ownedAccessKeyExplanationSchema,
} from "@postern/api/owned-access-key-explanation";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { badRequestError, isApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { nonResourceInfo, resolveRequestInfo } from "@postern/apiserver/request/request-info";
import type { DecisionStep, PlatformAuthorizer } from "../../../../authorization/platform-decision.ts";
import { managementRequest, type PlatformRequest } from "../../../../authorization/request/platform-request.ts";
import { parseProxyPath, proxyRequest } from "../../../../authorization/request/proxy-path.ts";
import {
  describeRequest,
  type ScopeEntry,
  scopeEntryFor,
  scopeOf,
  textOfEntry,
} from "../../../../authorization/restrictions/scope-entry.ts";
import { unknownNames } from "../../../../directory/unknown-names.ts";
import type { AccessKeyState } from "../../../access-key-state.ts";
import type { AccessKeyIndex } from "../../../index/access-key-index.ts";
import { usesRefusal } from "../../../key-uses.ts";
import type { GatherUses } from "../../../last-use/periodic-writer.ts";
import type { KeyUsage } from "../../../usage/key-usage.ts";
import { mergeUsage } from "../../../usage/key-usage-record.ts";
import { remedyOfKeyRefusal } from "../../../validity/key-validity.ts";
import { namedInScope, type ScopeWarningDeps } from "../scope-warnings.ts";
import { visibleKey } from "./visible-key.ts";

export type ExplainDeps = ScopeWarningDeps & {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "stateOf" | "childrenOf">;
  readonly ownKeys: () => Pick<Required<ResourceStorage>, "get">;
  readonly identityOf: (key: AccessKeyState) => UserInfo;
  readonly decisions: Pick<PlatformAuthorizer, "explainDecision">;
  readonly usage: Pick<KeyUsage, "of">;
  readonly gatherUses: GatherUses;
};

/** The key, and keys that were created with it, whose use counts. */
const MAX_COUNTED = 250;

type Question = NonNullable<OwnedAccessKeyExplanation["spec"]>;

export const explain = (deps: ExplainDeps): Subresource => {
  const { names, keys, ownKeys, identityOf, decisions, usage, gatherUses } = deps;
  return {
    name: "explain",
    kind: { group: names.managementGroup, version: "v1", kind: "OwnedAccessKeyExplanation" },
    schema: ownedAccessKeyExplanationSchema,
    description: "Explain what the access key may do, and what it was used for.",
    async create(context, body) {
      const object = await visibleKey(context, ownKeys());
      const key = keys.byUid(object.metadata.uid ?? "");
      if (key === undefined)
        throw notFoundError({ group: names.managementGroup, resource: "ownedaccesskeys" }, context.info.name);
      // The schema has been checked on the way here.
      const { spec = {} } = body as OwnedAccessKeyExplanation;
      const request = requestOf(spec);
      const refusal = keys.stateOf(key) ?? usesRefusal(key);
      return {
        ...body,
        status: {
          ...(refusal === undefined ? {} : { refusal: refusal.message, remedies: [remedyOfKeyRefusal(refusal)] }),
          ...(request === undefined ? {} : await answer(request, key, context)),
          ...(await usageOf(key, context)),
        },
      };
    },
  };

  /** Fault in the names of an entry, for a caller who sees no more than it may. */
  async function faultOf(entry: ScopeEntry, context: RequestContext): Promise<string | undefined> {
    // Entries are made in the shape of a scope.
    const named = namedInScope(scopeOf([entry]) as KeyScope, deps);
    const [fault] = await unknownNames(named, context, deps);
    return fault?.replace(/^.*?: /, "");
  }

  async function remedyOf(
    { step, reason }: DecisionStep,
    request: PlatformRequest,
    key: AccessKeyState,
    context: RequestContext,
  ): Promise<string> {
    switch (step) {
      case "key":
        return remedyOfKeyRefusal(keys.stateOf(key) ?? { reason: "Unknown", message: reason });
      case "right":
        return `the owner of the key needs permission to ${describeRequest(request)}, by a role or in the project`;
      case "scope": {
        if (reason === "out-of-rules") return "at least one of the key's rules must match the request";
        if (reason === "limited-uses") return "it needs a key without spec.maxUses, since it yields a credential";
        const entry = scopeEntryFor(request, names);
        if (entry === undefined || entry === "always-open")
          return "no scope allows this request: it needs a key without a scope";
        const fault = await faultOf(entry, context);
        return fault === undefined
          ? `add to spec.scope: ${JSON.stringify(scopeOf([entry]))}`
          : `check the names in the request: ${fault}`;
      }
    }
  }

  async function answer(request: PlatformRequest, key: AccessKeyState, context: RequestContext): Promise<JsonObject> {
    const { decision, steps } = decisions.explainDecision(request, {
      user: identityOf(key),
      credential: { id: key.id },
    });
    const missing = steps.filter(({ passed }) => !passed);
    return {
      allowed: decision.verdict === "allow",
      request: describeRequest(request),
      steps: steps.map(({ step, passed, reason }) => ({ step, passed, reason })),
      remedies: await Promise.all(missing.map((step) => remedyOf(step, request, key, context))),
    };
  }

  /** The key, and keys that were created with it: they end where their scope is beyond that of the key. */
  function countedWith(key: AccessKeyState): readonly AccessKeyState[] {
    const found = new Set([key]);
    for (const each of found)
      for (const child of keys.childrenOf(each.uid)) if (found.size < MAX_COUNTED) found.add(child);
    return [...found];
  }

  async function usageOf(key: AccessKeyState, context: RequestContext): Promise<JsonObject> {
    const [, ...made] = countedWith(key);
    await gatherUses([key, ...made].map(({ uid }) => uid));
    const own = usage.of(key.uid);
    const all = made.reduce((sum, { uid }) => mergeUsage(sum, usage.of(uid)), own);
    const { entries: used, beyondScopes, uses } = all;
    const [since, complete] = [own.since, all.complete && made.length + 1 < MAX_COUNTED];
    // Objects that are gone need no entry.
    const faults = await Promise.all(used.map((entry) => faultOf(entry, context)));
    const entries = used.filter((_, at) => faults[at] === undefined);
    const seen = new Set(entries.map(textOfEntry));
    return {
      usedSince: formatTimestamp(since),
      leastScope: scopeOf(entries),
      ...(beyondScopes.length === 0 ? {} : { beyondScopes }),
      isUsageComplete: complete,
      uses: uses
        .filter(({ target }) => target === undefined || seen.has(textOfEntry(target)))
        .map(({ target, apiGroup, resource, verbs }) => ({
          ...(target === undefined ? {} : { target: scopeOf([target]) }),
          apiGroup,
          resource,
          verbs: [...verbs],
        })),
    };
  }
};

/** Throws ApiError 400 for a path that no request can have. */
function requestOf({ resourceAttributes, method = "GET", path }: Question): PlatformRequest | undefined {
  if (path !== undefined && path !== "") {
    if (resourceAttributes !== undefined) throw badRequestError("give spec.resourceAttributes or spec.path, not both");
    return requestOfPath(method.toUpperCase(), path);
  }
  return resourceAttributes === undefined ? undefined : requestOfAttributes(resourceAttributes);
}

function requestOfPath(method: string, text: string): PlatformRequest {
  const [path = "", query = ""] = text.split("?", 2);
  if (!path.startsWith("/")) throw badRequestError("spec.path must begin with a slash");
  const proxied = parseProxyPath(path);
  const parameters = new URLSearchParams(query);
  if (proxied !== undefined) return proxyRequest(proxied, method, parameters);
  const below = path.startsWith("/kubernetes/management/") ? path.slice("/kubernetes/management".length) : path;
  try {
    return managementRequest(resolveRequestInfo(method, below, parameters));
  } catch (error) {
    if (isApiError(error)) throw badRequestError(`spec.path: ${error.message}`);
    throw error;
  }
}

function requestOfAttributes(attributes: ExplainedRequest): PlatformRequest {
  const { verb = "", group = "", resource = "", subresource = "", namespace = "", name = "" } = attributes;
  return managementRequest({
    ...nonResourceInfo("GET", ""),
    isResourceRequest: true,
    verb,
    apiGroup: group,
    resource,
    subresource,
    namespace,
    name,
  });
}
