// Namespaces: where objects live, and what keeps one until it is empty.
// Source: k8s.io/kubernetes/pkg/registry/core/namespace/{strategy.go,storage/storage.go}

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { qualifiedFaults } from "../field-checks.ts";
import { NAMESPACE_FINALIZER, namespaceFinalizersOf } from "./namespace-finalizers.ts";

const conditionSchema = s.object({
  type: s.string().required(),
  status: s.string().required(),
  lastTransitionTime: s.timestamp(),
  reason: s.string(),
  message: s.string(),
});

const namespaceFields = s.object({
  spec: s.object({
    finalizers: s.list(s.string()),
  }),
  status: s.object({
    phase: s.string(),
    conditions: mergedInPatches(s.listMap(conditionSchema, ["type"]), "type"),
  }),
});

export type Namespace = KindOf<typeof namespaceFields>;

const NAME_LABEL = "kubernetes.io/metadata.name";
const STANDARD_FINALIZERS = [NAMESPACE_FINALIZER];

const strategy: Strategy<Namespace> = {
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  prepareForCreate: (namespace) => ({
    ...withNameLabel(namespace),
    spec: { finalizers: withStandardFinalizer(namespaceFinalizersOf(namespace)) },
    status: { phase: "Active" },
  }),
  validate: (namespace) => validateFinalizers(namespaceFinalizersOf(namespace)),

  prepareForUpdate: (namespace, old, { info }) =>
    info.subresource === "finalize" || info.subresource === "status"
      ? namespace
      : withNameLabel({ ...namespace, ...(old.spec === undefined ? {} : { spec: old.spec }) }),
  validateUpdate: (namespace, _old, { info }) =>
    info.subresource === "status" ? validatePhase(namespace) : validateFinalizers(namespaceFinalizersOf(namespace)),

  /** Upstream marks namespaces by itself, and knows no grace period for them. */
  prepareForDelete: (namespace, { receivedAt }) => ({
    ...namespace,
    metadata: {
      ...namespace.metadata,
      deletionTimestamp: namespace.metadata.deletionTimestamp ?? formatTimestamp(receivedAt),
    },
    status: { ...namespace.status, phase: "Terminating" },
  }),
  isHeld: (namespace) => namespaceFinalizersOf(namespace).length > 0,
};

export const namespaces: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  namespaced: false,
  schema: kindSchema(namespaceFields.schema),
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  hasStatus: true,
  subresources: [
    {
      name: "finalize",
      kind: { group: "", version: "v1", kind: "Namespace" },
      description: "Changes spec.finalizers, and nothing else.",
      verbs: ["update"],
      updates: (submitted, old) => {
        const finalizers = namespaceFinalizersOf(submitted);
        return { ...old, metadata: submitted.metadata, spec: finalizers.length === 0 ? {} : { finalizers } };
      },
    },
  ],
  selectableFields: [".status.phase"],
  columns: [{ name: "Status", type: "string", value: ".status.phase" }, ageColumn],
  strategy,
  setDefaults: (namespace) => ((namespace.metadata.name ?? "") === "" ? namespace : withNameLabel(namespace)),
});

/** Selectors by label can name single namespaces by this one. */
function withNameLabel(namespace: Namespace): Namespace {
  const { name = "", labels } = namespace.metadata;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [NAME_LABEL]: name } } };
}

const withStandardFinalizer = (finalizers: readonly string[]): readonly string[] =>
  finalizers.includes(NAMESPACE_FINALIZER) ? finalizers : [...finalizers, NAMESPACE_FINALIZER];

const validateFinalizers = (finalizers: readonly string[]): readonly FieldError[] =>
  finalizers.flatMap((finalizer, index) => {
    const path = indexPath("spec.finalizers", index);
    const faults = qualifiedFaults(path, finalizer);
    if (faults.length > 0 || finalizer.includes("/") || STANDARD_FINALIZERS.includes(finalizer)) return faults;
    return [invalidError(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")];
  });

function validatePhase({ metadata, status }: KubeObject): readonly FieldError[] {
  const phase = isJsonObject(status) ? (status["phase"] ?? "") : "";
  const isTerminating = isBeingDeleted({ metadata });
  if (isTerminating === (phase === "Terminating") && (isTerminating || phase === "Active")) return [];
  const allowed = isTerminating
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalidError("status.Phase", phase, allowed)];
}
