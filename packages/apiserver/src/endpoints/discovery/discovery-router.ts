// Serves discovery, OpenAPI documents, and the list of paths.
// Source: k8s.io/apiserver/pkg/endpoints/discovery, k8s.io/apiserver/pkg/server/routes

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { methodNotAllowedError, resourceNotFoundError } from "@postern/apimachinery/meta/api-error";
import type { DescriptionsOf } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { RequestContext } from "../../context/request-context.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { ApiRequest } from "../../transport/api-request.ts";
import { type ApiResponse, jsonResponse, textResponse } from "../../transport/api-response.ts";
import { encodeObject } from "../negotiation/encode-object.ts";
import { mediaTypeOf, negotiateWithin, type OutputMedia, PLAIN_OUTPUT } from "../negotiation/negotiate-output.ts";
import { contentTypeOf, encodedResponse } from "../negotiation/object-response.ts";
import { refuseUnroutable } from "../negotiation/refuse-unroutable.ts";
import { createOpenApiRouter, OPENAPI_PATHS } from "../openapi/openapi-router.ts";
import { AGGREGATED_OUTPUT, AGGREGATED_PARAMETERS } from "./aggregated-discovery.ts";
import { createDiscoveryDocuments, type DiscoveryDocuments } from "./discovery-documents.ts";
import { apiVersions } from "./legacy-discovery.ts";
import { perRevision } from "./per-revision.ts";
import { type PreparedDocument, prepareDocument, preparedResponse } from "./prepared-document.ts";

/**
 * Undefined for paths that are not discovery's. Upstream answers every method as GET but for the documents of built-in versions,
 * which have a route for GET alone: others throw ApiError 405.
 */
export type DiscoveryRouter = (context: RequestContext) => Promise<ApiResponse> | undefined;

export function createDiscoveryRouter(deps: {
  /** The resources served now. */
  readonly resources: () => readonly ResourceDefinition[];
  /** Moves whenever the set of resources changes. */
  readonly revision: () => number;
  /** Paths served elsewhere that `GET /` names too, such as `/healthz`. */
  readonly otherPaths?: readonly string[];
  /** The name of this API in OpenAPI documents. */
  readonly info?: { readonly title: string; readonly version: string };
  /** Descriptions of types in OpenAPI documents, in place of those of their schemas. */
  readonly descriptions?: DescriptionsOf;
}): DiscoveryRouter {
  const {
    resources,
    revision,
    otherPaths = [],
    info = { title: "Kubernetes", version: "unversioned" },
    descriptions,
  } = deps;
  const documentsOf = createDiscoveryDocuments();
  const documents = perRevision(revision, () => documentsOf(resources()));
  const root = perRevision(revision, () => prepareDocument(rootPaths(documents(), otherPaths)));
  const groups = perRevision(revision, () => documents().groups);
  const openApi = createOpenApiRouter({
    groups,
    revision,
    info,
    otherPaths,
    ...(descriptions === undefined ? {} : { descriptions }),
  });

  return (context) => {
    const [first = "", second, third, ...rest] = segmentsOf(context.info.path);
    if (first === "openapi") return openApi(context);
    if (rest.length > 0) return undefined;
    if (first === "" && second === undefined)
      return isRoot(context.info.path) ? rootResponse(context, root()) : undefined;
    if (context.info.path === "/index.html") return rootResponse(context, root());
    if (first === "api" && third === undefined) {
      mustBeRouted(context.request);
      return second === undefined
        ? groupDocument(context, documents(), "api")
        : resourceListDocument(context, documents(), "", second);
    }
    if (first !== "apis") return undefined;
    if (second === undefined) return groupDocument(context, documents(), "apis");
    const group = documents().group(second);
    if (group === undefined) return Promise.resolve(textResponse(404, "404 page not found\n"));
    if (third === undefined) return plain(context, group);
    if (documents().isBuiltIn(second, third)) mustBeRouted(context.request);
    return resourceListDocument(context, documents(), second, third);
  };
}

/** One trailing slash makes no difference. */
const segmentsOf = (path: string): readonly string[] => path.replace(/^\//, "").replace(/\/$/, "").split("/");

const isRoot = (path: string): boolean => path === "/" || path === "";

/** The list of paths is for people too: it comes as indented JSON, whatever they say they read. */
const rootResponse = async (context: RequestContext, document: PreparedDocument): Promise<ApiResponse> =>
  jsonResponse(200, (await document({ format: "json", pretty: true }, context)).bytes);

function mustBeRouted(request: ApiRequest): void {
  if (request.method !== "GET") throw methodNotAllowedError();
  refuseUnroutable(request);
}

function rootPaths({ paths }: DiscoveryDocuments, otherPaths: readonly string[]): JsonObject {
  return { paths: [...new Set([...paths, ...OPENAPI_PATHS, ...otherPaths])].sort() };
}

/** `/api` and `/apis`: aggregated when the client can read that. */
async function groupDocument(
  context: RequestContext,
  documents: DiscoveryDocuments,
  prefix: "api" | "apis",
): Promise<ApiResponse> {
  const { request } = context;
  const output = negotiateWithin(request, AGGREGATED_OUTPUT);
  if (output.convert !== undefined) {
    return preparedResponse(request, await documents.aggregated(prefix)(output, context), {
      "content-type": `${mediaTypeOf(output.format)};${AGGREGATED_PARAMETERS}`,
      "cache-control": "public",
      vary: "Accept",
    });
  }
  if (prefix === "apis") return preparedPlain(context, documents.groupList(), output);
  const document = apiVersions(documents.core, request.host);
  return encodedResponse(context, 200, encodeObject(document, output), contentTypeOf(output));
}

async function resourceListDocument(
  context: RequestContext,
  documents: DiscoveryDocuments,
  group: string,
  version: string,
): Promise<ApiResponse> {
  const document = documents.resourceList(group, version);
  if (document === undefined) throw resourceNotFoundError();
  return plain(context, document);
}

const plain = async (context: RequestContext, document: PreparedDocument): Promise<ApiResponse> =>
  preparedPlain(context, document, negotiateWithin(context.request, PLAIN_OUTPUT));

const preparedPlain = async (
  context: RequestContext,
  document: PreparedDocument,
  output: OutputMedia,
): Promise<ApiResponse> =>
  preparedResponse(
    context.request,
    await document(output, context),
    { "content-type": mediaTypeOf(output.format), "cache-control": "no-cache, private" },
    { etag: false },
  );
