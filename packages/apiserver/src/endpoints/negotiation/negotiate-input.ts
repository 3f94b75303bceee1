// Reads the Content-Type of a request.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go

import { unsupportedMediaTypeError } from "@postern/apimachinery/meta/api-error";

export type InputFormat = "json" | "yaml" | "protobuf";

const FORMATS: ReadonlyMap<string, InputFormat> = new Map([
  ["application/json", "json"],
  ["application/yaml", "yaml"],
  ["application/vnd.kubernetes.protobuf", "protobuf"],
]);

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const MEDIA_TYPE = new RegExp(
  `^\\s*(${TOKEN}/${TOKEN})\\s*(?:;\\s*${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")\\s*)*(?:;\\s*)?$`,
);

/** The media type in lower case without its parameters; undefined when the header does not parse. */
function mediaTypeOf(contentType: string): string | undefined {
  return MEDIA_TYPE.exec(contentType)?.[1]?.toLowerCase();
}

/**
 * The format to decode a body as; JSON when the header is absent or empty. Protobuf is taken where `takesProtobuf` says so, which is asked
 * only for a body in it.
 * @throws ApiError 415 that lists what the server reads anywhere, as upstream does
 */
export function negotiateInput(contentType: string, takesProtobuf = (): boolean => false): InputFormat {
  if (contentType === "" || contentType === "application/json") return "json";
  const format = FORMATS.get(mediaTypeOf(contentType) ?? "");
  if (format !== undefined && (format !== "protobuf" || takesProtobuf())) return format;
  throw unsupportedMediaTypeError([...FORMATS.keys()]);
}
