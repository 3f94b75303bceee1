// Serves OpenAPI v3 per group and version, and OpenAPI v2 of everything, as JSON and protobuf.
// Source: k8s.io/kube-openapi/pkg/handler3, k8s.io/kube-openapi/pkg/handler

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { DescriptionsOf } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { RequestContext } from "../../context/request-context.ts";
import { LONG_WORK_BYTES } from "../../limits/long-work.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { headerOf } from "../../transport/api-request.ts";
import { type ApiResponse, type ResponseHeaders, textResponse } from "../../transport/api-response.ts";
import type { ApiGroup } from "../discovery/api-groups.ts";
import { perRevision } from "../discovery/per-revision.ts";
import { type PreparedBody, prepareBody, preparedResponse } from "../discovery/prepared-document.ts";
import { negotiateMediaType } from "../negotiation/negotiate-output.ts";
import { type ApiInfo, createOpenApiDocuments, type OpenApiDocuments } from "./openapi-documents.ts";

export type OpenApiRouterDeps = {
  readonly groups: () => readonly ApiGroup[];
  readonly revision: () => number;
  readonly info: ApiInfo;
  /** The paths that the server answers outside the API. */
  readonly otherPaths?: readonly string[];
  /** Default: descriptions are those of the schemas. */
  readonly descriptions?: DescriptionsOf;
};

export const OPENAPI_PATHS: readonly string[] = ["/openapi/v2", "/openapi/v3", "/openapi/v3/"];

const JSON_TYPE = "application/json";

/** The name under which a document is answered, and the one that clients ask for: `@` is no character of media types. */
const protobufTypes = (version: "v2" | "v3"): readonly [answered: string, asked: string] => [
  `application/com.github.proto-openapi.spec.${version}.v1.0+protobuf`,
  `application/com.github.proto-openapi.spec.${version}@v1.0+protobuf`,
];
const [V2_TYPES, V3_TYPES] = [protobufTypes("v2"), protobufTypes("v3")];

const YEAR_MS = 365 * 24 * 3600 * 1000;

const V3_PREFIX = "/openapi/v3";

/** Undefined for paths that are not OpenAPI's. */
export function createOpenApiRouter({
  groups,
  revision,
  info,
  descriptions,
  otherPaths,
}: OpenApiRouterDeps): (context: RequestContext) => Promise<ApiResponse> | undefined {
  const documentsOf = createOpenApiDocuments(info, descriptions, otherPaths);
  const documents = perRevision(revision, () => createBuilds(documentsOf(groups())));

  return (context) => {
    const { path } = context.info;
    if (path === "/openapi/v2") return answerV2(context, documents());
    if (path === V3_PREFIX) return answerIndex(context, documents());
    if (!path.startsWith(`${V3_PREFIX}/`)) return undefined;
    return answerV3(context, documents(), path.slice(V3_PREFIX.length + 1));
  };
}

/** The documents of one set of resources. Requests that ask for the same wait for the same work. */
type Builds = {
  readonly documents: OpenApiDocuments;
  of(context: RequestContext, name: string, steps: () => Steps<PreparedBody>): Awaitable<PreparedBody>;
};

function createBuilds(documents: OpenApiDocuments): Builds {
  const bodies = new Map<string, Awaitable<PreparedBody>>();
  return {
    documents,
    of(context, name, steps) {
      const known = bodies.get(name);
      if (known !== undefined) return known;
      // As long as there are many versions.
      context.weigh(LONG_WORK_BYTES);
      const body = context.inParts(steps());
      bodies.set(name, body);
      if (body instanceof Promise) body.catch(() => bodies.delete(name));
      return body;
    },
  };
}

const documentUrl = (basePath: string, name: string, hash: string): string =>
  `${basePath}${V3_PREFIX}/${name}?hash=${hash}`;

async function answerIndex(context: RequestContext, { documents, of }: Builds): Promise<ApiResponse> {
  const { basePath } = context.request;
  const body = await of(context, `index ${basePath}`, function* () {
    const urls: [string, JsonObject][] = [];
    for (const name of documents.names) {
      const hash = yield* documents.v3Hash(name);
      urls.push([name, { serverRelativeURL: documentUrl(basePath, name, hash) }]);
    }
    return prepareBody(stringifyJson({ paths: Object.fromEntries(urls) }));
  });
  return answer(context, body, JSON_TYPE);
}

/** A document under its hash never changes; under an old hash the client is sent to the current one. */
async function answerV3(context: RequestContext, { documents }: Builds, name: string): Promise<ApiResponse> {
  const steps = documents.v3(name);
  if (steps === undefined) return textResponse(404, "404 page not found\n");
  const mediaType = accepted(context, [JSON_TYPE, ...V3_TYPES]);
  if (mediaType === undefined) return notAcceptable();
  context.weigh(LONG_WORK_BYTES);
  const json = await context.inParts(steps);
  const hash = context.request.query.get("hash") ?? "";
  if (hash !== "" && hash !== json.hash) {
    const { basePath } = context.request;
    return {
      status: 301,
      headers: { location: documentUrl(basePath, name, json.hash) },
      body: { type: "bytes", bytes: "" },
    };
  }
  const isJson = mediaType === JSON_TYPE;
  // The index has one hash for both, as upstream.
  const body = isJson ? json : { ...(await context.inParts(documents.v3Protobuf(name))), hash: json.hash };
  const answered = isJson ? JSON_TYPE : V3_TYPES[0];
  if (hash === "") return answer(context, body, answered);
  return answer(context, body, answered, {
    "cache-control": "public, immutable",
    expires: new Date(context.receivedAt + YEAR_MS).toUTCString(),
  });
}

async function answerV2(context: RequestContext, { documents, of }: Builds): Promise<ApiResponse> {
  const mediaType = accepted(context, [JSON_TYPE, ...V2_TYPES]);
  if (mediaType === undefined) return notAcceptable();
  return mediaType === JSON_TYPE
    ? answer(context, await of(context, "v2", documents.v2), JSON_TYPE)
    : answer(context, await of(context, "v2 protobuf", documents.v2Protobuf), V2_TYPES[0]);
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
