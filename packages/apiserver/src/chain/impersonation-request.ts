// Reads who a request wants to act as.
// Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.go (buildImpersonationRequests)

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestHeaders } from "../transport/api-request.ts";

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
