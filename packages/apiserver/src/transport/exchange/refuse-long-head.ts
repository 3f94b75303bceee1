// Refuses a request whose target or one of whose headers is too long.

import { type ApiResponse, textResponse } from "../api-response.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Parts of a head, which as a whole may have a mebibyte as Go's (see TransportLimits). Each segment, parameter and item costs something before it
 * is known who asks; one long parameter does not, and selectors are long. Each argument of exec is a parameter.
 */
const MAX_PATH_LENGTH = 16 * 1024;
const MAX_PARAMETERS = 5_000;
const MAX_HEADER_LENGTH = 64 * 1024;

export function refusalOfLength({ target, headers }: Exchange): ApiResponse | undefined {
  if (target.length > MAX_PATH_LENGTH && isTooLong(target)) return textResponse(414, "414 URI Too Long");
  for (const name in headers) {
    const value = headers[name];
    // A credential is compared as a whole.
    if (name === "authorization") continue;
    const length =
      typeof value === "string" ? value.length : (value?.reduce((sum, { length }) => sum + length, 0) ?? 0);
    if (length > MAX_HEADER_LENGTH) return textResponse(431, "431 Request Header Fields Too Large");
  }
  return undefined;
}

function isTooLong(target: string): boolean {
  const at = target.indexOf("?");
  if (at < 0 || at > MAX_PATH_LENGTH) return true;
  let parameters = 1;
  for (let next = target.indexOf("&", at); next >= 0; next = target.indexOf("&", next + 1)) parameters++;
  return parameters > MAX_PARAMETERS;
}
