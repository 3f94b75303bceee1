// GET /docs…: pages that are compressed at their first request, and their style in the theme that the user chose in the console.

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, gzip, constants as zlib } from "node:zlib";
import { resourceNotFoundError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../foundation/http/anonymous-callers.ts";
import { type FeatureRoute, isBelow } from "../../foundation/http/feature-route.ts";
import { loadOnce } from "../../foundation/http/load-once.ts";
import { codingOf, isKnown, PER_SOURCE, PUBLIC_HEADERS } from "../console/public-files.ts";
import { cookieOf } from "../sign-in/sessions/cookies-and-origins.ts";
import { THEME_COOKIE } from "../sign-in/sign-in-paths.ts";
import type { DocumentationBuild, DocumentsHead } from "./documentation-build.ts";
import { documentOf, INDEX_PATH, MISSING, ROOT, STYLE_PATH } from "./documentation-page.ts";

export type LoadDocumentation = () => Promise<DocumentationBuild>;

export const documentationRoute = (base: Foundation, load: LoadDocumentation): FeatureRoute => ({
  takes: (path) => isBelow(path, ROOT),
  isPublic: true,
  handle: createDocumentationRoute(load),
  authenticator: anonymousCallers,
  authorizer: allowAnybody("the documentation is public"),
  rateLimits: { perSource: base.rateLimiter(PER_SOURCE) },
});

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  ...PUBLIC_HEADERS,
  // Asked for each time: another build has other pages.
  "cache-control": "no-cache",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** Encodings of one text, made once each: anybody may ask for it very often. */
type Content = { readonly etag: string; inCoding(coding: string | undefined): Promise<Uint8Array> };

type Styles = ReadonlyMap<string, Content>;
type Loaded = {
  readonly head: DocumentsHead;
  /** HTML of all pages. */
  readonly pages: Buffer;
  readonly contents: Map<string, Content>;
  readonly styles: Styles;
  /** JSON: the address and title of each page, for searches. */
  readonly index: Content;
};

async function openBuild({ documents, styles }: DocumentationBuild): Promise<Loaded> {
  const all = await promisify(brotliDecompress)(Buffer.from(documents, "base64"));
  const line = all.indexOf("\n");
  const head: DocumentsHead = JSON.parse(all.toString("utf8", 0, line));
  const pages = Object.entries(head.places).map(([path, { title }]) => ({ path, title }));
  return {
    head,
    pages: all.subarray(line + 1),
    contents: new Map(),
    styles: new Map(Object.entries(styles).map(([theme, text]) => [theme, contentOf(text)])),
    index: contentOf(JSON.stringify({ pages })),
  };
}

export function createDocumentationRoute(load: LoadDocumentation): Handler {
  const loadedOnce = loadOnce(() => load().then(openBuild));
  return async ({ request, info: { path } }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw resourceNotFoundError();
    const loaded = await loadedOnce();
    if (path === STYLE_PATH) return await styleResponse(loaded.styles, request);
    if (path === INDEX_PATH) return await responseOf(loaded.index, 200, request, "application/json", "Accept-Encoding");
    const address = path.replace(/\/$/, "");
    const isThere = Object.hasOwn(loaded.head.places, address);
    return await pageResponse(pageOf(isThere ? address : "", loaded), isThere ? 200 : 404, request);
  };
}

/** One for all addresses that have no page. */
function pageOf(address: string, { head, pages, contents }: Loaded): Content {
  const known = contents.get(address);
  if (known !== undefined) return known;
  const place = head.places[address];
  const page =
    place === undefined ? MISSING : { title: place.title, html: pages.toString("utf8", place.from, place.to) };
  const content = contentOf(documentOf(page, address, head.navigation));
  contents.set(address, content);
  return content;
}

const pageResponse = (page: Content, status: 200 | 404, request: ApiRequest): Promise<ApiResponse> =>
  responseOf(page, status, request, "text/html; charset=utf-8", "Accept-Encoding");

const styleResponse = (styles: Styles, request: ApiRequest): Promise<ApiResponse> => {
  const style = styles.get(cookieOf(request, THEME_COOKIE) ?? "") ?? styles.get("system");
  if (style === undefined) throw resourceNotFoundError();
  return responseOf(style, 200, request, "text/css; charset=utf-8", "Accept-Encoding, Cookie");
};

async function responseOf(
  content: Content,
  status: 200 | 404,
  request: ApiRequest,
  contentType: string,
  vary: string,
): Promise<ApiResponse> {
  const headers = { ...HEADERS, "content-type": contentType, vary, etag: content.etag };
  if (status === 200 && isKnown(content.etag, request))
    return { status: 304, headers, body: { type: "bytes", bytes: "" } };
  const coding = codingOf(request);
  return {
    status,
    headers: coding === undefined ? headers : { ...headers, "content-encoding": coding },
    body: { type: "bytes", bytes: request.method === "HEAD" ? "" : await content.inCoding(coding) },
  };
}

function contentOf(text: string): Content {
  const made = new Map<string | undefined, Promise<Uint8Array>>();
  const plain = Buffer.from(text);
  return {
    etag: `"${createHash("sha256").update(plain).digest("base64url")}"`,
    inCoding(coding) {
      const known = made.get(coding) ?? encode(plain, coding);
      made.set(coding, known);
      return known;
    },
  };
}

async function encode(plain: Buffer, coding: string | undefined): Promise<Uint8Array> {
  if (coding === "gzip") return await promisify(gzip)(plain, { level: 9 });
  // A higher quality takes ten times as long for a twentieth less.
  const params = { [zlib.BROTLI_PARAM_QUALITY]: 9 };
  return coding === "br" ? await promisify(brotliCompress)(plain, { params }) : plain;
}
