// The query parameter `wrap` of requests that issue a credential: the response has a value that reads the credential once.

import type { PlatformNames } from "@postern/api/platform-names";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestInfo } from "@postern/apiserver/request/request-info";

const WRAP = "wrap";
const UNIT_MS: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000 };
const MIN_MS = 10_000;
/** A value is for passing on, not for keeping. */
export const MAX_WRAP_MS = 24 * 3_600_000;

/** Time for which the value is valid, in milliseconds; undefined where none is asked for. Throws ApiError 400. */
export function wrapMsOf(query: URLSearchParams): number | undefined {
  const [first, ...others] = query.getAll(WRAP);
  if (first === undefined) return undefined;
  const [, count = "", unit = ""] = /^([0-9]{1,5})([smh])$/.exec(first) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  if (others.length > 0 || ms < MIN_MS || ms > MAX_WRAP_MS)
    throw badRequestError("wrap: must be one duration between 10s and 24h, such as 5m");
  return ms;
}

/** Throws ApiError 400 for a request whose response would show its credential, or has none, although it is to be wrapped. */
export function checkWrap(
  info: RequestInfo,
  query: URLSearchParams,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): void {
  if (wrapMsOf(query) === undefined || (info.apiGroup === managementGroup && isWrapped(info))) return;
  throw badRequestError(
    "wrap: only creating and rotating an access key in ownedaccesskeys, and a kubeconfig of a virtual cluster, can be wrapped",
  );
}

function isWrapped({ verb, resource, subresource }: RequestInfo): boolean {
  if (verb !== "create") return false;
  if (resource === "ownedaccesskeys") return subresource === "" || subresource === "rotate";
  return resource === "virtualclusterinstances" && subresource === "kubeconfig";
}
