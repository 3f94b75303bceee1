// The scale subresource: one number of a resource as an autoscaling/v1 Scale.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go (ScaleREST)

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  badRequestError,
  conflictError,
  internalError,
  invalidObjectError,
  STALE_RESOURCE_VERSION,
  verbNotSupportedError,
} from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject, Timestamp } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import { validatePatchOptions, validateUpdateOptions } from "@postern/apimachinery/validation/request-options";
import type { RequestContext } from "../../context/request-context.ts";
import { splitFieldPath, valueAtPath, withValueAtPath } from "../../registry/field-path.ts";
import { groupResourceOf, type ScaleSubresource } from "../../registry/resource-definition.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import { isDryRun, patchOptionsOf, updateOptionsOf } from "../../request/query-options.ts";
import { headerOf } from "../../transport/api-request.ts";
import { type Body, type BodyKind, decodeObject } from "../decode/decode-object.ts";
import { readYamlInThread } from "../decode/parse-body.ts";
import { checkNameOfPath, decodeBody, inNamespaceOfPath, readBody } from "../decode/read-object.ts";
import type { EndpointContext, VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { AGE_COLUMN, type ResourceColumns } from "../table/table-cells.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import { auditedPatch, negotiatePatchType } from "./patch.ts";
import { APPLY_PATCH, asObject, type Patch, readPatch } from "./patch-types.ts";

const scaleKind: BodyKind = {
  group: "autoscaling",
  version: "v1",
  kind: "Scale",
  strategicMergePatch: true,
  schema: kindSchema(
    s
      .object({
        spec: s.object({
          replicas: s
            .int32({ minimum: 0 })
            .describe("replicas is the desired number of instances for the scaled object."),
        }),
        status: s.object({
          replicas: s.int32().describe("replicas is the actual number of observed instances of the scaled object."),
          selector: s.string().describe("selector is the label query over pods that should match the replicas count."),
        }),
      })
      .describe("Scale represents a scaling request for a resource.").schema,
  ),
};

/** Columns of `kubectl get --subresource=scale`. Source: k8s.io/apiextensions-apiserver/pkg/apiserver/helpers.go */
const scaleColumns: ResourceColumns = {
  strategicMergePatch: true,
  columns: [
    {
      name: "Desired",
      type: "integer",
      description: "Number of desired replicas",
      value: ({ spec }) => replicasOf(spec),
    },
    { name: "Available", type: "integer", description: "Number of actual replicas", value: ".status.replicas" },
    AGE_COLUMN,
  ],
};

/** Changes the object whose scale is requested. */
type ScaleEdit = (current: KubeObject) => Steps<KubeObject>;

export const handleScale: VerbHandler = async (context, resource, endpoint) => {
  const { servedStore } = resource;
  const { verb, namespace, name } = context.info;
  const { scale } = resource.definition;
  if (scale === undefined || servedStore.get === undefined || servedStore.update === undefined)
    throw unsupported(resource, verb);
  const output = negotiateOutput(context.request, scaleKind);
  if (verb === "get") {
    const object = await servedStore.get(context, namespace, name, { resourceVersion: "" });
    return await objectResponse(context, 200, scaleOf(object.decode(), scale), scaleColumns, output);
  }
  if (verb !== "update" && verb !== "patch") throw unsupported(resource, verb);
  const options = updateOptionsOf(context.request.query);
  const edit = { context, resource, endpoint, scale, now: formatTimestamp(endpoint.runtime.clock.now()) };
  const { uid, change } =
    verb === "update" ? await readReplacement(edit) : { uid: undefined, change: await readPatchOfScale(edit) };
  const outcome = await servedStore.update(
    context,
    namespace,
    name,
    {
      subresource: "scale",
      ...(uid === undefined ? {} : { uid }),
      transform: (current) => context.inParts(change(current)),
    },
    { dryRun: isDryRun(options) },
  );
  return await objectResponse(context, 200, scaleOf(outcome.object.decode(), scale), scaleColumns, output);
};

const unsupported = ({ definition }: InstalledResource, verb: string) =>
  verbNotSupportedError(groupResourceOf(definition), verb);

type EditInput = {
  readonly context: RequestContext;
  readonly resource: InstalledResource;
  readonly endpoint: EndpointContext;
  readonly scale: ScaleSubresource;
  readonly now: Timestamp;
};

async function readReplacement(input: EditInput): Promise<{ readonly uid: string; readonly change: ScaleEdit }> {
  const { context, endpoint, resource } = input;
  const options = updateOptionsOf(context.request.query);
  const errors = validateUpdateOptions(options);
  if (errors.length > 0) throw invalidObjectError({ group: "meta.k8s.io", kind: "UpdateOptions" }, "", errors);
  const body = await readBody(context, endpoint, () => true);
  const decoded = await decodeBody(context, body, scaleKind, options.fieldValidation);
  const wanted = inNamespaceOfPath(decoded, resource.definition, context);
  context.audit.setRequestObject(wanted);
  return { uid: wanted.metadata.uid ?? "", change: (current) => updated(current, wanted, input) };
}

async function readPatchOfScale(input: EditInput): Promise<ScaleEdit> {
  const { context, endpoint, resource, scale } = input;
  const { request } = context;
  // As for the object: custom resources take no strategic merge patch, although Scale is a built-in kind.
  const patchType = negotiatePatchType(headerOf(request, "content-type"), resource.definition);
  const options = patchOptionsOf(request.query);
  const errors = validatePatchOptions(options, patchType);
  if (errors.length > 0) throw invalidObjectError({ group: "meta.k8s.io", kind: "PatchOptions" }, "", errors);
  const bytes = await request.body(endpoint.limits.bodyBytes);
  context.weigh(bytes.length);
  const yaml = patchType === APPLY_PATCH ? await readYamlInThread(context, bytes) : undefined;
  context.audit.setRequestObject(() => auditedPatch(patchType, bytes, yaml));
  if (patchType === APPLY_PATCH) return applyOf(input, { bytes, format: "yaml", yaml }, options.force ?? false);
  const { fieldValidation } = options;
  // A missing object is reported before the patch is checked.
  let patch: Patch | undefined;
  return function* (current) {
    patch ??= yield* readPatch({ patchType, bytes, fieldValidation }, scaleKind.schema);
    yield;
    const scaled = patchedScale(current, scale);
    const applied = yield* patch.apply(scaled);
    yield;
    const patched = yield* asObject(applied, scaleKind, { context, fieldValidation }, patch, scaled);
    return yield* updated(current, patched, input);
  };
}

function applyOf(input: EditInput, body: Body, force: boolean): ScaleEdit {
  let edit: ScaleEdit | undefined;
  return function* (live) {
    edit ??= yield* readConfiguration(input, body, force);
    return yield* edit(live);
  };
}

function* readConfiguration(input: EditInput, body: Body, force: boolean): Steps<ScaleEdit> {
  const { context, resource, scale, now } = input;
  const { definition, fieldManager } = resource;
  const wanted = yield* decodeObject(context, body, scaleKind, "Warn");
  checkNameOfPath(wanted, context);
  const manager = fieldManagerOf(patchOptionsOf(context.request.query).fieldManager, context.request);
  // Applying a scale applies one field of the object.
  const applied = withReplicas(
    { apiVersion: formatApiVersion(definition), kind: definition.kind, metadata: { name: context.info.name } },
    wanted,
    scale,
  );
  return function* (live) {
    checkVersion(live, wanted, resource);
    return yield* fieldManager.applyInSteps({ live, applied, manager, force, subresource: "scale", now });
  };
}

function* updated(
  current: KubeObject,
  wanted: KubeObject,
  { context, resource, scale, now }: EditInput,
): Steps<KubeObject> {
  checkNameOfPath(wanted, context);
  checkVersion(current, wanted, resource);
  const next = withReplicas(current, wanted, scale);
  const manager = fieldManagerOf(updateOptionsOf(context.request.query).fieldManager, context.request);
  return yield* resource.fieldManager.updateInSteps({ live: current, next, manager, subresource: "scale", now });
}

function scaleOf(object: KubeObject, scale: ScaleSubresource): KubeObject {
  const wanted = valueAtPath(object, splitFieldPath(scale.specReplicasPath));
  if (wanted === undefined) {
    throw internalError(`the spec replicas field ${JSON.stringify(scale.specReplicasPath)} does not exist`);
  }
  // As in its Go type, no replicas are an empty spec.
  return scaleWith(wanted === 0 ? {} : { replicas: wanted }, object, scale);
}

/** The lowest int32 marks an unset number, as upstream. */
const UNSET_REPLICAS = -(2 ** 31);

/** The scale that a patch is applied to. */
const patchedScale = (object: KubeObject, scale: ScaleSubresource): KubeObject =>
  scaleWith({ replicas: valueAtPath(object, splitFieldPath(scale.specReplicasPath)) ?? UNSET_REPLICAS }, object, scale);

function scaleWith(spec: JsonObject, object: KubeObject, scale: ScaleSubresource): KubeObject {
  const actual = valueAtPath(object, splitFieldPath(scale.statusReplicasPath));
  const { labelSelectorPath } = scale;
  const selector =
    scale.selectorText?.(object) ??
    (labelSelectorPath === undefined ? "" : valueAtPath(object, splitFieldPath(labelSelectorPath)));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const meta = { name, namespace, uid, resourceVersion, creationTimestamp };
  return {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined)),
    spec,
    status: { replicas: actual ?? 0, ...(typeof selector === "string" && selector !== "" ? { selector } : {}) },
  };
}

