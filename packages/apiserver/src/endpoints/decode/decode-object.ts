// Decodes a body into an object of the resource's kind: parsed, checked, pruned and defaulted.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (schemaCoercingDecoder)

import { fieldPlaces } from "@postern/apimachinery/json/find-duplicate-fields";
import { goKindOf, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { badRequestError, invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { messageNameOf } from "@postern/apimachinery/protobuf/kubernetes-messages";
import { isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { pruneNulls, setDefaults } from "@postern/apimachinery/schema/default";
import { coerceMetadata } from "@postern/apimachinery/schema/embedded-objects/coerce-metadata";
import { coerceEmbeddedResources } from "@postern/apimachinery/schema/embedded-objects/embedded-resources";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { schemaValidatorOf } from "@postern/apimachinery/schema/validation/validate-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import type { RequestContext } from "../../context/request-context.ts";
import type { ReadYaml } from "../../limits/work-threads.ts";
import type { InputFormat } from "../negotiation/negotiate-input.ts";
import { applyFieldValidation, type FieldValidation, type StrictErrors } from "./field-validation.ts";
import { findTypeError } from "./find-type-error.ts";
import { withGoValues } from "./go-values.ts";
import { type ParsedBody, parseBodyInSteps } from "./parse-body.ts";

/** The expected kind of a body, and its schema. */
export type BodyKind = GroupVersionKind & {
  readonly schema: StructuralSchema;
  /** Sets the defaults of kinds that have a Go type upstream. Called with objects whose types have been checked. */
  setDefaults?(object: KubeObject): KubeObject;
  /** True for kinds that have a Go type upstream, which are refused in the words of its decoder. */
  readonly strategicMergePatch?: boolean;
};

export type Body = {
  readonly bytes: Uint8Array;
  readonly format: InputFormat;
  /** Where a thread has read it already. */
  readonly yaml?: ReadYaml | undefined;
};

/** The refusal of what cannot be read as an object of the kind. */
export const unreadableBodyError = (kind: BodyKind) => (why: string) =>
  badRequestError(`${kind.kind} in version ${quoteGo(kind.version)} cannot be handled as a ${kind.kind}: ${why}`);

/** Throws 400 or 422 with the texts of Kubernetes. */
export function* decodeObject(
  context: RequestContext,
  body: Body,
  kind: BodyKind,
  directive: FieldValidation,
): Steps<KubeObject> {
  const { value, duplicates, strictTexts } = yield* parseAs(body, kind, directive);
  yield;
  // To Go, null is an object without members.
  const typed = withKind(value ?? {}, kind, body.bytes);
  const conformed = yield* conform(typed, kind);
  if ("fault" in conformed) throw unreadableBodyError(kind)(conformed.fault);
  const { object, unknown } = conformed;
  applyFieldValidation(
    directive,
    kind.strategicMergePatch === true && body.format === "json" && duplicates.length > 0 && unknown.length > 0
      ? inOrderOfBody(body, [...duplicates, ...unknown])
      : { warnings: [...duplicates, ...unknown], errors: [...strictTexts, ...unknown] },
    context.warnings,
    unreadableBodyError(kind),
  );
  return object;
}

/** Go's decoder of typed objects meets both kinds of faults on its one way through the text. */
function inOrderOfBody({ bytes }: Body, texts: readonly string[]): StrictErrors {
  const places = new Map<string, readonly number[]>();
  for (const [path, at] of fieldPlaces(Buffer.from(bytes).toString())) places.set(quoteGo(path), at);
  const placeOf = (text: string): number => {
    const found = places.get(text.slice(text.indexOf('"')));
    return (text.startsWith("duplicate") ? found?.at(-1) : found?.[0]) ?? Number.POSITIVE_INFINITY;
  };
  const ordered = texts.toSorted((a, b) => placeOf(a) - placeOf(b));
  return { warnings: ordered, errors: ordered };
}

export type Conformed =
  | {
      readonly object: KubeObject;
      /** Texts about what the schema does not know. */
      readonly unknown: readonly string[];
    }
  /** Why it cannot be read at all. */
  | { readonly fault: string };

/**
 * The value as the kind's schema knows it. Objects with a Go type upstream have the types of its fields from here on; of custom resources
 * the schema is checked when the registry gets them (`check-schema.ts`), since upstream names other faults of theirs first.
 * `isStoredMetadata`: it is that of an object that was stored, and so in its form already.
 */
export function* conform(value: KubeObject, kind: BodyKind, isStoredMetadata = false): Steps<Conformed> {
  const hasGoType = kind.strategicMergePatch === true;
  const { metadata, unknownPaths: unknownMeta } = isStoredMetadata
    ? { metadata: value.metadata, unknownPaths: [] }
    : coerceMetadata(value.metadata, kind.kind, kind.version, hasGoType);
  yield;
  const asItIs = metadata === value.metadata ? value : { ...value, metadata };
  if (!hasGoType && schemaValidatorOf(kind.schema).isPlain(asItIs)) {
    return { object: asItIs, unknown: unknownMeta.toSorted().map(unknownField) };
  }
  yield;
  const { value: pruned, unknownPaths } = pruneUnknownFields(value, kind.schema, { isResourceRoot: true });
  yield;
  const { value: coerced, unknownPaths: unknownBelow, fault } = coerceEmbeddedResources(pruned, kind.schema);
  if (fault !== undefined) return { fault };
  // Pruning and coercion keep the members that make it an object of a kind.
  const completed = yield* complete({ ...(coerced as KubeObject), metadata }, kind);
  if ("fault" in completed) return completed;
  // Metadata comes first; within each part the order of the body counts where upstream decodes into Go types. Elsewhere it sorts, since its maps have no
  // order.
  const ordered = (paths: readonly string[]): readonly string[] => (hasGoType ? paths : paths.toSorted());
  const paths = [...ordered(unknownMeta), ...ordered(unknownPaths), ...ordered(unknownBelow)];
  return { ...completed, unknown: paths.map(unknownField) };
}

const unknownField = (path: string): string => `unknown field ${quoteGo(path)}`;

/** The object with its defaults, those of its kind among them; a kind with a Go type is checked before it gets them. */
export function* complete(
  object: KubeObject,
  kind: BodyKind,
): Steps<{ readonly object: KubeObject } | { readonly fault: string }> {
  let typed: JsonValue = object;
  if (kind.strategicMergePatch === true) {
    yield;
    const fault = findTypeError(
      object,
      kind.schema,
      kind.kind,
      messageNameOf(kind.group === "" ? kind.version : `${kind.group}/${kind.version}`, kind.kind),
    );
    if (fault !== undefined) return { fault };
    yield;
    typed = withGoValues(object, kind.schema);
  }
  yield;
  // Nulls that no default can replace go first. Neither changes apiVersion, kind or the type of metadata.
  const clean = pruneNulls(typed, kind.schema);
  yield;
  const filled = setDefaults(clean, kind.schema) as KubeObject;
  if (kind.strategicMergePatch !== true) return { object: filled };
  yield;
  return { object: kind.setDefaults?.(filled) ?? filled };
}

function* parseAs(body: Body, kind: BodyKind, directive: FieldValidation): Steps<ParsedBody> {
  try {
    return yield* parseBodyInSteps(body.bytes, {
      isYaml: body.format === "yaml",
      wantsDuplicates: directive !== "Ignore",
      read: body.yaml,
    });
  } catch (error) {
    // YAML is converted to JSON first, and its faults are reported as they are.
    const why =
      error instanceof YamlError ? error.message : `couldn't get version/kind; json parse error: ${messageOf(error)}`;
    throw unrecognizedError(kind, body.bytes, why);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Fills in apiVersion and kind where the body leaves them to the endpoint, and refuses wrong ones. */
function withKind(value: JsonValue, kind: BodyKind, bytes: Uint8Array): KubeObject {
  if (!isJsonObject(value)) throw unrecognizedError(kind, bytes, notAnObject(value));
  for (const name of ["kind", "apiVersion"]) {
    const member = value[name] ?? "";
    if (typeof member !== "string") throw unrecognizedError(kind, bytes, notAString(name, member));
  }
  const apiVersion = textOr(value["apiVersion"], "");
  const kindName = textOr(value["kind"], "");
  const expected = formatApiVersion(kind);
  if (parseApiVersion(apiVersion) === undefined) {
    throw unrecognizedError(kind, bytes, `unexpected GroupVersion string: ${apiVersion}`);
  }
  if (kind.strategicMergePatch === true) checkRegistered(kind, { apiVersion, kind: kindName });
  if (apiVersion !== "" && apiVersion !== expected) {
    throw badRequestError(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (kindName !== "" && kindName !== kind.kind) {
    const { group } = parseApiVersion(apiVersion) ?? kind;
    throw invalidObjectError({ group, kind: kindName }, nameIn(value), [
      invalidError("kind", kindName, `must be ${kind.kind}`),
    ]);
  }
  const { metadata = {} } = value;
  // coerceMetadata gives metadata its type right after.
  return { ...value, apiVersion: expected, kind: kind.kind, metadata: metadata as KubeObject["metadata"] };
}

/** Where upstream has the type that all versions of a kind convert to. */
const internalPackageOf = ({ group }: BodyKind): string => (group === "" ? "core" : (group.split(".")[0] ?? group));

/** Where upstream registers its built-in kinds; clients see the text. */
const SCHEME = "pkg/api/legacyscheme/scheme.go:30";

/** Upstream keeps the types of versions that it serves no more. */
const EARLIER = /^v\d+(alpha|beta)\d+$/;

/** Refuses what is no built-in kind, and one that is another than the expected. */
function checkRegistered(expected: BodyKind, given: { readonly apiVersion: string; readonly kind: string }): void {
  const apiVersion = given.apiVersion || formatApiVersion(expected);
  const kind = given.kind || expected.kind;
  if (apiVersion === formatApiVersion(expected) && kind === expected.kind) return;
  const { group, version } = parseApiVersion(apiVersion) ?? expected;
  const isEarlier = group === expected.group && kind === expected.kind && EARLIER.test(version);
  const refusal = (why: string) =>
    badRequestError(`${kind} in version ${quoteGo(version)} cannot be handled as a ${expected.kind}: ${why}`);
  if (!isEarlier && !isProtobufKind(apiVersion, kind)) {
    throw refusal(
      `no kind ${quoteGo(kind)} is registered for version ${quoteGo(apiVersion)} in scheme ${quoteGo(SCHEME)}`,
    );
  }
  if (kind === expected.kind) return;
  const types = `(${version}.${kind}) to (${internalPackageOf(expected)}.${expected.kind})`;
  throw refusal(`converting ${types}: unknown conversion`);
}

const textOr = (value: JsonValue | undefined, fallback: string): string =>
  typeof value === "string" ? value : fallback;

function nameIn({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? textOr(metadata["name"], "") : "";
}

/** Go's error for JSON without members. */
export const notAnObject = (value: JsonValue): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(value)} into Go value of type ` +
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

export const notAString = (member: string, value: JsonValue): string =>
  `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(value)} into Go struct field ` +
  `.${member} of type string`;

/** Upstream shows the first 30 bytes of what it could not read: as text when they begin an object, anything else in hex. */
export function unrecognizedError({ kind }: { readonly kind: string }, bytes: Uint8Array, why: string) {
  return badRequestError(`the object provided is unrecognized (must be of type ${kind}): ${why} (${excerpt(bytes)})`);
}

const EXCERPT_LENGTH = 30;
const OPENING_BRACE = 0x7b;
/** Up to the value of a member with a secret, which has no recognisable format: error messages must not show it. */
const UP_TO_SECRET =
  /^.*?\b(?:key|token|accessKey|idToken|accessToken|refreshToken|connectorData|password)\\?["']?\s*[:=]/s;

function excerpt(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const first = buffer.subarray(0, EXCERPT_LENGTH);
  const shownLength = UP_TO_SECRET.exec(first.toString("latin1"))?.[0].length ?? EXCERPT_LENGTH;
  const shown = first.subarray(0, shownLength).toString(buffer[0] === OPENING_BRACE ? "utf8" : "hex");
  return bytes.length > shownLength ? `${shown} ...` : shown;
}
