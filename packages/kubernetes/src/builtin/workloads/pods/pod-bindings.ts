// Bindings: schedulers assign pods to nodes by `pods/<name>/binding`, and old ones by the resource `bindings`.
// Source: k8s.io/kubernetes/pkg/registry/core/pod/storage/storage.go (BindingREST), pkg/apis/core/validation/validation.go (ValidatePodBinding)

import {
  type ApiError,
  badRequestError,
  conflictError,
  invalidObjectError,
} from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, notSupportedError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition, Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import { defineBuiltin } from "../../builtin-resource.ts";
import { objectReference } from "../../core/object-reference.ts";
import { withHeldCondition } from "./pod-conditions.ts";
import { type EvictionDeps, evictionSubresource, type PodStore, SUCCESS } from "./pod-evictions.ts";
import { BINDING_SUBRESOURCE, type Pod, pods } from "./pods.ts";

const bindingFields = s.object({
  target: objectReference.required(),
});
type Binding = KindOf<typeof bindingFields>;

const BINDING = { group: "", version: "v1", kind: "Binding" } as const;

const bindingSubresource = (store: PodStore): Subresource => ({
  name: BINDING_SUBRESOURCE,
  kind: BINDING,
  schema: kindSchema(bindingFields.schema),
  description: "Assigns the pod to a node.",
  // The schema has checked the shape.
  create: async (context, body) => await bind(context, body as Binding, store),
  updates: (submitted) => submitted,
  verbs: [],
});

/** Pods that schedulers assign to nodes, and that are evicted from them. */
export const assignablePods = (evictions: EvictionDeps): ResourceDefinition => ({
  ...pods,
  subresources: [
    ...(pods.subresources ?? []).map((subresource) => ofExistingPod(subresource, evictions.pods)),
    bindingSubresource(evictions.pods),
    evictionSubresource(evictions),
  ],
});

/** A connection to an absent pod is 404. */
function ofExistingPod({ connect, ...subresource }: Subresource, store: PodStore): Subresource {
  if (connect === undefined) return subresource;
  return {
    ...subresource,
    async connect(context) {
      const { namespace, name } = context.info;
      await store().get(context, namespace, name, { resourceVersion: "" });
      return await connect(context);
    },
  };
}

export const bindings = (store: PodStore): ResourceDefinition =>
  defineBuiltin({
    ...BINDING,
    plural: "bindings",
    namespaced: true,
    schema: kindSchema(bindingFields.schema),
    submit: async (context, body) => {
      const { info } = context;
      const name = body.metadata.name ?? "";
      const ofPod = context.with({ info: { ...info, resource: "pods", subresource: BINDING_SUBRESOURCE, name } });
      // As above.
      return await bind(ofPod, body as Binding, store);
    },
  });

async function bind(context: RequestContext, binding: Binding, store: PodStore): Promise<KubeObject> {
  const { name = "", uid = "", resourceVersion = "" } = binding.metadata;
  if (name === "") throw badRequestError("name in URL does not match name in Binding object");
  const faults = validateTarget(binding.target ?? {});
  // Upstream makes no Status of these faults: they are a 500 there, which says that the server failed.
  if (faults.length > 0) throw invalidObjectError(BINDING, name, faults);
  const transform = (pod: KubeObject): KubeObject => {
    if (resourceVersion !== "" && resourceVersion !== pod.metadata.resourceVersion)
      throw staleError(pod, resourceVersion);
    // Stored pods have passed their schema.
    return bound(pod as Pod, binding, formatTimestamp(context.receivedAt));
  };
  await store().update(
    context,
    context.info.namespace,
    name,
    { uid, transform, subresource: BINDING_SUBRESOURCE },
    { dryRun: isDryRun(createOptionsOf(context.request.query)) },
  );
  return SUCCESS;
}

function validateTarget({ kind = "", name = "" }: NonNullable<Binding["target"]>): readonly FieldError[] {
  return [
    ...(kind === "" || kind === "Node" ? [] : [notSupportedError("target.kind", kind, ["Node", "<empty>"])]),
    ...(name === "" ? [requiredError("target.name")] : []),
  ];
}

function bound(pod: Pod, { target, metadata }: Binding, now: string): Pod {
  const { name = "" } = pod.metadata;
  const fault = assignmentFault(pod, name);
  if (fault !== undefined) throw conflictError({ group: "", resource: "pods/binding" }, name, fault);
  const { labels, annotations } = metadata;
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(labels === undefined ? {} : { labels: { ...pod.metadata.labels, ...labels } }),
      ...(annotations === undefined ? {} : { annotations: { ...pod.metadata.annotations, ...annotations } }),
    },
    spec: { ...pod.spec, nodeName: target?.name },
    status: { ...status, conditions: withHeldCondition(status.conditions ?? [], { type: "PodScheduled" }, now) },
  } as Pod;
}

function assignmentFault(pod: Pod, name: string): string | undefined {
  if (isBeingDeleted(pod)) return `pod ${name} is being deleted, cannot be assigned to a host`;
  const { nodeName = "", schedulingGates = [] } = pod.spec ?? {};
  if (nodeName !== "") return `pod ${name} is already assigned to node ${quoteGo(nodeName)}`;
  return schedulingGates.length > 0 ? `pod ${name} has non-empty .spec.schedulingGates` : undefined;
}

const staleError = (pod: KubeObject, wanted: string): ApiError =>
  conflictError(
    { group: "", resource: "pods" },
    pod.metadata.name ?? "",
    `Precondition failed: ResourceVersion in precondition: ${wanted}, ResourceVersion in object meta: ${pod.metadata.resourceVersion ?? ""}`,
  );
