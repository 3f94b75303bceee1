// The console: a page for browsers at `/` and at the addresses of its views, and the files that it loads.
// Source: CSP level 3, Trusted Types, Fetch Metadata, RFC 9111 (immutable: RFC 8246)

import { createHash } from "node:crypto";
import { brotliDecompressSync } from "node:zlib";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { resourceNotFoundError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import type { ApiResponse, ResponseHeaders } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import { allowExchange, anonymousCallers } from "../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../foundation/http/feature-route.ts";
import { loadOnce } from "../../foundation/http/load-once.ts";
import type { ConsoleBuild, ConsoleFile, ConsoleSettings } from "./console-build.ts";
import { codingOf, isKnown, PER_SOURCE, PUBLIC_HEADERS } from "./public-files.ts";

const FILES = "/console/";
/** The CA of the serving certificate, for clients that do not know it. */
const AUTHORITY = `${FILES}ca.crt`;

/** The first steps of the addresses of its views. None of them is a path of an API. */
export const CONSOLE_VIEWS: readonly string[] = [
  "keys",
  "clusters",
  "kubeconfig-generators",
  "host-clusters",
  "projects",
  "users",
  "teams",
  "roles",
  "access",
  "access-requests",
  "trust",
  "identity-providers",
  "leak-reports",
  "audit",
  "recordings",
  "profile",
  "new",
  "about",
];

/** Programs that ask for `/` want the API: only what names HTML among what it takes is a browser. */
export function isConsoleRequest(path: string, { method, headers }: Pick<ApiRequest, "method" | "headers">): boolean {
  if (path.startsWith(FILES)) return true;
  if (method !== "GET" && method !== "HEAD") return false;
  const [, view = ""] = path.split("/", 2);
  return (path === "/" || CONSOLE_VIEWS.includes(view)) && headerOf({ headers }, "accept").includes("text/html");
}

/** The first steps of paths that programs use: a browser gets there what they get. */
const API_ROOTS: ReadonlySet<string> = new Set([
  ...["api", "apis", "kubernetes", "openapi", "version", "healthz", "livez", "readyz", "metrics", "logs", "debug"],
  ...["activity", "backup", "doctor", "keyring", ".well-known", "login", "oauth", "device", "leaks", "scim", "unwrap"],
  ...["certificateauthority", "sessionrecordings"],
]);

/** Whether a person opened an address that may be mistyped: the console then says that there is no such page. */
export function isMistyped(path: string, request: Pick<ApiRequest, "method" | "headers">): boolean {
  const [, root = ""] = path.split("/", 2);
  return (
    request.method === "GET" &&
    headerOf(request, "sec-fetch-dest") === "document" &&
    headerOf(request, "accept").includes("text/html") &&
    !API_ROOTS.has(root)
  );
}

/** As it is now: it changes with the files of the certificate. */
type Endpoint = { readonly certificateAuthorityPem: string | undefined };

export type ConsoleRouteDeps = {
  /** Called with the first request of a browser. */
  readonly load: () => Promise<ConsoleBuild>;
  readonly settings: ConsoleSettings;
  readonly endpoint: Endpoint;
};

type Page = { readonly bytes: Buffer; readonly etag: string; readonly headers: ResponseHeaders };
type Loaded = { readonly page: Page; readonly files: ReadonlyMap<string, ConsoleFile> };

export const consoleRoute = (base: Foundation, load: ConsoleRouteDeps["load"], endpoint: Endpoint): FeatureRoute => ({
  takes: isConsoleRequest,
  isPublic: true,
  handle: createConsoleRoute({ load, settings: base.names, endpoint }),
  authenticator: anonymousCallers,
  authorizer: allowExchange,
  rateLimits: { perSource: base.rateLimiter(PER_SOURCE) },
});

export function createConsoleRoute({ load, settings, endpoint }: ConsoleRouteDeps): Handler {
  const loadedOnce = loadOnce(async (): Promise<Loaded> => {
    const build = await load();
    return { page: pageOf(build, settings), files: new Map(build.files.map((file) => [file.path, file])) };
  });
  return async ({ request, info: { path } }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw resourceNotFoundError();
    if (path === AUTHORITY) return authorityResponse(endpoint);
    const { page, files } = await loadedOnce();
    if (!path.startsWith(FILES)) return pageResponse(page, request);
    const file = files.get(path);
    if (file === undefined) throw resourceNotFoundError();
    return fileResponse(file, request);
  };
}

function pageOf({ page, inlineScripts, inlineStyles }: ConsoleBuild, settings: ConsoleSettings): Page {
  const { name, domain, managementGroup, storageGroup, projectNamespacePrefix } = settings;
  const { version } = BUILD_INFO;
  const told = JSON.stringify({ name, domain, managementGroup, storageGroup, projectNamespacePrefix, version });
  const text = page.replace('content="{}"', () => `content="${told.replaceAll('"', "&quot;")}"`);
  const bytes = Buffer.from(text);
  const hashed = (hashes: readonly string[]): string => hashes.map((hash) => ` 'sha256-${hash}'`).join("");
  return {
    bytes,
    etag: `"${createHash("sha256").update(bytes).digest("base64url")}"`,
    headers: {
      ...PUBLIC_HEADERS,
      "content-type": "text/html; charset=utf-8",
      // Asked for each time: it names the files of the build.
      "cache-control": "no-cache",
      vary: "Accept",
      "content-security-policy": [
        "default-src 'none'",
        `script-src 'self'${hashed(inlineScripts)}`,
        `style-src 'self'${hashed(inlineStyles)}`,
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join("; "),
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
      "x-frame-options": "DENY",
    },
  };
}

/** 204 where clients are expected to trust the certificate. */
const authorityResponse = ({ certificateAuthorityPem }: Endpoint): ApiResponse => ({
  status: certificateAuthorityPem === undefined ? 204 : 200,
  headers: { ...PUBLIC_HEADERS, "content-type": "application/x-pem-file", "cache-control": "no-cache" },
  body: { type: "bytes", bytes: certificateAuthorityPem ?? "" },
});

function pageResponse({ bytes, etag, headers }: Page, request: ApiRequest): ApiResponse {
  const isCached = isKnown(etag, request);
  return {
    status: isCached ? 304 : 200,
    headers: { ...headers, etag },
    body: { type: "bytes", bytes: isCached || request.method === "HEAD" ? "" : bytes },
  };
}

function fileResponse(file: ConsoleFile, request: ApiRequest): ApiResponse {
  const coding = codingOf(request);
  const bytes = request.method === "HEAD" ? "" : contentOf(file, coding);
  return {
    status: 200,
    headers: {
      ...PUBLIC_HEADERS,
      "content-type": file.contentType,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
      ...(coding === undefined ? {} : { "content-encoding": coding }),
    },
    body: { type: "bytes", bytes },
  };
}

/** Contents of files by their coding, as they are sent: anybody may ask for them very often. */
const contents = new WeakMap<ConsoleFile, Map<string, Uint8Array>>();

function contentOf(file: ConsoleFile, coding = "identity"): Uint8Array {
  const known = contents.get(file) ?? new Map<string, Uint8Array>();
  contents.set(file, known);
  const content = known.get(coding) ?? decode(file, coding);
  known.set(coding, content);
  return content;
}

function decode({ brotli, gzip }: ConsoleFile, coding: string): Uint8Array {
  if (coding === "gzip") return Buffer.from(gzip, "base64");
  const compressed = Buffer.from(brotli, "base64");
  // No browser asks for it.
  return coding === "br" ? compressed : brotliDecompressSync(compressed);
}
