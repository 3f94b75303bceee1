// Impersonates a user, if the caller is allowed to.
// Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.go

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { parseServiceAccountUsername, serviceAccountGroups } from "../authentication/service-account.ts";
import {
  ANONYMOUS_USER,
  GROUP_AUTHENTICATED,
  GROUP_MASTERS,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "../authentication/user-info.ts";
import type { AuthorizationAttributes, Authorizer } from "../authorization/authorizer.ts";
import { authorizeWhileOpen, type LongRunningRequest } from "../authorization/long-running-requests.ts";
import { isMaster } from "../authorization/masters-authorizer.ts";
import { forbiddenErrorFor } from "../context/authorization-attributes.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { ApiRequest, RequestHeaders } from "../transport/api-request.ts";
import { type ApiResponse, textResponse } from "../transport/api-response.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export type ImpersonationOptions = {
  readonly authorizer: Authorizer;
  /** Requests whose impersonation a later handler decides; they are passed on unchanged. Absent: none. */
  readonly skipImpersonation?: ((call: RequestState) => boolean) | undefined;
};

export const withImpersonation = ({ authorizer, skipImpersonation = () => false }: ImpersonationOptions): Filter => ({
  enter(call) {
    const found = skipImpersonation(call) ? undefined : impersonation(call, authorizer);
    return found?.then((acting) => {
      if ("status" in acting) return acting;
      Object.assign(call, acting);
      return undefined;
    });
  },
});

/** The request without impersonation headers, and the impersonated user. */
export type Impersonation = { readonly request: ApiRequest; readonly user: UserInfo };

/** Undefined without impersonation; a response if the headers are invalid. Throws ApiError 403. */
export const impersonation = (
  context: RequestContext,
  authorizer: Authorizer,
): Promise<Impersonation | ApiResponse> | undefined =>
  hasImpersonationHeader(context.request.headers) ? impersonate(context, authorizer) : undefined;

async function impersonate(context: RequestContext, authorizer: Authorizer): Promise<Impersonation | ApiResponse> {
  const asked = impersonationRequestOf(context.request.headers);
  const request = withoutImpersonationHeaders(context.request);
  if (asked === undefined) return { request, user: context.user };
  if (asked.user === "") return refuseWithoutUser(context.info.path, asked);
  for (const attributes of attributesOf(context, asked)) await mustBeAllowed(attributes, authorizer, context.open);
  const user = impersonatedUser(asked);
  context.audit.setImpersonatedUser(user);
  return { request, user };
}

function hasImpersonationHeader(headers: RequestHeaders): boolean {
  for (const name in headers) if (isImpersonationHeader(name)) return true;
  return false;
}

/** Removed, so that later handlers and proxied servers do not see them. */
const withoutImpersonationHeaders = (request: ApiRequest): ApiRequest =>
  request.with({
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !isImpersonationHeader(name))),
  });

/** 500 as in kube-apiserver 1.32, which `/version` names. Later releases answer 400. */
const refuseWithoutUser = (path: string, asked: ImpersonationRequest) =>
  textResponse(
    500,
    `Internal Server Error: ${quoteGo(path)}: requested ${formatImpersonationRequest(asked)} without impersonating a user\n`,
  );

/** One question per impersonated user, group and extra value. */
function attributesOf(context: RequestContext, asked: ImpersonationRequest): readonly AuthorizationAttributes[] {
  const question = (apiGroup: string, resource: string, name: string, subresource = "", namespace = "") => ({
    user: context.user,
    credential: context.credential,
    verb: "impersonate",
    isResourceRequest: true,
    apiGroup,
    apiVersion: "v1",
    resource,
    subresource,
    namespace,
    name,
    path: "",
  });
  const account = parseServiceAccountUsername(asked.user);
  const group = "authentication.k8s.io";
  return [
    account === undefined
      ? question("", "users", asked.user)
      : question("", "serviceaccounts", account.name, "", account.namespace),
    ...asked.groups.map((name) => question("", "groups", name)),
    ...asked.extra.map(({ key, value }) => question(group, "userextras", value, key)),
    ...(asked.uid === "" ? [] : [question(group, "uids", asked.uid)]),
  ];
}

