// The phases that validate an object before it is stored: metadata, schema, lists, scale, and the resource's own rules.

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { validateEmbeddedResources } from "@postern/apimachinery/schema/embedded-objects/validate-embedded-resources";
import { validateListTypes } from "@postern/apimachinery/schema/list-type";
import { type FieldError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import {
  FINALIZER_DELETE_DEPENDENTS,
  FINALIZER_ORPHAN_DEPENDENTS,
  metaFaultsOf,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "@postern/apimachinery/validation/object-meta";
import { nameIsDNSSubdomain } from "@postern/apimachinery/validation/object-name";
import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import type { StoreContext } from "../store-context.ts";
import { brokenRules, schemaFaults } from "./schema-faults.ts";
import { validateScaleFields } from "./validate-scale-fields.ts";
import type { Change, Write, WritePhase } from "./write.ts";

/** Each adds the faults that it finds; the last one throws 422 with all of them. */
const VALIDATE_CONTENT: readonly WritePhase[] = [
  lookWhetherPlain,
  checkSchema,
  checkScale,
  checkEmbedded,
  checkLists,
  checkByStrategy,
  checkRules,
  refuseFaults,
];

export const VALIDATE_NEW: readonly WritePhase[] = [checkMeta, checkFinalizers, ...VALIDATE_CONTENT];

/** Faults of parts that were there before and did not change are let through. */
export const VALIDATE_CHANGE: readonly WritePhase<Change>[] = [checkMeta, checkMetaChange, ...VALIDATE_CONTENT];

function checkMeta(write: Write): void {
  const { store, object, faults } = write;
  write.metaFaults = metaFaultsOf(object.metadata, "metadata");
  faults.push(...validateObjectMeta(object.metadata, metaRules(store), write.metaFaults));
}

function checkFinalizers({ store, object, faults }: Write): void {
  faults.push(...finalizerFaults(store, object));
}

/** Upstream's registry and its strategies both check this, and both are heard: each fault is two causes. */
function checkMetaChange({ store, object, old, metaFaults, faults }: Change): void {
  const found = [
    ...validateObjectMetaUpdate(object.metadata, old.metadata, "metadata", metaFaults),
    ...finalizerFaults(store, object),
  ];
  faults.push(...found, ...found);
}

function lookWhetherPlain(write: Write): void {
  write.isPlain = write.store.validator.isPlain(write.object);
}

export function checkSchema(write: Write): Awaitable<void> {
  if (!write.isPlain) return addFaults(write, schemaFaults(write));
}

function checkScale({ store, object, subresource, faults }: Write): void {
  const { scale } = store.definition;
  if (scale !== undefined) faults.push(...validateScaleFields(object, scale, subresource));
}

function checkEmbedded({ store, object, isPlain, faults }: Write): void {
  if (!isPlain) faults.push(...validateEmbeddedResources(object, store.definition.schema, ""));
}

/** Duplicates may stay where there were some before: a schema may have become stricter since. */
function checkLists({ store, object, old, isPlain, faults }: Write): void {
  if (isPlain) return;
  const found = listFaults(store, object);
  if (found.length > 0 && old !== undefined && listFaults(store, old).length > 0) return;
  faults.push(...found);
}

function checkByStrategy(write: Write): Awaitable<void> {
  const { store, object, old, context } = write;
  const { strategy } = store;
  return addFaults(
    write,
    old === undefined ? strategy.validate?.(object, context) : strategy.validateUpdate?.(object, old, context),
  );
}

function checkRules(write: Write): Awaitable<void> {
  if (write.store.definition.rules !== undefined) return addFaults(write, brokenRules(write));
}

const addFaults = ({ faults }: Write, found: Awaitable<readonly FieldError[] | undefined>): Awaitable<void> =>
  whenDone(found, (more = []) => void faults.push(...more));

function refuseFaults({ store, object, faults }: Write): void {
  if (faults.length > 0)
    throw invalidObjectError(store.definition.storedAs ?? store.definition, object.metadata.name ?? "", faults);
}

const STANDARD_FINALIZERS = ["kubernetes", FINALIZER_ORPHAN_DEPENDENTS, FINALIZER_DELETE_DEPENDENTS];

/**
 * Of built-in kinds a finalizer without a domain is one of the few that Kubernetes has; CustomResourceDefinitions are not held to that.
 * Source: pkg/apis/core/validation/validation.go
 */
const finalizerFaults = (
  { definition: { strategicMergePatch, group } }: StoreContext,
  { metadata: { finalizers = [] } }: KubeObject,
): readonly FieldError[] =>
  strategicMergePatch !== true || group === "apiextensions.k8s.io"
    ? []
    : finalizers.flatMap((finalizer, index) =>
        finalizer.includes("/") || STANDARD_FINALIZERS.includes(finalizer)
          ? []
          : [
              invalidError(
                indexPath("metadata.finalizers", index),
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
              ),
            ],
      );

/** Metadata has rules of its own, which let a finalizer be there twice. Built-in kinds hold their lists to nothing but an apply. */
const listFaults = ({ definition }: StoreContext, { metadata: _, ...rest }: KubeObject): readonly FieldError[] =>
  definition.strategicMergePatch === true ? [] : validateListTypes(rest, definition.schema, "");

const metaRules = ({ definition, strategy }: StoreContext) => ({
  requiresNamespace: definition.namespaced,
  validateName: strategy.validateName ?? nameIsDNSSubdomain,
  path: "metadata",
});
