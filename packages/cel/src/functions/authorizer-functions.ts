// Permissions of a request's user, as expressions ask for them: `authorizer.group('apps').resource('deployments').check('create').allowed()`.
// Source: k8s.io/apiserver/pkg/cel/library/authz.go

import { isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, type CelValue, failCel } from "../cel-value.ts";
import { type CelOverload, celMethod } from "./overload.ts";

/** A question about the user of the request, or about a ServiceAccount. */
export type AccessQuestion = {
  readonly account?: { readonly namespace: string; readonly name: string } | undefined;
  readonly verb: string;
} & (
  | { readonly path: string }
  | {
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
    }
);

type AccessAnswer = { readonly allowed: boolean; readonly reason: string; readonly error: string };

export type AskAccess = (question: AccessQuestion) => AccessAnswer;

type Account = AccessQuestion["account"];
type Target = { readonly group: string; readonly resource: string } & {
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
};

abstract class Unequal extends CelExtension {
  equals(other: CelExtension): boolean {
    return other === this;
  }
}

/** The variable `authorizer`. */
export class CelAuthorizer extends Unequal {
  readonly typeName = EXTENSION_TYPES.authorizer;
  readonly ask: AskAccess;
  readonly account: Account;
  /** The target of the request itself. */
  readonly requested: Target;

  constructor(ask: AskAccess, requested: Target, account?: Account) {
    super();
    this.ask = ask;
    this.requested = requested;
    this.account = account;
  }

  override memberOf(field: string): CelValue | undefined {
    return field === "requestResource" ? new ResourceCheck(this, this.requested) : undefined;
  }
}

class PathCheck extends Unequal {
  readonly typeName = EXTENSION_TYPES.pathCheck;
  readonly authorizer: CelAuthorizer;
  readonly path: string;

  constructor(authorizer: CelAuthorizer, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Unequal {
  readonly typeName = EXTENSION_TYPES.groupCheck;
  readonly authorizer: CelAuthorizer;
  readonly group: string;

  constructor(authorizer: CelAuthorizer, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheck extends Unequal {
  readonly typeName = EXTENSION_TYPES.resourceCheck;
  readonly authorizer: CelAuthorizer;
  readonly target: Target;

  constructor(authorizer: CelAuthorizer, target: Target) {
    super();
    this.authorizer = authorizer;
    this.target = target;
  }
}

class Decision extends Unequal {
  readonly typeName = EXTENSION_TYPES.decision;
  readonly answer: AccessAnswer;

  constructor(answer: AccessAnswer) {
    super();
    this.answer = answer;
  }
}

const as = <T extends CelExtension>(type: new (...args: never[]) => T, value: CelValue): T =>
  value instanceof type ? value : failCel("no such overload");

const filled = (text: string, what: string): string =>
  text.trim() === "" ? failCel(`${what} must not be empty`) : text;

function forAccount(authorizer: CelAuthorizer, namespace: string, name: string): CelAuthorizer {
  if (isDNS1123Subdomain(name).length > 0) failCel("Invalid service account name");
  if (isDNS1123Label(namespace).length > 0) failCel("Invalid service account namespace");
  return new CelAuthorizer(authorizer.ask, authorizer.requested, { namespace, name });
}

const narrowed = (part: "subresource" | "namespace" | "name"): CelOverload =>
  celMethod(part, ["resourceCheck", "string"], "resourceCheck", (value, text) => {
    const { authorizer, target } = as(ResourceCheck, value);
    return new ResourceCheck(authorizer, { ...target, [part]: text });
  });

/** RBAC grants whole resources: a selector makes no difference to its answer. */
const selected = (name: string): CelOverload =>
  celMethod(name, ["resourceCheck", "string"], "resourceCheck", (value) => as(ResourceCheck, value));

function checkPath(value: CelValue, verb: string): Decision {
  const { authorizer, path } = as(PathCheck, value);
  return new Decision(authorizer.ask({ account: authorizer.account, verb, path }));
}

function checkResource(value: CelValue, verb: string): Decision {
  const { authorizer, target } = as(ResourceCheck, value);
  return new Decision(authorizer.ask({ account: authorizer.account, verb, ...target }));
}

const answerOf = (value: CelValue): AccessAnswer => as(Decision, value).answer;
const NO_PART = { subresource: "", namespace: "", name: "" };

export const authorizerFunctions: readonly CelOverload[] = [
  celMethod(
    "path",
    ["authorizer", "string"],
    "pathCheck",
    (value, path) => new PathCheck(as(CelAuthorizer, value), filled(path, "path")),
  ),
  celMethod(
    "group",
    ["authorizer", "string"],
    "groupCheck",
    (value, group) => new GroupCheck(as(CelAuthorizer, value), group),
  ),
  celMethod("serviceAccount", ["authorizer", "string", "string"], "authorizer", (value, namespace, name) =>
    forAccount(as(CelAuthorizer, value), namespace, name),
  ),
  celMethod("resource", ["groupCheck", "string"], "resourceCheck", (value, resource) => {
    const { authorizer, group } = as(GroupCheck, value);
    return new ResourceCheck(authorizer, { group, resource: filled(resource, "resource"), ...NO_PART });
  }),
  narrowed("subresource"),
  narrowed("namespace"),
  narrowed("name"),
  selected("fieldSelector"),
  selected("labelSelector"),
  celMethod("check", ["pathCheck", "string"], "decision", checkPath),
  celMethod("check", ["resourceCheck", "string"], "decision", checkResource),
  celMethod("allowed", ["decision"], "bool", (value) => answerOf(value).allowed),
  celMethod("reason", ["decision"], "string", (value) => answerOf(value).reason),
  celMethod("errored", ["decision"], "bool", (value) => answerOf(value).error !== ""),
  celMethod("error", ["decision"], "string", (value) => answerOf(value).error),
];
