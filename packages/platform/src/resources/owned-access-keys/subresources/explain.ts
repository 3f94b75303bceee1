// POST ownedaccesskeys/{name}/explain: whether a key may do something, and why not; and how its scope could be narrowed.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { badRequestError, isApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { nonResourceInfo, resolveRequestInfo } from "@postern/apiserver/request/request-info";
import type { AccessKeyIndex } from "../../../access-keys/access-key-index.ts";
import type { AccessKeyState } from "../../../access-keys/access-key-state.ts";
import { remedyOfKeyRefusal } from "../../../access-keys/key-validity.ts";
import type { KeyUsage } from "../../../authorization/key-usage.ts";
import type { DecisionStep, PlatformAuthorizer } from "../../../authorization/platform-authorizer.ts";
import type { PlatformContext } from "../../../authorization/platform-context.ts";
import { managementRequest, type PlatformRequest } from "../../../authorization/platform-request.ts";
import { parseProxyPath, proxyRequest } from "../../../authorization/proxied-call.ts";
import {
  describeRequest,
  type ScopeEntry,
  scopeEntryFor,
  scopeOf,
  textOfEntry,
} from "../../../authorization/scope-entry.ts";
import { unknownNames } from "../../unknown-names.ts";

import { namedInScope, type ScopeWarningDeps } from "../scope-warnings.ts";
import { visibleKey } from "./visible-key.ts";

export type ExplainDeps = ScopeWarningDeps &
  Pick<PlatformContext, "names"> & {
    readonly keys: Pick<AccessKeyIndex, "byUid" | "refusalOf">;
    readonly ownKeys: () => Pick<Required<ResourceStorage>, "get">;
    readonly identityOf: (key: AccessKeyState) => UserInfo;
    readonly decisions: Pick<PlatformAuthorizer, "explainDecision">;
    readonly usage: Pick<KeyUsage, "of">;
  };

const resourceAttributes = s
  .object({
    verb: s.string().describe("Verb, such as get, list, create or use."),
    group: s.string().describe("API group; empty for the core group."),
    resource: s.string().describe("Plural name of the resource."),
    subresource: s.string().describe("Subresource, such as kubeconfig."),
    namespace: s.string().describe("Namespace; empty for cluster-scoped resources, or for all namespaces."),
    name: s.string().describe("Name of the object; empty for all objects."),
  })
  .describe("A request for a resource of the management API.");

const fields = s
  .object({
    spec: s
      .object({
        resourceAttributes,
        method: s.string().describe("HTTP method of the request to explain, together with path. Defaults to GET."),
        path: s
          .string()
          .describe(
            "Path of the request to explain, with its query, as sent by a client. Paths through the proxy are allowed.",
          ),
      })
      .describe("Request to explain, by attributes or by path. Unset: only report the use of the key."),
    status: s
      .object({
        allowed: s.boolean().describe("Whether the request would be allowed."),
        request: s.string().describe("How the server understands the request."),
        steps: s
          .list(
            s.object({
              step: s
                .string()
                .describe("Step of the decision: the key, the permissions of its owner, its scope and rules."),
              passed: s.boolean().describe("Whether this step allows the request."),
              reason: s.string().describe("What decided it."),
            }),
          )
          .describe("Steps of the decision. All of them must allow the request."),
        remedies: s
          .list(s.string())
          .describe("What to change so that the request is allowed, for each step that refuses it."),
        refusal: s.string().describe("Why the key itself is refused. Unset if it is valid."),
        usedSince: s
          .timestamp()
          .describe("Start of the recorded use. Use from the last minute may be lost when the server restarts."),
        leastScope: s.anyObject().describe("Narrowest spec.scope that allows everything the key was used for."),
        beyondScopes: s.list(s.string()).describe("Use of the key that only rules, not a scope, can allow."),
        isUsageComplete: s.boolean().describe("False if the key was used for more than the server records."),
        uses: s
          .list(
            s.object({
              target: s
                .anyObject()
                .describe(
                  "Entry of a scope that names the virtual cluster, space or cluster. Unset for the management API.",
                ),
              apiGroup: s.string().describe("API group; empty for the core group."),
              resource: s.string().describe("Plural name of the resource, with its subresource: pods/log."),
              verbs: s.list(s.string()).describe("Verbs of the requests that were allowed, sorted."),
            }),
          )
          .describe("Resources that the key was used on, and with which verbs. At most 100."),
      })
      .describe("The explanation. Read-only."),
  })
  .describe("Explains what an access key may do.");

type KeyScope = NonNullable<AccessKeySpec["scope"]>;
type Explanation = KindOf<typeof fields>;
type Question = NonNullable<Explanation["spec"]>;

export const explain = (deps: ExplainDeps): Subresource => {
  const { names, keys, ownKeys, identityOf, decisions, usage } = deps;
  return {
    name: "explain",
    kind: { group: names.managementGroup, version: "v1", kind: "OwnedAccessKeyExplanation" },
    schema: kindSchema(fields.schema),
    description: "Explain what the access key may do, and what it was used for.",
    async create(context, body) {
      const object = await visibleKey(context, ownKeys());
      const key = keys.byUid(object.metadata.uid ?? "");
      if (key === undefined)
        throw notFoundError({ group: names.managementGroup, resource: "ownedaccesskeys" }, context.info.name);
      // The schema has been checked on the way here.
      const { spec = {} } = body as Explanation;
      const request = requestOf(spec);
      const refusal = keys.refusalOf(key);
      return {
        ...body,
        status: {
          ...(refusal === undefined ? {} : { refusal, remedies: [remedyOfKeyRefusal(refusal)] }),
          ...(request === undefined ? {} : await answer(request, key, context)),
          ...(await usageOf(key, context)),
        },
      };
    },
  };

  /** What is wrong with the names in an entry, for a caller who sees no more than it may. */
  async function faultOf(entry: ScopeEntry, context: RequestContext): Promise<string | undefined> {
    // Entries are made in the shape of a scope.
    const named = namedInScope(scopeOf([entry]) as KeyScope, deps);
    const [fault] = await unknownNames(named, context, deps);
    return fault?.replace(/^.*?: /, "");
  }

  async function remedyOf(
    { step, reason }: DecisionStep,
    request: PlatformRequest,
    context: RequestContext,
  ): Promise<string> {
    switch (step) {
      case "key":
        return remedyOfKeyRefusal(reason);
      case "right":
        return `the owner of the key needs permission to ${describeRequest(request)}, by a role or in the project`;
      case "scope": {
        if (reason === "out-of-rules") return "at least one of the key's rules must match the request";
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
      remedies: await Promise.all(missing.map((step) => remedyOf(step, request, context))),
    };
  }

  async function usageOf({ uid }: AccessKeyState, context: RequestContext): Promise<JsonObject> {
    const { since, entries: used, beyondScopes, complete, uses } = usage.of(uid);
    // What is gone needs no entry.
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

function requestOfAttributes(attributes: Infer<typeof resourceAttributes>): PlatformRequest {
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
