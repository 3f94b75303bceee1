// All validation of an object before it is stored: metadata, schema, lists, scale, and the resource's own.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { validateListTypes } from "@postern/apimachinery/schema/list-type";
import { validateEmbeddedResources } from "@postern/apimachinery/schema/validate-embedded-resources";
import { SchemaValidationTooLongError } from "@postern/apimachinery/schema/validate-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { type FieldError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import {
  FINALIZER_DELETE_DEPENDENTS,
  FINALIZER_ORPHAN_DEPENDENTS,
  metaFaultsOf,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "@postern/apimachinery/validation/object-meta";
import { nameIsDNSSubdomain } from "@postern/apimachinery/validation/object-name";
import { jsonOf } from "@postern/structured-merge/managedfields/object-managed-fields";
import type { RequestContext } from "../../context/request-context.ts";
import { systemUser } from "../../context/system-context.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import { groupKindOf, type StoreContext } from "./store-context.ts";
import { validateScaleFields } from "./validate-scale-fields.ts";

/** Throws 422 with every fault found. */
export async function validateNewObject(
  store: StoreContext,
  object: KubeObject,
  context: RequestContext,
): Promise<void> {
  if (context.isLong) await context.pause();
  const isPlain = store.validator.isPlain(object);
  const faults = isPlain ? [] : await schemaErrors(store, context, object);
  const checked = context.inParts(newObjectChecks(store, object, isPlain, faults));
  const errors = checked instanceof Promise ? await checked : checked;
  if (context.isLong) await context.pause();
  const found = store.strategy.validate?.(object, context) ?? [];
  errors.push(...(found instanceof Promise ? await found : found));
  if (context.isLong) await context.pause();
  if (store.definition.rules !== undefined)
    errors.push(...(await brokenRules(store, object, undefined, errors, context)));
  refuse(store, object, errors);
}

function* newObjectChecks(
  store: StoreContext,
  object: KubeObject,
  isPlain: boolean,
  schemaFaults: readonly FieldError[],
): Steps<FieldError[]> {
  const errors = [...validateObjectMeta(object.metadata, metaRules(store))];
  yield;
  errors.push(...validateBuiltinFinalizers(store, object), ...schemaFaults, ...validateScale(store, object, ""));
  if (isPlain) return errors;
  yield;
  errors.push(...validateEmbeddedResources(object, store.definition.schema, ""));
  yield;
  errors.push(...validateLists(store, object));
  return errors;
}

/** As `validateNewObject`; faults of parts that were there before and did not change are let through. */
export async function validateChangedObject(
  store: StoreContext,
  object: KubeObject,
  old: KubeObject,
  context: RequestContext,
  subresource: string,
): Promise<void> {
  if (context.isLong) await context.pause();
  const metaFaults = metaFaultsOf(object.metadata, "metadata");
  const changes = [
    ...validateObjectMetaUpdate(object.metadata, old.metadata, "metadata", metaFaults),
    ...validateBuiltinFinalizers(store, object),
  ];
  if (context.isLong) await context.pause();
  const isPlain = store.validator.isPlain(object);
  const faults = isPlain ? [] : await schemaErrors(store, context, object, old);
  const checked = context.inParts(
    checksOf(
      () => validateObjectMeta(object.metadata, metaRules(store), metaFaults),
      // Upstream's registry and its strategies both check this, and both are heard: each fault is two causes.
      () => changes,
      () => changes,
      () => faults,
      () => validateScale(store, object, subresource),
      ...(isPlain
        ? []
        : [
            () => validateEmbeddedResources(object, store.definition.schema, ""),
            () => validateChangedLists(store, object, old),
          ]),
    ),
  );
  const errors = checked instanceof Promise ? await checked : checked;
  if (context.isLong) await context.pause();
  const found = store.strategy.validateUpdate?.(object, old, context) ?? [];
  errors.push(...(found instanceof Promise ? await found : found));
  if (context.isLong) await context.pause();
  if (store.definition.rules !== undefined) errors.push(...(await brokenRules(store, object, old, errors, context)));
  refuse(store, object, errors);
}

/** Schemas of tenants multiply with their objects: what is looked at while everybody waits, in steps of a pattern, for some milliseconds. */
const MOST_STEPS_AT_ONCE = 800_000;
/** Where there are no threads. */
const MOST_STEPS = 40_000_000;

/** `at` is the field that was looked at last; "" for the whole object. */
const takesTooLong = (at: string): readonly FieldError[] => [
  {
    type: "FieldValueInvalid",
    field: at === "" ? "<nil>" : at,
    message: 'Invalid value: "null": checking the object against its schema takes too long',
  },
];

