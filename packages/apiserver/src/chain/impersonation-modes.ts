// How a caller may act as another user: constrained, for single verbs and kinds of users (KEP-5284), or for everything, by the verb `impersonate`.
// Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { parseServiceAccountUsername, serviceAccountGroups } from "../authentication/service-account.ts";
import {
  ANONYMOUS_USER,
  GROUP_AUTHENTICATED,
  GROUP_MASTERS,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "../authentication/user-info.ts";
import type { AuthorizationAttributes } from "../authorization/authorizer.ts";
import { isMaster } from "../authorization/masters-authorizer.ts";
import type { ImpersonationRequest } from "./impersonation-request.ts";

/** All of `each` must be allowed, or `all` alone; with `refusal` nothing helps. */
export type ImpersonationStep = {
  readonly each: readonly AuthorizationAttributes[];
  readonly all?: AuthorizationAttributes;
  /** Why the first of `each` is refused whatever the roles say. */
  readonly refusal?: string;
};

export type ImpersonationPlan = {
  readonly steps: readonly ImpersonationStep[];
  readonly user: UserInfo;
  /** For the audit event; undefined for impersonation without constraints. */
  readonly constraint: string | undefined;
};

/** Undefined for users that the mode is not for. `request` is what the caller asked for, as itself. */
export type ImpersonationMode = (
  asked: ImpersonationRequest,
  request: AuthorizationAttributes,
) => ImpersonationPlan | undefined;

const GROUP = "authentication.k8s.io";
const NODES_GROUP = "system:nodes";
const NODE_PREFIX = "system:node:";
/** With this many groups or extra values, one question about all of them comes first. */
const MANY = 4;

/** The node of a ServiceAccount's token that is bound to a pod. */
const NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name";
const NODE_KEYS_EXTRA = "authentication.kubernetes.io/associated-node-keys";

const nodeOf = (user: string): string | undefined => {
  const name = user.startsWith(NODE_PREFIX) ? user.slice(NODE_PREFIX.length) : "";
  return name === "" || isDNS1123Subdomain(name).length > 0 ? undefined : name;
};

const hasNameOnly = ({ uid, groups, extra }: ImpersonationRequest): boolean =>
  uid === "" && groups.length === 0 && Object.keys(extra).length === 0;

const questionOf = (
  { user, credential }: AuthorizationAttributes,
  about: Pick<AuthorizationAttributes, "verb" | "resource" | "name"> &
    Partial<Pick<AuthorizationAttributes, "apiGroup" | "subresource" | "namespace">>,
): AuthorizationAttributes => ({
  user,
  credential,
  isResourceRequest: true,
  apiGroup: GROUP,
  apiVersion: "v1",
  subresource: "",
  namespace: "",
  path: "",
  ...about,
});

/** The caller must be allowed the request while it acts as the user. */
const onRequest = (mode: string, request: AuthorizationAttributes): ImpersonationStep => ({
  each: [{ ...request, verb: `impersonate-on:${mode}:${request.verb}` }],
});

/** For a user that has nothing but its name. The caller must be allowed the request, and this name. */
function namedPlan(
  mode: string,
  request: AuthorizationAttributes,
  about: Pick<AuthorizationAttributes, "resource" | "name"> & Partial<Pick<AuthorizationAttributes, "namespace">>,
  user: UserInfo,
): ImpersonationPlan {
  const constraint = `impersonate:${mode}`;
  return {
    steps: [onRequest(mode, request), { each: [questionOf(request, { verb: constraint, ...about })] }],
    user,
    constraint,
  };
}

function userOf({ user: name, uid, extra }: ImpersonationRequest, groups: readonly string[]): UserInfo {
  return {
    name,
    groups: withSystemGroup(name, groups),
    ...(uid === "" ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function withSystemGroup(user: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(GROUP_UNAUTHENTICATED)) return groups;
  if (user === ANONYMOUS_USER) return [...groups, GROUP_UNAUTHENTICATED];
  return groups.includes(GROUP_AUTHENTICATED) ? groups : [...groups, GROUP_AUTHENTICATED];
}

/** The node on which the caller runs. All nodes have one answer, so that a role names none of them. */
const associatedNode: ImpersonationMode = (asked, request) => {
  const { user } = request;
  const node = nodeOf(asked.user);
  const own = user.extra?.[NODE_NAME_EXTRA] ?? [];
  if (node === undefined || !hasNameOnly(asked) || parseServiceAccountUsername(user.name) === undefined)
    return undefined;
  if (own.length !== 1 || own[0] !== node) return undefined;
  const caller = { ...request, user: { ...user, extra: { [NODE_KEYS_EXTRA]: Object.keys(user.extra ?? {}).sort() } } };
  return namedPlan("associated-node", caller, { resource: "nodes", name: "*" }, userOf(asked, [NODES_GROUP]));
};

const arbitraryNode: ImpersonationMode = (asked, request) => {
  const name = nodeOf(asked.user);
  if (name === undefined || !hasNameOnly(asked)) return undefined;
  return namedPlan("arbitrary-node", request, { resource: "nodes", name }, userOf(asked, [NODES_GROUP]));
};

const serviceAccount: ImpersonationMode = (asked, request) => {
  const account = parseServiceAccountUsername(asked.user);
  if (account === undefined || !hasNameOnly(asked)) return undefined;
  const user = userOf(asked, serviceAccountGroups(account.namespace));
  return namedPlan("serviceaccount", request, { resource: "serviceaccounts", ...account }, user);
};

/** Users that are neither nodes nor ServiceAccounts. */
const userInfo: ImpersonationMode = (asked, request) => {
  if (nodeOf(asked.user) !== undefined || parseServiceAccountUsername(asked.user) !== undefined) return undefined;
  const constraint = "impersonate:user-info";
  return {
    steps: [
      onRequest("user-info", request),
      { each: [questionOf(request, { verb: constraint, resource: "users", name: asked.user })] },
      ...uidSteps(asked, request, constraint),
      ...constrainedGroups(asked, request, constraint),
      ...constrainedExtra(asked, request, constraint),
    ],
    user: userOf(asked, asked.groups),
    constraint,
  };
};

function uidSteps(
  { uid }: ImpersonationRequest,
  request: AuthorizationAttributes,
  verb: string,
): readonly ImpersonationStep[] {
  return uid === "" ? [] : [{ each: [questionOf(request, { verb, resource: "uids", name: uid })] }];
}

function constrainedGroups(
  { groups }: ImpersonationRequest,
  request: AuthorizationAttributes,
  verb: string,
): readonly ImpersonationStep[] {
  if (groups.length === 0) return [];
  const about = (name: string) => questionOf(request, { verb, resource: "groups", name });
  if (groups.includes(""))
    return [{ each: [about("")], refusal: "impersonating the empty string group is not allowed" }];
  if (groups.includes(GROUP_MASTERS))
    return [{ each: [about(GROUP_MASTERS)], refusal: "impersonating the system:masters group is not allowed" }];
  return [{ each: groups.map(about), ...(groups.length < MANY ? {} : { all: about("*") }) }];
}

function constrainedExtra(
  { extra }: ImpersonationRequest,
  request: AuthorizationAttributes,
  verb: string,
): readonly ImpersonationStep[] {
  const entries = Object.entries(extra);
  if (entries.length === 0) return [];
  const about = (subresource: string, name: string) =>
    questionOf(request, { verb, resource: "userextras", subresource, name });
  const refusal = faultOfExtra(entries);
  if (refusal !== undefined) return [{ each: [about("", "")], refusal }];
  const each = entries.flatMap(([key, values]) => values.map((value) => about(key, value)));
  return [{ each, ...(each.length < MANY ? {} : { all: about("*", "*") }) }];
}

const HTTP_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

function faultOfExtra(entries: readonly (readonly [string, readonly string[]])[]): string | undefined {
  for (const [key, values] of entries) {
    if (key === "") return "impersonating the empty string key in extra is not allowed";
    const faults = faultsOfPath(key);
    if (faults.length > 0) {
      const text = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
      return `impersonating an invalid key in extra is not allowed: ${text}`;
    }
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${quoteGo(key)}`;
    if (values.includes("")) return "impersonating the empty string value in extra is not allowed";
  }
  return undefined;
}

/** Source: k8s.io/apimachinery/pkg/util/validation/validation.go (IsDomainPrefixedPath) */
function faultsOfPath(key: string): readonly string[] {
  const invalid = (value: string, why: string) => `extra.key: Invalid value: ${quoteGo(value)}: ${why}`;
  const slash = key.indexOf("/");
  if (slash <= 0 || slash === key.length - 1)
    return [invalid(key, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const path = key.slice(slash + 1);
  const ofHost = isDNS1123Subdomain(key.slice(0, slash)).map((why) => invalid(key.slice(0, slash), why));
  if (HTTP_PATH.test(path)) return ofHost;
  const why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
  return [...ofHost, invalid(path, why)];
}

/** Without constraints: everything that the user may do. */
const unconstrained: ImpersonationMode = (asked, request) => {
  const verb = "impersonate";
  const account = parseServiceAccountUsername(asked.user);
  const ofUser =
    account === undefined
      ? questionOf(request, { verb, apiGroup: "", resource: "users", name: asked.user })
      : questionOf(request, { verb, apiGroup: "", resource: "serviceaccounts", ...account });
  const groups = asked.groups.map((name) => questionOf(request, { verb, apiGroup: "", resource: "groups", name }));
  const masters = groups.filter(({ name }) => name === GROUP_MASTERS);
  const extra = Object.entries(asked.extra).flatMap(([subresource, values]) =>
    values.map((name) => questionOf(request, { verb, resource: "userextras", subresource, name })),
  );
  return {
    steps: [
      { each: [ofUser] },
      ...uidSteps(asked, request, verb),
      // Members of this group bypass authorization, so no rule may grant it: only members can impersonate it.
      ...(masters.length === 0 || isMaster(request.user) ? [] : [{ each: masters, refusal: "" }]),
      { each: groups },
      { each: extra },
    ],
    user: userOf(
      asked,
      asked.groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : asked.groups,
    ),
    constraint: undefined,
  };
};

/** In the order in which they are tried. */
export const IMPERSONATION_MODES: readonly ImpersonationMode[] = [
  associatedNode,
  arbitraryNode,
  serviceAccount,
  userInfo,
  unconstrained,
];