/** Throws 409 for a Scale that was read before the object changed; without a version there is nothing to compare. */
function checkVersion(current: KubeObject, wanted: KubeObject, { definition }: InstalledResource): void {
  const { resourceVersion = "" } = wanted.metadata;
  if (resourceVersion === "" || resourceVersion === current.metadata.resourceVersion) return;
  throw conflictError(groupResourceOf(definition), current.metadata.name ?? "", STALE_RESOURCE_VERSION);
}

function withReplicas(object: KubeObject, wanted: KubeObject, scale: ScaleSubresource): KubeObject {
  const replicas = replicasOf(wanted["spec"]);
  if (replicas === UNSET_REPLICAS) {
    throw badRequestError(`the spec replicas field ${JSON.stringify(scale.specReplicasPath)} cannot be empty`);
  }
  // Other kinds are refused by the check of their own field.
  if (replicas < 0 && scale.checksSpec === true) {
    throw invalidObjectError(scaleKind, object.metadata.name ?? "", [
      invalidError("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  // Only a member below the top level changes, so it stays an object of its kind.
  return withValueAtPath(object, splitFieldPath(scale.specReplicasPath), replicas) as JsonObject as KubeObject;
}

/** A Scale without replicas asks for none, as its Go type has it. Decoding has let only numbers through. */
const replicasOf = (spec: JsonValue | undefined): number =>
  isJsonObject(spec) && typeof spec["replicas"] === "number" ? spec["replicas"] : 0;
