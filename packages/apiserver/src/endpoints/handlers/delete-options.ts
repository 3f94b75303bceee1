// Reads DeleteOptions from the body or the query.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/delete.go

import {
  goKindOf,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { type ApiError, badRequestError, invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import {
  type DeleteOptions as SubmittedOptions,
  validateDeleteOptions,
} from "@postern/apimachinery/validation/request-options";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import type { RequestContext } from "../../context/request-context.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { DeleteOptions } from "../../registry/resource-storage.ts";
import { deleteOptionsOf } from "../../request/query-options.ts";
import { headerOf } from "../../transport/api-request.ts";
import { notAnObject, notAString } from "../decode/decode-object.ts";
import { parseBodyInSteps, readYamlInThread } from "../decode/parse-body.ts";
import type { EndpointContext } from "../endpoint-context.ts";
import { negotiateInput } from "../negotiation/negotiate-input.ts";

const DELETE_OPTIONS = { group: "meta.k8s.io", kind: "DeleteOptions" };

/** Where upstream registers its own options; clients see the text. */
const SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

export type ReadDeleteOptions = {
  readonly options: DeleteOptions;
  /** A client that uses the older `orphanDependents: false` gets 202 if the object still exists. */
  readonly holdsAreAccepted: boolean;
};

export async function readDeleteOptions(
  context: RequestContext,
  { strategy }: Pick<ResourceDefinition, "strategy">,
  endpoint: EndpointContext,
): Promise<ReadDeleteOptions> {
  const bytes = await context.request.body(endpoint.limits.bodyBytes);
  const submitted = bytes.length === 0 ? deleteOptionsOf(context.request.query) : await decodeOptions(bytes, context);
  if (bytes.length > 0) context.audit.setRequestObject(() => auditedOptions(submitted));
  // Deleting unreadable objects is an upstream feature that is off by default: the option is ignored.
  const { ignoreStoreReadErrorWithClusterBreakingPotential: _, ...heard } = submitted;
  const errors = validateDeleteOptions(heard);
  if (errors.length > 0) throw invalidObjectError(DELETE_OPTIONS, "", errors);
  const { preconditions, gracePeriodSeconds, dryRun = [], orphanDependents } = submitted;
  const propagationPolicy = policyOf(submitted);
  if (propagationPolicy === undefined && strategy?.orphanWarning !== undefined)
    context.warnings.add(strategy.orphanWarning);
  return {
    options: {
      dryRun: dryRun.length > 0,
      ...(preconditions === undefined ? {} : { preconditions }),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    },
    holdsAreAccepted: orphanDependents === false,
  };
}

/** As the kind has them, whatever they were sent as. */
const auditedOptions = (submitted: SubmittedOptions): JsonValue =>
  parseJson(JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", ...submitted }));

function policyOf({ propagationPolicy, orphanDependents }: SubmittedOptions): DeleteOptions["propagationPolicy"] {
  if (propagationPolicy === "Foreground" || propagationPolicy === "Orphan" || propagationPolicy === "Background") {
    return propagationPolicy;
  }
  if (orphanDependents === undefined) return undefined;
  return orphanDependents ? "Orphan" : "Background";
}

async function decodeOptions(bytes: Uint8Array, context: RequestContext): Promise<SubmittedOptions> {
  const format = negotiateInput(headerOf(context.request, "content-type"), () => true);
  context.weigh(bytes.length);
  const isYaml = format === "yaml";
  const yaml = isYaml ? await readYamlInThread(context, bytes) : undefined;
  let value: JsonValue;
  try {
    value =
      format === "protobuf"
        ? decodeProtobufObject(bytes, { apiVersion: "v1", kind: "DeleteOptions" })
        : (await context.inParts(parseBodyInSteps(bytes, { isYaml, read: yaml }))).value;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // The limit is one of this server, which must not look like a failure of its own.
    if (/max depth|nest/.test(why)) throw badRequestError(why, error);
    // YAML is converted to JSON first, and its faults are reported as they are.
    const isShownAsIs = format === "protobuf" || error instanceof YamlError;
    throw badRequestError(isShownAsIs ? why : `couldn't get version/kind; json parse error: ${why}`, error);
  }
  const fields = value ?? {};
  if (!isJsonObject(fields)) throw badRequestError(notAnObject(fields));
  const [kind, apiVersion] = [typeMeta(fields, "kind"), typeMeta(fields, "apiVersion")];
  if (parseApiVersion(apiVersion) === undefined) {
    throw badRequestError(`unexpected GroupVersion string: ${apiVersion}`);
  }
  if (kind !== "" && kind !== "DeleteOptions") {
    throw badRequestError(
      `no kind ${quoteGo(kind)} is registered for version ${quoteGo(apiVersion || "meta.k8s.io/v1")} in scheme ${quoteGo(SCHEME)}`,
    );
  }
  return optionsFrom(fields);
}

function typeMeta(fields: JsonObject, name: string): string {
  const text = fields[name] ?? "";
  if (typeof text !== "string") throw badRequestError(notAString(name, text));
  return text;
}

const isInt64 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;

function optionsFrom(value: JsonObject): SubmittedOptions {
  const gracePeriodSeconds = member(value, "gracePeriodSeconds", "number", "int64") as number | undefined;
  if (gracePeriodSeconds !== undefined && !isInt64(gracePeriodSeconds)) {
    throw wrongType(gracePeriodSeconds, ".gracePeriodSeconds", "int64", `number ${gracePeriodSeconds}`);
  }
  const orphanDependents = member(value, "orphanDependents", "boolean", "bool") as boolean | undefined;
  const propagationPolicy = member(value, "propagationPolicy", "string", "v1.DeletionPropagation") as
    | string
    | undefined;
  member(value, "ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "bool");
  const { preconditions, dryRun } = value;
  if (dryRun !== undefined && dryRun !== null) {
    if (!isJsonArray(dryRun)) throw wrongType(dryRun, ".dryRun", "[]string");
    const misfit = dryRun.find((item) => typeof item !== "string" && item !== null);
    if (misfit !== undefined) throw wrongType(misfit, ".dryRun", "string");
  }
  if (preconditions !== undefined && preconditions !== null && !isJsonObject(preconditions)) {
    throw wrongType(preconditions, ".preconditions", "v1.Preconditions");
  }
  const uid = isJsonObject(preconditions)
    ? (member(preconditions, "uid", "string", "types.UID", "Preconditions.preconditions") as string | undefined)
    : undefined;
  const resourceVersion = isJsonObject(preconditions)
    ? (member(preconditions, "resourceVersion", "string", "string", "Preconditions.preconditions") as
        | string
        | undefined)
    : undefined;
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(isJsonArray(dryRun) ? { dryRun: dryRun.map((item) => String(item ?? "")) } : {}),
    ...(isJsonObject(preconditions)
      ? {
          preconditions: {
            ...(uid === undefined ? {} : { uid }),
            ...(resourceVersion === undefined ? {} : { resourceVersion }),
          },
        }
      : {}),
  };
}

/** A member of the expected JavaScript type; null counts as absent. Throws the reason-less 500 of upstream otherwise. */
function member(
  value: JsonObject,
  name: string,
  expected: "number" | "boolean" | "string",
  goType: string,
  place = "DeleteOptions",
): JsonValue | undefined {
  const found = value[name];
  if (found === undefined || found === null) return undefined;
  if (typeof found === expected) return found;
  throw wrongType(found, `.${name}`, goType, goKindOf(found), place);
}

function wrongType(
  value: JsonValue,
  field: string,
  goType: string,
  found = goKindOf(value),
  place = "DeleteOptions",
): ApiError {
  return badRequestError(`json: cannot unmarshal ${found} into Go struct field ${place}${field} of type ${goType}`);
}
