// Reads the path of a proxied request, once: which cluster, space or virtual cluster it goes to, and what it asks for there.

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { canonicalPath, isDotSegment } from "@postern/apiserver/request/canonical-path";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import type { ProxyRequest } from "./platform-request.ts";

type Destination =
  | { readonly target: "ProjectVirtualCluster"; readonly project: string; readonly virtualCluster: string }
  | { readonly target: "ProjectSpace"; readonly project: string; readonly space: string }
  | { readonly target: "Cluster"; readonly cluster: string };

export type ProxyPath = {
  readonly destination: Destination;
  /** The part before the path of the API behind the proxy, without a trailing slash. */
  readonly base: string;
  /** The path at the API behind the proxy, decoded: `/` at least. */
  readonly path: string;
  /** The path, encoded again from the decoded one, so that the forwarded path is the authorized one. */
  readonly encodedPath: string;
};

const PROXIES = /^\/+kubernetes\/+(?:project|cluster)(?:\/|$)/;
/** Read as separators or parameters by some servers and as plain text by others. */
const ENCODED_SEPARATOR = /%2f|%5c/i;
/** Encoded, it is the same: most paths. */
const UNRESERVED = /^[\w/.~!*'()-]*$/;

/**
 * Undefined for a path that is no proxy's. `path` is percent-encoded, without its query; `canonical` is its canonical form.
 * Throws ApiError 400 for a path that two programs could read in two ways, or that names what cannot exist.
 */
export function parseProxyPath(path: string, canonical = canonicalPath(path)): ProxyPath | undefined {
  if (!PROXIES.test(canonical)) return undefined;
  if (ENCODED_SEPARATOR.test(path)) throw badRequestError("the request path contains an encoded separator");
  const segments = canonical.slice(1).split("/");
  refuseAmbiguousSegments(segments);

  const destination = readDestination(segments);
  if (destination === undefined) return undefined;
  const length = destination.target === "Cluster" ? 3 : 5;
  const base = `/${segments.slice(0, length).join("/")}`;
  if (!path.startsWith(base)) throw badRequestError("the request path encodes the name of its target");
  const inside = canonical.slice(base.length) || "/";
  return { destination, base, path: inside, encodedPath: encoded(inside) };
}

const encoded = (path: string): string =>
  UNRESERVED.test(path) ? path : path.split("/").map(encodeURIComponent).join("/");

/** The request of a proxied path. Throws ApiError 400 as parsing of any API path does. */
export const proxyRequest = (
  { destination, encodedPath }: ProxyPath,
  method: string,
  query: URLSearchParams,
): ProxyRequest => ({ ...destination, inner: resolveRequestInfo(method, encodedPath, query) });

/** A slash at the end is harmless; an empty segment anywhere else is dropped by some programs and kept by others. */
function refuseAmbiguousSegments(segments: readonly string[]): void {
  const isEmptyInside = (segment: string, at: number): boolean => segment === "" && at < segments.length - 1;
  if (segments.some(isEmptyInside)) throw badRequestError("the request path contains an empty segment");
  if (segments.some(isDotSegment)) throw badRequestError("the request path contains a dot segment");
}

/** Undefined if the path ends before the target, or names an unknown kind of target. */
function readDestination([, root, first = "", kind, second = ""]: readonly string[]): Destination | undefined {
  if (first === "") return undefined;
  if (root === "cluster") {
    refuseBadName(first, isDNS1123Subdomain);
    return { target: "Cluster", cluster: first };
  }
  if (second === "" || (kind !== "virtualcluster" && kind !== "space")) return undefined;
  refuseBadName(first, isDNS1123Label);
  refuseBadName(second, isDNS1123Subdomain);
  return kind === "virtualcluster"
    ? { target: "ProjectVirtualCluster", project: first, virtualCluster: second }
    : { target: "ProjectSpace", project: first, space: second };
}

function refuseBadName(name: string, validate: (name: string) => readonly string[]): void {
  const [fault] = validate(name);
  if (fault !== undefined) throw badRequestError(`the request path names an invalid target: ${fault}`);
}