async function mustBeAllowed(
  attributes: AuthorizationAttributes,
  authorizer: Authorizer,
  open: LongRunningRequest | undefined,
): Promise<void> {
  // Members of this group bypass authorization, so no rule may grant it: only members can impersonate it.
  const namesMasters = attributes.resource === "groups" && attributes.name === GROUP_MASTERS;
  if (namesMasters && !isMaster(attributes.user)) throw forbiddenErrorFor(attributes, "");
  const { verdict, reason } = await authorizeWhileOpen(authorizer, attributes, open);
  if (verdict !== "allow") throw forbiddenErrorFor(attributes, reason);
}

function impersonatedUser({ user, uid, groups, extra }: ImpersonationRequest): UserInfo {
  const account = parseServiceAccountUsername(user);
  const given = groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : groups;
  const extras: { [key: string]: readonly string[] } = Object.create(null);
  for (const { key, value } of extra) extras[key] = [...(extras[key] ?? []), value];
  return {
    name: user,
    groups: withSystemGroup(user, given),
    ...(uid === "" ? {} : { uid }),
    ...(extra.length === 0 ? {} : { extra: extras }),
  };
}

function withSystemGroup(user: string, groups: readonly string[]): readonly string[] {
  if (groups.includes(GROUP_UNAUTHENTICATED)) return groups;
  if (user === ANONYMOUS_USER) return [...groups, GROUP_UNAUTHENTICATED];
  return groups.includes(GROUP_AUTHENTICATED) ? groups : [...groups, GROUP_AUTHENTICATED];
}

export type ImpersonationRequest = {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: readonly { readonly key: string; readonly value: string }[];
};

const PREFIX = "impersonate";
const USER = "impersonate-user";
const GROUP = "impersonate-group";
const UID = "impersonate-uid";
const EXTRA = "impersonate-extra-";

export const isImpersonationHeader = (name: string): boolean => name.startsWith(PREFIX);

/**
 * Undefined when nothing is asked for. Throws ApiError 400 for headers that only look like those of impersonation, so that a request
 * never runs with its sender's full rights because a header was misspelt or smuggled.
 */
export function impersonationRequestOf(headers: RequestHeaders): ImpersonationRequest | undefined {
  const groups: string[] = [];
  const extra: { key: string; value: string }[] = [];
  let seen = false;
  for (const name in headers) {
    if (!isImpersonationHeader(name)) continue;
    seen = true;
    const values = valuesOf(headers, name);
    if (name === GROUP) groups.push(...values);
    else if (name.startsWith(EXTRA)) {
      const key = decodeExtraKey(name.slice(EXTRA.length));
      extra.push(...values.map((value) => ({ key, value })));
    } else if (name !== USER && name !== UID) throw badRequestError("unknown impersonation header");
  }
  if (!seen) return undefined;
  const request = { user: singleValue(headers, USER), uid: singleValue(headers, UID), groups, extra };
  return request.user === "" && request.uid === "" && groups.length === 0 && extra.length === 0 ? undefined : request;
}

/** How upstream prints what was asked for, in Go's notation of a list of ObjectReferences. */
export function formatImpersonationRequest({ groups, extra, uid }: ImpersonationRequest): string {
  const version = "authentication.k8s.io/v1";
  const references = [
    ...groups.map((group) => `{Group  ${group}    }`),
    ...extra.map(({ key, value }) => `{UserExtra  ${value}  ${version}  ${key}}`),
    ...(uid === "" ? [] : [`{UID  ${uid}  ${version}  }`]),
  ];
  return `[${references.join(" ")}]`;
}

function singleValue(headers: RequestHeaders, name: string): string {
  const [value = "", second] = valuesOf(headers, name);
  if (second !== undefined) throw badRequestError("impersonation header given more than once");
  return value;
}

function valuesOf(headers: RequestHeaders, name: string): readonly string[] {
  const value = headers[name];
  if (value === undefined) return [];
  return (typeof value === "string" ? [value] : value).map(decodeHeader);
}

/** Node reads header bytes as Latin-1; names are UTF-8. */
const decodeHeader = (value: string): string => Buffer.from(value, "latin1").toString();

function decodeExtraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
