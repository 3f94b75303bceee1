// The path and query that a target gets: written anew from what was decided about, never copied from the request line.

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { canonicalPath, isDotSegment } from "@postern/apiserver/request/canonical-path";

/** Read as separators by some servers and as plain text by others. */
const ENCODED_SEPARATOR = /%2f|%5c/i;

/** `path` is percent-encoded. Throws ApiError 400 for one that two programs could read in two ways. */
export function forwardedPath(path: string, query: URLSearchParams): string {
  if (ENCODED_SEPARATOR.test(path)) throw badRequestError("the request path contains an encoded separator");
  const segments = canonicalPath(path).split("/");
  if (segments.some(isDotSegment)) throw badRequestError("the request path contains a dot segment");
  if (segments.slice(1, -1).includes("")) throw badRequestError("the request path contains an empty segment");
  const encoded = segments.map(encodeURIComponent).join("/");
  const parameters = query.toString();
  return parameters === "" ? encoded : `${encoded}?${parameters}`;
}
