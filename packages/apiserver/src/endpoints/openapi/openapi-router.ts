// Serves OpenAPI v3 per group and version, and OpenAPI v2 of everything as JSON and protobuf.
// Source: k8s.io/kube-openapi/pkg/handler3, k8s.io/kube-openapi/pkg/handler

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { RequestContext } from "../../context/request-context.ts";
import { headerOf } from "../../transport/api-request.ts";
import { type ApiResponse, type ResponseHeaders, textResponse } from "../../transport/api-response.ts";
import type { ApiGroup } from "../discovery/api-groups.ts";
import { type PreparedBody, perRevision, prepareBody, preparedResponse } from "../discovery/prepared-document.ts";
import { negotiateMediaType } from "../negotiation/negotiate-output.ts";
import { type ApiInfo, type OpenApiDocuments, openApiDocuments } from "./openapi-documents.ts";

export type OpenApiRouterDeps = {
  readonly groups: () => readonly ApiGroup[];
  readonly revision: () => number;
  readonly info: ApiInfo;
};

export const OPENAPI_PATHS: readonly string[] = ["/openapi/v2", "/openapi/v3", "/openapi/v3/"];

const JSON_TYPE = "application/json";

/** What clients ask for, and under which name it is answered: `@` is no character of media types. */
const V2_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V2_MEDIA_TYPES: readonly string[] = [
  JSON_TYPE,
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  V2_PROTOBUF_TYPE,
];

const YEAR_MS = 365 * 24 * 3600 * 1000;

const V3_PREFIX = "/openapi/v3";

/** Undefined for paths that are not OpenAPI's. */
export function createOpenApiRouter({
  groups,
  revision,
  info,
}: OpenApiRouterDeps): (context: RequestContext) => Promise<ApiResponse> | undefined {
  const documents = perRevision(revision, () => openApiDocuments(groups(), info));
  const indexes = perRevision(revision, () => new Map<string, PreparedBody>());

  const index = (basePath: string): PreparedBody => {
    const known = indexes().get(basePath) ?? prepareBody(stringifyJson(v3Index(documents(), basePath)));
    indexes().set(basePath, known);
    return known;
  };

  return (context) => {
    const { path } = context.info;
    if (path === "/openapi/v2") return answerV2(context, documents());
    if (path === V3_PREFIX) return answer(context, index(context.request.basePath), JSON_TYPE);
    if (!path.startsWith(`${V3_PREFIX}/`)) return undefined;
    return answerV3(context, documents().v3.get(path.slice(V3_PREFIX.length + 1)));
  };
}

const documentUrl = (basePath: string, name: string, { hash }: PreparedBody): string =>
  `${basePath}${V3_PREFIX}/${name}?hash=${hash}`;

const v3Index = ({ v3 }: OpenApiDocuments, basePath: string) => ({
  paths: Object.fromEntries(
    [...v3].map(([name, document]) => [name, { serverRelativeURL: documentUrl(basePath, name, document()) }]),
  ),
});

/** A document under its hash never changes; under an old hash the client is sent to the current one. */
async function answerV3(context: RequestContext, document: (() => PreparedBody) | undefined): Promise<ApiResponse> {
  if (document === undefined) return textResponse(404, "404 page not found\n");
  if (accepted(context, [JSON_TYPE]) === undefined) return notAcceptable();
  const body = document();
  const hash = context.request.query.get("hash") ?? "";
  if (hash === "") return answer(context, body, JSON_TYPE);
  if (hash !== body.hash) {
    const { basePath } = context.request;
    const name = context.info.path.slice(V3_PREFIX.length + 1);
    return {
      status: 301,
      headers: { location: documentUrl(basePath, name, body) },
      body: { type: "bytes", bytes: "" },
    };
  }
  return answer(context, body, JSON_TYPE, {
    "cache-control": "public, immutable",
    expires: new Date(context.receivedAt + YEAR_MS).toUTCString(),
  });
}

async function answerV2(context: RequestContext, documents: OpenApiDocuments): Promise<ApiResponse> {
  const mediaType = accepted(context, V2_MEDIA_TYPES);
  if (mediaType === undefined) return notAcceptable();
  return mediaType === JSON_TYPE
    ? answer(context, documents.v2(), JSON_TYPE)
    : answer(context, documents.v2Protobuf(), V2_PROTOBUF_TYPE);
}

const accepted = ({ request }: RequestContext, mediaTypes: readonly string[]): string | undefined =>
  negotiateMediaType(headerOf(request, "accept"), mediaTypes)?.mediaType;

const answer = (
  { request }: RequestContext,
  body: PreparedBody,
  mediaType: string,
  headers: ResponseHeaders = {},
): Promise<ApiResponse> =>
  preparedResponse(request, body, {
    "cache-control": "no-cache, private",
    "content-type": mediaType,
    vary: "Accept",
    ...headers,
  });

const notAcceptable = (): ApiResponse => ({
  status: 406,
  headers: { vary: "Accept" },
  body: { type: "bytes", bytes: "" },
});
