// Decodes the path of a request once, so that nothing downstream reads it in another way.

import { badRequestError } from "@postern/apimachinery/meta/api-error";

/** Percent signs need decoding; control characters and backslashes are read differently by different programs. */
const SPECIAL = /[%\\\p{Cc}]/u;
const AMBIGUOUS = /[\\\p{Cc}]/u;

/**
 * The path with every percent-encoding decoded exactly once. An encoded slash separates segments like a plain one, as in upstream.
 * Throws ApiError 400 for a path that is not UTF-8, or holds a backslash, a NUL or another control character.
 */
export function canonicalPath(path: string): string {
  if (!SPECIAL.test(path)) return path;
  const decoded = decodePath(path);
  if (AMBIGUOUS.test(decoded)) throw badRequestError("the request path contains a backslash or a control character");
  return decoded;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw badRequestError("the request path is not valid percent-encoded UTF-8", error);
  }
}

/** True for `.` and `..`, which some programs resolve and others take as names. */
export const isDotSegment = (segment: string): boolean => segment === "." || segment === "..";