/** Schema errors of an object, or of a change of `old`. */
export const schemaErrors = (
  store: StoreContext,
  context: RequestContext,
  object: KubeObject,
  old?: KubeObject,
): Awaitable<readonly FieldError[]> =>
  !context.isLong && store.validator.isPlain(object) ? NO_FAULTS : findSchemaErrors(store, context, object, old);

const NO_FAULTS: readonly FieldError[] = [];

async function findSchemaErrors(
  { validator, definition: { schema } }: StoreContext,
  context: RequestContext,
  object: KubeObject,
  old: KubeObject | undefined,
): Promise<readonly FieldError[]> {
  const check = (most: number): readonly FieldError[] | { readonly tooLongAt: string } => {
    try {
      return old === undefined ? validator.validate(object, { most }) : validator.validateUpdate(object, old, { most });
    } catch (error) {
      if (error instanceof SchemaValidationTooLongError) return { tooLongAt: error.field };
      throw error;
    }
  };
  if (context.isLong) await context.pause();
  const found = check(MOST_STEPS_AT_ONCE);
  if (!("tooLongAt" in found)) return found;
  const inThread = context.runInThread("checkSchema", () => ({
    schema,
    object: stringifyJson(jsonOf(object)),
    old: old && stringifyJson(jsonOf(old)),
  }));
  // The schema of a tenant does not govern changes by the server itself.
  if (inThread === undefined && context.user === systemUser) return [];
  const checked = inThread === undefined ? check(MOST_STEPS) : await inThread;
  return "tooLongAt" in checked ? takesTooLong(checked.tooLongAt) : checked;
}

function* checksOf(...checks: readonly (() => readonly FieldError[])[]): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  for (const check of checks) {
    errors.push(...check());
    yield;
  }
  return errors;
}

const validateScale = (
  { definition: { scale } }: StoreContext,
  object: KubeObject,
  subresource: string,
): readonly FieldError[] => (scale === undefined ? [] : validateScaleFields(object, scale, subresource));

const STANDARD_FINALIZERS = ["kubernetes", FINALIZER_ORPHAN_DEPENDENTS, FINALIZER_DELETE_DEPENDENTS];

/**
 * Of built-in kinds a finalizer without a domain is one of the few that Kubernetes has; CustomResourceDefinitions are not held to that.
 * Source: pkg/apis/core/validation/validation.go
 */
const validateBuiltinFinalizers = (
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
const validateLists = ({ definition }: StoreContext, { metadata: _, ...rest }: KubeObject): readonly FieldError[] =>
  definition.strategicMergePatch === true ? [] : validateListTypes(rest, definition.schema, "");

/** Duplicates may stay where there were some before: a schema may have become stricter since. */
function validateChangedLists(store: StoreContext, object: KubeObject, old: KubeObject): readonly FieldError[] {
  const errors = validateLists(store, object);
  return errors.length > 0 && validateLists(store, old).length > 0 ? [] : errors;
}

const metaRules = ({ definition, strategy }: StoreContext) => ({
  requiresNamespace: definition.namespaced,
  validateName: strategy.validateName ?? nameIsDNSSubdomain,
  path: "metadata",
});

/** Faults after which a rule might stumble over what it takes for granted. */
const BLOCKING = new Set<string>([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const RULES_NOT_CHECKED: FieldError = {
  type: "FieldValueInvalid",
  field: "<nil>",
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to ' +
    "complete validation",
};

/** Highest cost of rules that run while all other requests wait, in the units of their budgets: some milliseconds. */
const MOST_RULES_AT_ONCE = 20_000;

/** Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go (hasBlockingErr) */
async function brokenRules(
  { definition: { rules, ruleSchema } }: StoreContext,
  object: KubeObject,
  old: KubeObject | undefined,
  errors: readonly FieldError[],
  context: RequestContext,
): Promise<readonly FieldError[]> {
  if (rules === undefined) return NO_FAULTS;
  if (errors.some(({ type }) => BLOCKING.has(type))) return [RULES_NOT_CHECKED];
  const warn = (text: string): void => context.warnings.add(text);
  const broken = rules(object, old, warn, ruleSchema === undefined ? undefined : MOST_RULES_AT_ONCE);
  if (broken !== undefined || ruleSchema === undefined) return broken ?? [];
  // Long evaluations start again in a thread, where they block no requests.
  const work = () => ({
    schema: ruleSchema,
    object: stringifyJson(jsonOf(object)),
    old: old && stringifyJson(jsonOf(old)),
  });
  const checked = await context.runInThread("checkRules", work);
  checked?.warnings.forEach(warn);
  if (checked !== undefined) return checked.errors;
  // As above: controllers have no thread, and everybody would wait for them.
  if (context.user === systemUser) return [];
  return rules(object, old, warn) ?? [];
}

function refuse(store: StoreContext, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObjectError(groupKindOf(store), object.metadata.name ?? "", errors);
}
