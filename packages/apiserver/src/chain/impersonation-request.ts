// The user that a request asks to act as, in its headers.
// Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation/constrained_impersonation.go (processImpersonationHeaders)

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { ApiRequest, RequestHeaders } from "../transport/api-request.ts";

export type ImpersonationRequest = {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: { readonly [key: string]: readonly string[] };
};

const PREFIX = "impersonate";
const USER = "impersonate-user";
const GROUP = "impersonate-group";
const UID = "impersonate-uid";
const EXTRA = "impersonate-extra-";

const isImpersonationHeader = (name: string): boolean => name.startsWith(PREFIX);

export function hasImpersonationHeader(headers: RequestHeaders): boolean {
  for (const name in headers) if (isImpersonationHeader(name)) return true;
  return false;
}

/** Removed, so that later handlers and proxied servers do not see them. */
export const withoutImpersonationHeaders = (request: ApiRequest): ApiRequest =>
  request.with({
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !isImpersonationHeader(name))),
  });

/**
 * Undefined when nothing is asked for. Throws ApiError 400 without a user, and for headers that only look like those of impersonation, so that a request
 * never runs with its sender's full rights because a header was misspelt or smuggled.
 */
export function impersonationRequestOf(headers: RequestHeaders): ImpersonationRequest | undefined {
  const groups: string[] = [];
  const extra: { [key: string]: readonly string[] } = Object.create(null);
  let seen = false;
  for (const name in headers) {
    if (!isImpersonationHeader(name)) continue;
    seen = true;
    const values = valuesOf(headers, name);
    if (name === GROUP) groups.push(...values);
    else if (name.startsWith(EXTRA)) {
      const key = decodeExtraKey(name.slice(EXTRA.length));
      extra[key] = [...(extra[key] ?? []), ...values];
    } else if (name !== USER && name !== UID) throw badRequestError("unknown impersonation header");
  }
  if (!seen) return undefined;
  const request = { user: singleValue(headers, USER), uid: singleValue(headers, UID), groups, extra };
  if (request.user !== "") return request;
  if (request.uid === "" && groups.length === 0 && Object.keys(extra).length === 0) return undefined;
  throw badRequestError(`requested ${goTextOf(request)} without impersonating a user name`);
}

/** A user.DefaultInfo as upstream prints it. */
function goTextOf({ user, uid, groups, extra }: ImpersonationRequest): string {
  const list = (values: readonly string[]): string =>
    values.length === 0 ? "[]string(nil)" : `[]string{${values.map(quoteGo).join(", ")}}`;
  const entries = Object.keys(extra)
    .sort()
    .map((key) => `${quoteGo(key)}:${list(extra[key] ?? [])}`);
  const map = entries.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${entries.join(", ")}}`;
  return `&user.DefaultInfo{Name:${quoteGo(user)}, UID:${quoteGo(uid)}, Groups:${list(groups)}, Extra:${map}}`;
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
