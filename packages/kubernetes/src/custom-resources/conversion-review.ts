// Requests to conversion webhooks, and their responses.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go (ConversionReview), pkg/apiserver/conversion/webhook_converter.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { validateAnnotations, validateLabels } from "@postern/apimachinery/validation/labels";
import { APIEXTENSIONS_GROUP } from "./custom-resource-definition.ts";

export type ReviewRequest = {
  /** `v1` or `v1beta1`. */
  readonly version: string;
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly KubeObject[];
};

export const reviewText = ({ version, uid, desiredAPIVersion, objects }: ReviewRequest): string =>
  stringifyJson({
    kind: "ConversionReview",
    apiVersion: `${APIEXTENSIONS_GROUP}/${version}`,
    // Objects are JSON; only their named types hide it.
    request: { uid, desiredAPIVersion, objects: objects as unknown as readonly JsonObject[] },
  });

/** Maximum length of a message that quotes a webhook. */
const MAX_MESSAGE = 4_096;

/** The response is invalid; the message is upstream's text after `conversion webhook for <kind> `. */
export class ReviewError extends Error {
  override readonly name = "ReviewError";

  constructor(message: string, options?: ErrorOptions) {
    super(message.slice(0, MAX_MESSAGE), options);
  }
}

/** The converted objects in a response, not validated. Throws ReviewError. */
export function convertedObjects(review: JsonObject, { version, uid }: ReviewRequest): readonly JsonValue[] {
  const failed = (why: string): ReviewError => new ReviewError(`failed: ${why}`);
  const { response } = review;
  if (version === "v1") {
    const [apiVersion, kind] = [textOf(review["apiVersion"]), textOf(review["kind"])];
    if (apiVersion !== `${APIEXTENSIONS_GROUP}/v1` || kind !== "ConversionReview") {
      const got = `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
      throw failed(`expected webhook response of ${APIEXTENSIONS_GROUP}/v1, Kind=ConversionReview, got ${got}`);
    }
  }
  if (!isJsonObject(response)) throw failed("no response provided");
  if (version === "v1" && response["uid"] !== uid) {
    throw failed(
      `expected response.uid=${quoteGo(uid)}, got ${quoteGo(textOf(response["uid"]).slice(0, MAX_MESSAGE))}`,
    );
  }
  const result = isJsonObject(response["result"]) ? response["result"] : {};
  if (result["status"] !== "Success") {
    const message = textOf(result["message"]);
    throw failed(message === "" ? `response.result.status was '${textOf(result["status"])}', not 'Success'` : message);
  }
  return isJsonArray(response["convertedObjects"]) ? response["convertedObjects"] : [];
}

/**
 * `answer` with the metadata of `original`, of which labels and annotations alone may change. Throws ReviewError. `index` is its place in
 * a review of several, undefined where it is the only one: upstream words both cases differently.
 */
export function checkedObject(
  answer: JsonValue,
  original: KubeObject,
  { index, apiVersion }: { readonly index: number | undefined; readonly apiVersion: string },
): KubeObject {
  const at = index === undefined ? "object" : `converted object at index ${index}`;
  const invalid = (why: string) => new ReviewError(`returned invalid ${at}: ${why}`);
  const ofOtherKind = (why: string) =>
    new ReviewError(`returned invalid ${index === undefined ? "object at index 0" : at}: ${why}`);
  const metadataFault = (why: string) =>
    new ReviewError(`returned invalid metadata${index === undefined ? "" : ` in object at index ${index}`}: ${why}`);
  if (!isJsonObject(answer)) throw invalid("it is no object");
  if (textOf(answer["apiVersion"]) !== apiVersion) {
    throw ofOtherKind(`invalid groupVersion (expected ${apiVersion}, received ${textOf(answer["apiVersion"])})`);
  }
  if (answer["kind"] !== original.kind) {
    throw ofOtherKind(`invalid kind (expected ${original.kind}, received ${textOf(answer["kind"])})`);
  }
  const metadata = answer["metadata"];
  const answered = isJsonObject(metadata) ? metadata : {};
  for (const [member, name] of FIXED) {
    const [before, after] = [textOf(original.metadata[member]), textOf(answered[member])];
    if (before !== after) throw invalid(`must have the same ${name}: ${before} != ${after}`);
  }
  if (!isJsonObject(metadata)) throw metadataFault("missing metadata in converted object");
  const { labels: _labels, annotations: _annotations, ...kept } = original.metadata;
  return {
    ...answer,
    apiVersion,
    kind: original.kind,
    metadata: {
      ...kept,
      ...mapOf("labels", { original, answered, fault: metadataFault }, validateLabels),
      ...mapOf("annotations", { original, answered, fault: metadataFault }, validateAnnotations),
    },
  };
}

const FIXED = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["uid", "UID"],
] as const;

function mapOf(
  member: "labels" | "annotations",
  {
    original,
    answered,
    fault,
  }: {
    readonly original: KubeObject;
    readonly answered: JsonObject;
    readonly fault: (why: string) => ReviewError;
  },
  validate: (map: { readonly [key: string]: string }, path: string) => readonly FieldError[],
): { readonly [name: string]: { readonly [key: string]: string } } {
  const value = answered[member];
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw fault(`invalid metadata.${member} of type ${goTypeOf(value)} in converted object`);
  const map: { [key: string]: string } = {};
  for (const [key, text = null] of Object.entries(value)) {
    if (typeof text !== "string") {
      throw fault(`metadata.${member}[${key}] must be a string, but is ${goTypeOf(text)} in converted object`);
    }
    map[key] = text;
  }
  // Invalid old values are kept. Upstream calls the field of annotations `annotation`.
  const faults = equalJson(map, original.metadata[member]) ? [] : validate(map, `metadata.${FIELDS[member]}`);
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  if (texts.length > 0) throw fault(texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`);
  return { [member]: map };
}

const FIELDS = { labels: "labels", annotations: "annotation" } as const;

/** As upstream's `%T` prints values of JSON. */
function goTypeOf(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (isJsonArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : Number.isInteger(value) ? "int64" : "float64";
}
