// Negotiates the response: media type, pretty printing, and the kind to convert to (`as=`).
// Source: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go

import { notAcceptableError } from "@postern/apimachinery/meta/api-error";
import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";
import { type AcceptClause, parseAccept } from "./parse-accept.ts";

/** Abilities of an endpoint beside writing its object as it is. */
export type OutputRestrictions = {
  allowsConversion(target: GroupVersionKind): boolean;
  allowsStream(stream: string): boolean;
};

export type MediaTypeChoice = {
  /** One of the accepted media types. */
  readonly mediaType: string;
  /** Asked for by `;pretty=1`. */
  readonly pretty: boolean;
  /** `watch`, or "". */
  readonly stream: string;
  /** The kind that `as=`, `g=` and `v=` name. */
  readonly convert?: GroupVersionKind;
};

/** How to write an answer. */
export type OutputMedia = {
  readonly format: "json" | "yaml";
  readonly pretty: boolean;
  readonly convert?: GroupVersionKind;
};

const JSON_TYPE = "application/json";
const YAML_TYPE = "application/yaml";

/** Media types that objects are served as, the default first. */
export const OUTPUT_MEDIA_TYPES: readonly string[] = [JSON_TYPE, YAML_TYPE];

/**
 * Media types that a refusal names. Protobuf is read where reviews are posted but never written; clients that ask for it name JSON beside it,
 * so the text of upstream is kept.
 */
export const NAMED_MEDIA_TYPES: readonly string[] = [...OUTPUT_MEDIA_TYPES, "application/vnd.kubernetes.protobuf"];

/** Endpoints that write their document and nothing else. */
export const PLAIN_OUTPUT: OutputRestrictions = { allowsConversion: () => false, allowsStream: () => false };

const META_VERSIONS = new Set(["v1", "v1beta1"]);
const META_KINDS = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);

/** Endpoints of resources. */
export const RESOURCE_OUTPUT: OutputRestrictions = {
  allowsConversion: ({ group, version, kind }) =>
    group === "meta.k8s.io" && META_VERSIONS.has(version) && META_KINDS.has(kind),
  allowsStream: (stream) => stream === "watch",
};

/** The first of `accepted` that the header admits with parameters that the endpoint can follow. */
export function negotiateMediaType(
  accept: string,
  accepted: readonly string[],
  restrictions: OutputRestrictions = PLAIN_OUTPUT,
): MediaTypeChoice | undefined {
  const [first] = accepted;
  if (first === undefined) return undefined;
  const takesFirst = accept === "" || accept === "*/*" || (accept === JSON_TYPE && first === JSON_TYPE);
  if (takesFirst) return { mediaType: first, pretty: false, stream: "" };
  for (const clause of parseAccept(accept)) {
    for (const mediaType of accepted) {
      if (!admits(clause, mediaType)) continue;
      const choice = followParameters(clause, mediaType, restrictions);
      if (choice !== undefined) return choice;
    }
  }
  return undefined;
}

function admits({ type, subtype }: AcceptClause, mediaType: string): boolean {
  const slash = mediaType.indexOf("/");
  if (type === "*") return subtype === "*";
  if (type !== mediaType.slice(0, slash)) return false;
  return subtype === "*" || subtype === mediaType.slice(slash + 1);
}

function followParameters(
  { parameters }: AcceptClause,
  mediaType: string,
  restrictions: OutputRestrictions,
): MediaTypeChoice | undefined {
  const stream = parameters.get("stream") ?? "";
  if (stream !== "" && !restrictions.allowsStream(stream)) return undefined;
  const choice = { mediaType, pretty: parameters.get("pretty") === "1", stream };
  if (!parameters.has("as") && !parameters.has("g") && !parameters.has("v")) return choice;
  const convert = {
    group: parameters.get("g") ?? "",
    version: parameters.get("v") ?? "",
    kind: parameters.get("as") ?? "",
  };
  return restrictions.allowsConversion(convert) ? { ...choice, convert } : undefined;
}

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const TERMINAL_CLIENTS = ["curl", "Wget", "Mozilla/5.0"];

/** `?pretty=` decides where it is given; otherwise tools that print what they receive get indented JSON. */
export function wantsPretty(request: Pick<ApiRequest, "query" | "headers">): boolean {
  const parameter = request.query.get("pretty") ?? "";
  if (parameter !== "") return TRUE.has(parameter);
  const userAgent = headerOf(request, "user-agent");
  return TERMINAL_CLIENTS.some((client) => userAgent.startsWith(client));
}

/**
 * How to answer a request with one object or list.
 * @throws ApiError 406 when the client takes none of what can be written
 */
export function negotiateOutput(
  request: Pick<ApiRequest, "query" | "headers">,
  restrictions: OutputRestrictions = RESOURCE_OUTPUT,
): OutputMedia {
  const choice = negotiateMediaType(headerOf(request, "accept"), OUTPUT_MEDIA_TYPES, restrictions);
  if (choice === undefined) throw notAcceptableError(NAMED_MEDIA_TYPES);
  return {
    format: choice.mediaType === YAML_TYPE ? "yaml" : "json",
    pretty: choice.pretty || wantsPretty(request),
    ...(choice.convert === undefined ? {} : { convert: choice.convert }),
  };
}

/**
 * How to write the events of a watch: only JSON can be framed.
 * @throws ApiError 406
 */
export function negotiateStream(request: Pick<ApiRequest, "query" | "headers">): OutputMedia {
  const choice = negotiateMediaType(headerOf(request, "accept"), OUTPUT_MEDIA_TYPES, RESOURCE_OUTPUT);
  if (choice?.mediaType !== JSON_TYPE) throw notAcceptableError([`${JSON_TYPE};stream=watch`]);
  return { format: "json", pretty: false, ...(choice.convert === undefined ? {} : { convert: choice.convert }) };
}
