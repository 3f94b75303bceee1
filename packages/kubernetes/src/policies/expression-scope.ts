// The variables of expressions in policies and match conditions.
// Source: k8s.io/apiserver/pkg/admission/plugin/cel/{activation,condition}.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { CelScope } from "@postern/cel/cel-evaluation";
import { type AccessQuestion, type AskAccess, CelAuthorizer } from "@postern/cel/functions/authorizer-functions";
import { dynamicValue } from "./dynamic-value.ts";

// Objects are JSON; only their named types hide it.
const json = (object: KubeObject | undefined): JsonValue | undefined => object as JsonObject | undefined;

/** `seenAs` is the version in which the object is shown, where that is not the one of the request. */
export function requestOf(
  attributes: AdmissionAttributes,
  seenAs: ResourceDefinition = attributes.resource,
): JsonObject {
  const { context, resource, subresource, name, namespace, operation, dryRun } = attributes;
  return {
    kind: kindOf(seenAs),
    resource: resourceOf(seenAs),
    subResource: subresource,
    requestKind: kindOf(resource),
    requestResource: resourceOf(resource),
    requestSubResource: subresource,
    name,
    namespace,
    operation: operation.toUpperCase(),
    userInfo: userInfoOf(context.user),
    dryRun,
    options: optionsOf(attributes),
  };
}

const OPTION_KINDS = { create: "CreateOptions", update: "UpdateOptions", delete: "DeleteOptions" } as const;

/** The options of the request, as objects of their kind. A patch has those of the update or create that it becomes. */
function optionsOf({ operation, context, deleteOptions, dryRun }: AdmissionAttributes): JsonObject | null {
  if (operation === "connect") return null;
  const common = {
    kind: OPTION_KINDS[operation],
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
  if (operation === "delete") return { ...deleteOptions, ...common };
  const { query } = context.request;
  const asked = ["fieldManager", "fieldValidation"].map((name) => [name, query.get(name) ?? ""] as const);
  return { ...common, ...Object.fromEntries(asked.filter(([, value]) => value !== "")) };
}

const kindOf = ({ group, version, kind }: ResourceDefinition): JsonObject => ({ group, version, kind });
const resourceOf = ({ group, version, plural }: ResourceDefinition): JsonObject => ({
  group,
  version,
  resource: plural,
});

const userInfoOf = ({ name, uid, groups, extra }: UserInfo): JsonObject => ({
  username: name,
  ...(uid === undefined ? {} : { uid }),
  groups: [...groups],
  ...(extra === undefined ? {} : { extra }),
});

/** The names that match conditions know; `ask` is undefined where there is no authorizer. */
export function scopeOfRequest(
  attributes: AdmissionAttributes,
  ask: AskAccess,
  seenAs?: ResourceDefinition,
): { readonly [name in "object" | "oldObject" | "request" | "authorizer"]: CelScope[string] } {
  const { resource, subresource, namespace, name } = attributes;
  return {
    object: dynamicValue(json(attributes.object)),
    oldObject: dynamicValue(json(attributes.oldObject)),
    request: dynamicValue(requestOf(attributes, seenAs)),
    authorizer: new CelAuthorizer(ask, {
      group: resource.group,
      resource: resource.plural,
      subresource,
      namespace,
      name,
    }),
  };
}

export const dynamicObject = (object: KubeObject | undefined): CelScope[string] => dynamicValue(json(object));

/** Expressions are evaluated at once, and some authorizers take their time: what asked for an answer is evaluated again when it is there. */
class AnswerNeeded {
  readonly answer: Promise<void>;

  constructor(answer: Promise<void>) {
    this.answer = answer;
  }
}

export type AccessAnswers = {
  readonly ask: AskAccess;
  /** Calls `evaluate` until nothing that it asks is unanswered. */
  evaluate<T>(evaluate: () => T): Promise<T>;
};

/** Answers for the user of a request, with its credential. */
export function createAccessAnswers(context: RequestContext, authorizer: Authorizer): AccessAnswers {
  const known = new Map<string, ReturnType<AskAccess>>();

  function ask(question: AccessQuestion): ReturnType<AskAccess> {
    const id = JSON.stringify(question);
    const answer = known.get(id);
    if (answer !== undefined) return answer;
    const decisions = decide(context, authorizer, attributesOf(question, context));
    if (!decisions.some((decision) => decision instanceof Promise)) {
      // None of them is a promise.
      const made = answerOf(decisions as readonly AuthorizationDecision[]);
      known.set(id, made);
      return made;
    }
    throw new AnswerNeeded(
      Promise.all(decisions).then(
        (all) => void known.set(id, answerOf(all)),
        (error: unknown) => void known.set(id, { allowed: false, reason: "", error: textOf(error) }),
      ),
    );
  }

  return { ask, evaluate: answered };
}

async function answered<T>(evaluate: () => T): Promise<T> {
  for (;;) {
    try {
      return evaluate();
    } catch (error) {
      if (!(error instanceof AnswerNeeded)) throw error;
      await error.answer;
    }
  }
}

/** A ServiceAccount is checked by its own permissions: no credential limits them here. */
const decide = (
  { outerAuthorizer }: RequestContext,
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
): readonly (AuthorizationDecision | Promise<AuthorizationDecision>)[] =>
  [attributes.credential === undefined ? undefined : outerAuthorizer, authorizer].flatMap((each) =>
    each === undefined ? [] : [each.authorize(attributes)],
  );

function answerOf(decisions: readonly AuthorizationDecision[]): ReturnType<AskAccess> {
  const refused = decisions.find(({ verdict }) => verdict !== "allow");
  return { allowed: refused === undefined, reason: (refused ?? decisions.at(-1))?.reason ?? "", error: "" };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown");

function attributesOf(question: AccessQuestion, { user, credential }: RequestContext): AuthorizationAttributes {
  const { account, verb } = question;
  const who =
    account === undefined
      ? { user, credential }
      : {
          user: {
            name: `system:serviceaccount:${account.namespace}:${account.name}`,
            groups: ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`, "system:authenticated"],
          },
        };
  if ("path" in question) {
    const { path } = question;
    const none = { apiGroup: "", apiVersion: "", resource: "", subresource: "", namespace: "", name: "" };
    return { ...who, verb, isResourceRequest: false, path, ...none };
  }
  const { group, resource, subresource, namespace, name } = question;
  const target = { apiGroup: group, apiVersion: "*", resource, subresource, namespace, name };
  return { ...who, verb, isResourceRequest: true, path: "", ...target };
}
