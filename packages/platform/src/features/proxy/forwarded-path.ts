// The path and query that a target gets: written anew from what was decided about, never copied from the request line.

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { canonicalPath, isDotSegment } from "@postern/apiserver/request/canonical-path";

/** Read as separators by some servers and as plain text by others. */
const ENCODED_SEPARATOR = /%2f|%5c/i;

/** Nothing in it is encoded, and no program can read it in another way: most paths. */
const PLAIN_PATH = /^(?:\/[\w~-][\w.~-]*)+\/?$/;

/** `path` is percent-encoded. Throws ApiError 400 for one that two programs could read in two ways. */
export function forwardedPath(path: string, query: URLSearchParams): string {
  const parameters = query.size === 0 ? "" : `?${query.toString()}`;
  if (PLAIN_PATH.test(path)) return path + parameters;
  if (ENCODED_SEPARATOR.test(path)) throw badRequestError("the request path contains an encoded separator");
  const segments = canonicalPath(path).split("/");
  if (segments.some(isDotSegment)) throw badRequestError("the request path contains a dot segment");
  if (segments.slice(1, -1).includes("")) throw badRequestError("the request path contains an empty segment");
  return segments.map(encodeURIComponent).join("/") + parameters;
}
