// The scale subresource: one number of a resource as an autoscaling/v1 Scale.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST)

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  badRequestError,
  conflictError,
  internalError,
  invalidObjectError,
  STALE_RESOURCE_VERSION,
  unsupportedMediaTypeError,
  verbNotSupportedError,
} from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { applyMergePatch, decodeMergePatch } from "@postern/apimachinery/patch/merge-patch";
import { PatchDecodeError } from "@postern/apimachinery/patch/patch-errors";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "../../chain/handler.ts";
import { splitFieldPath, valueAtPath, withValueAtPath } from "../../registry/field-path.ts";
import type { ScaleSubresource } from "../../registry/resource-definition.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import { updateOptionsOf } from "../../request/query-options.ts";
import { headerOf } from "../../transport/api-request.ts";
import { type BodyKind, decodeObject } from "../decode/decode-object.ts";
import { fieldValidationOf } from "../decode/field-validation.ts";
import { checkNameOfPath, readBody } from "../decode/read-object.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { mediaTypeOf } from "../negotiation/negotiate-input.ts";
import { negotiateOutput, PLAIN_OUTPUT } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import { MERGE_PATCH } from "./patch-types.ts";

const scaleKind: BodyKind = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  schema: kindSchema(
    s
      .object({
        spec: s.object({ replicas: s.int32({ minimum: 0 }).describe("The wanted number of replicas.") }),
        status: s.object({
          replicas: s.int32().describe("The number of replicas that there are."),
          selector: s.string().describe("The label selector of the replicas, as text."),
        }),
      })
      .describe("How many replicas a resource is to have, and how many it has.").schema,
  ),
};

export const handleScale: VerbHandler = async (context, resource, endpoint) => {
  const { definition, storage, fieldManager } = resource;
  const { verb, namespace, name } = context.info;
  const { scale } = definition;
  if (scale === undefined || storage.get === undefined || storage.update === undefined)
    throw unsupported(resource, verb);
  const output = negotiateOutput(context.request, PLAIN_OUTPUT);
  if (verb === "get") {
    const object = await storage.get(context, namespace, name, { resourceVersion: "" });
    return await objectResponse(context, 200, scaleOf(object.decode(), scale), definition, output);
  }
  if (verb !== "update" && verb !== "patch") throw unsupported(resource, verb);
  const options = updateOptionsOf(context.request.query);
  const manager = fieldManagerOf(options.fieldManager, context.request);
  const now = formatTimestamp(endpoint.runtime.clock.now());
  const body =
    verb === "update" ? await readScale(context, endpoint) : await readScalePatch(context, endpoint.limits.bodyBytes);
  const outcome = await storage.update(
    context,
    namespace,
    name,
    {
      subresource: "scale",
      transform(current) {
        const wanted = body(scaleOf(current, scale));
        checkNameOfPath(wanted, context);
        const next = withReplicas(current, wanted, scale, resource);
        return fieldManager.update({ live: current, next, manager, subresource: "scale", now });
      },
    },
    { dryRun: options.dryRun !== undefined && options.dryRun.length > 0 },
  );
  return await objectResponse(context, 200, scaleOf(outcome.object.decode(), scale), definition, output);
};

const unsupported = ({ definition }: InstalledResource, verb: string) =>
  verbNotSupportedError({ group: definition.group, resource: definition.plural }, verb);

type ScaleEdit = (current: KubeObject) => KubeObject;

async function readScale(context: RequestContext, endpoint: Parameters<VerbHandler>[2]): Promise<ScaleEdit> {
  const { fieldValidation } = updateOptionsOf(context.request.query);
  const scale = decodeObject(context, await readBody(context, endpoint), scaleKind, fieldValidationOf(fieldValidation));
  return () => scale;
}

async function readScalePatch({ request }: RequestContext, limitBytes: number): Promise<ScaleEdit> {
  if (mediaTypeOf(headerOf(request, "content-type")) !== MERGE_PATCH) throw unsupportedMediaTypeError([MERGE_PATCH]);
  const text = new TextDecoder().decode(await request.body(limitBytes));
  try {
    const patch = decodeMergePatch(text);
    // A merge patch of an object is an object; withReplicas checks the number in it.
    return (current) => applyMergePatch(current, patch) as KubeObject;
  } catch (error) {
    if (error instanceof PatchDecodeError) throw badRequestError(error.message, error);
    throw error;
  }
}

function scaleOf(object: KubeObject, scale: ScaleSubresource): KubeObject {
  const wanted = valueAtPath(object, splitFieldPath(scale.specReplicasPath));
  if (wanted === undefined) {
    throw internalError(`the spec replicas field ${JSON.stringify(scale.specReplicasPath)} does not exist`);
  }
  const actual = valueAtPath(object, splitFieldPath(scale.statusReplicasPath));
  const selector =
    scale.labelSelectorPath === undefined ? "" : valueAtPath(object, splitFieldPath(scale.labelSelectorPath));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const meta = { name, namespace, uid, resourceVersion, creationTimestamp };
  return {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined)),
    spec: { replicas: wanted },
    status: { replicas: actual ?? 0, ...(typeof selector === "string" && selector !== "" ? { selector } : {}) },
  };
}

function withReplicas(
  object: KubeObject,
  wanted: KubeObject,
  scale: ScaleSubresource,
  { definition }: InstalledResource,
): KubeObject {
  const { resourceVersion = "" } = wanted.metadata;
  const groupResource = { group: definition.group, resource: definition.plural };
  if (resourceVersion !== "" && resourceVersion !== object.metadata.resourceVersion) {
    throw conflictError(groupResource, object.metadata.name ?? "", STALE_RESOURCE_VERSION);
  }
  const replicas = replicasOf(wanted["spec"]);
  if (typeof replicas !== "number" || !Number.isInteger(replicas) || replicas < 0) {
    throw invalidObjectError(scaleKind, object.metadata.name ?? "", [
      invalidError("spec.replicas", replicas, "must be an integer greater than or equal to 0"),
    ]);
  }
  // Only a member below the top level changes, so it stays an object of its kind.
  return withValueAtPath(object, splitFieldPath(scale.specReplicasPath), replicas) as JsonObject as KubeObject;
}

/** A Scale without replicas asks for none, as its Go type has it. */
const replicasOf = (spec: JsonValue | undefined): JsonValue => (isJsonObject(spec) ? (spec["replicas"] ?? 0) : 0);
