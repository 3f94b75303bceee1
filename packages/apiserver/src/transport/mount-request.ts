// A request as seen by a server below a path prefix.

import type { ApiRequest } from "./api-request.ts";

/** Undefined when the path is not below `basePath`, which begins with a slash and does not end in one. */
export function mountRequest(request: ApiRequest, basePath: string): ApiRequest | undefined {
  const { path } = request;
  if (!path.startsWith(basePath)) return undefined;
  const rest = path.slice(basePath.length);
  if (rest !== "" && !rest.startsWith("/")) return undefined;
  return request.with({ path: rest === "" ? "/" : rest, basePath: request.basePath + basePath });
}
