// Compresses large responses for clients that accept gzip.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go

import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";

const gzipAsync = promisify(gzip);

/** Fast rather than small: the level upstream uses. */
const LEVEL = 1;

/** Answers up to this many bytes are not worth the time. */
export const GZIP_THRESHOLD_BYTES = 128 * 1024;

export const GZIP_HEADERS = { "content-encoding": "gzip", vary: "Accept-Encoding" } as const;

/** Only reads are compressed, and only when gzip is named, not when everything (`*`) is taken. */
export function acceptsGzip(request: Pick<ApiRequest, "method" | "headers">): boolean {
  const encodings = headerOf(request, "accept-encoding");
  return request.method === "GET" && encodings.split(",").some((encoding) => encoding.trim() === "gzip");
}

/** Compresses on a thread of the pool, not on the event loop. */
export const gzipBytes = (bytes: Uint8Array | string): Promise<Uint8Array> => gzipAsync(bytes, { level: LEVEL });

/** Compresses parts as they are produced; each is produced when the previous ones have been consumed. */
export function gzipParts(parts: Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  // Failures of the source end the iteration with the same error, so nothing is left to do in the callback.
  return pipeline(Readable.from(parts), createGzip({ level: LEVEL }), () => {});
}
