// Negotiates the response: media type, pretty printing, and the kind to convert to (`as=`).
// Source: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go

import { notAcceptableError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, type GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { type ApiRequest, headerOf } from "../../transport/api-request.ts";
import { type AcceptClause, parseAccept } from "./parse-accept.ts";

/** Abilities of an endpoint beside writing its object as it is. */
export type OutputRestrictions = {
  /** Whether it is written in that media type. Without `target`: as it is. */
  allows(mediaType: string, target: GroupVersionKind | undefined): boolean;
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

export type OutputFormat = "json" | "yaml" | "protobuf";

/** How to write an answer. */
export type OutputMedia = {
  readonly format: OutputFormat;
  readonly pretty: boolean;
  readonly convert?: GroupVersionKind;
};

const JSON_TYPE = "application/json";
const YAML_TYPE = "application/yaml";
const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";

const FORMATS: { readonly [mediaType: string]: OutputFormat } = {
  [JSON_TYPE]: "json",
  [YAML_TYPE]: "yaml",
  [PROTOBUF_TYPE]: "protobuf",
};

/** JSON where there is none. */
export const formatOf = (mediaType: string | undefined): OutputFormat => FORMATS[mediaType ?? ""] ?? "json";

/** Media types that objects are served as, the default first. */
export const OUTPUT_MEDIA_TYPES: readonly string[] = Object.keys(FORMATS);

/** Media types that watches are served as. */
export const STREAM_MEDIA_TYPES: readonly string[] = [`${JSON_TYPE};stream=watch`, `${PROTOBUF_TYPE};stream=watch`];

/** The media type of an answer. */
export const mediaTypeOf = (format: OutputFormat): string =>
  format === "protobuf" ? PROTOBUF_TYPE : `application/${format}`;

/** Endpoints that write their document and nothing else. */
export const PLAIN_OUTPUT: OutputRestrictions = {
  allows: (_, target) => target === undefined,
  allowsStream: () => false,
};

const META_VERSIONS = new Set(["v1", "v1beta1"]);
const META_KINDS = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);

/** False for protobuf, and kinds that have no message, such as custom ones. */
export const isWrittenAs = (mediaType: string, kind: GroupVersionKind): boolean =>
  mediaType !== PROTOBUF_TYPE || isProtobufKind(formatApiVersion(kind), kind.kind);

/** Answers of these groups are no objects with metadata. */
const REVIEW_GROUPS = new Set(["authentication.k8s.io", "authorization.k8s.io"]);

/** Endpoints of a resource. There are no Tables in protobuf. */
const resourceOutput = (kind: GroupVersionKind): OutputRestrictions => ({
  allows(mediaType, target) {
    if (target === undefined) return isWrittenAs(mediaType, kind);
    if (REVIEW_GROUPS.has(kind.group)) return false;
    const isMeta = target.group === "meta.k8s.io" && META_VERSIONS.has(target.version) && META_KINDS.has(target.kind);
    return isMeta && !(mediaType === PROTOBUF_TYPE && target.kind === "Table");
  },
  allowsStream: (stream) => stream === "watch",
});

/** The media type of a watch: JSON has no parameter, as upstream. */
export const streamTypeOf = (format: OutputFormat): string =>
  format === "json" ? JSON_TYPE : `${mediaTypeOf(format)};stream=watch`;

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
  if (!parameters.has("as") && !parameters.has("g") && !parameters.has("v")) {
    return restrictions.allows(mediaType, undefined) ? choice : undefined;
  }
  const convert = {
    group: parameters.get("g") ?? "",
    version: parameters.get("v") ?? "",
    kind: parameters.get("as") ?? "",
  };
  return restrictions.allows(mediaType, convert) ? { ...choice, convert } : undefined;
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
 * How to answer a request with one object or list of a kind.
 * @throws ApiError 406 when the client takes none of what can be written
 */
export const negotiateOutput = (request: Pick<ApiRequest, "query" | "headers">, kind: GroupVersionKind): OutputMedia =>
  negotiateWithin(request, resourceOutput(kind));

/** The same where the endpoint has restrictions of its own. @throws ApiError 406 */
export function negotiateWithin(
  request: Pick<ApiRequest, "query" | "headers">,
  restrictions: OutputRestrictions,
): OutputMedia {
  const choice = negotiateMediaType(headerOf(request, "accept"), OUTPUT_MEDIA_TYPES, restrictions);
  if (choice === undefined) throw notAcceptableError(OUTPUT_MEDIA_TYPES);
  return {
    format: formatOf(choice.mediaType),
    pretty: choice.pretty || wantsPretty(request),
    ...(choice.convert === undefined ? {} : { convert: choice.convert }),
  };
}

/**
 * How to write the events of a watch: YAML has no frames.
 * @throws ApiError 406
 */
export function streamOutput(output: OutputMedia): OutputMedia {
  if (output.format === "yaml") throw notAcceptableError(STREAM_MEDIA_TYPES);
  return { ...output, pretty: false };
}
