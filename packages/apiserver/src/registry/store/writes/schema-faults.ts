// Faults of an object against its schema, and against the rules of its schema. What would take long is found in a thread, where it blocks no requests.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { SchemaValidationTooLongError } from "@postern/apimachinery/schema/validation/validate-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { jsonOf } from "@postern/structured-merge/managedfields/object-managed-fields";
import { systemUser } from "../../../context/system-context.ts";
import type { Write } from "./write.ts";

/** Schemas of tenants multiply with their objects: what is looked at while everybody waits, in steps of a pattern, for some milliseconds. */
const MOST_STEPS_AT_ONCE = 800_000;
/** Where there are no threads. */
const MOST_STEPS = 40_000_000;

/** `at` is the field that was looked at last; "" for the whole object. */
const takesTooLong = (at: string): readonly FieldError[] => [
  {
    type: "FieldValueInvalid",
    field: at === "" ? "<nil>" : at,
    message: "Invalid value: null: checking the object against its schema takes too long",
  },
];

/** All but those of a large object are found at once. */
export async function schemaFaults({ store, context, object, old }: Write): Promise<readonly FieldError[]> {
  const { validator, definition } = store;
  const check = (most: number): readonly FieldError[] | { readonly tooLongAt: string } => {
    try {
      return old === undefined ? validator.validate(object, { most }) : validator.validateUpdate(object, old, { most });
    } catch (error) {
      if (error instanceof SchemaValidationTooLongError) return { tooLongAt: error.field };
      throw error;
    }
  };
  const found = check(MOST_STEPS_AT_ONCE);
  if (!("tooLongAt" in found)) return found;
  const inThread = context.runInThread("checkSchema", () => ({
    schema: definition.schema,
    object: stringifyJson(jsonOf(object)),
    old: old && stringifyJson(jsonOf(old)),
  }));
  // The schema of a tenant does not govern changes by the server itself.
  if (inThread === undefined && context.user === systemUser) return [];
  const checked = inThread === undefined ? check(MOST_STEPS) : await inThread;
  return "tooLongAt" in checked ? takesTooLong(checked.tooLongAt) : checked;
}

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
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to " +
    "complete validation",
};

/** Highest cost of rules that run while all other requests wait, in the units of their budgets: some milliseconds. */
const MOST_RULES_AT_ONCE = 20_000;

/** Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go (hasBlockingErr) */
export async function brokenRules({ store, context, object, old, faults }: Write): Promise<readonly FieldError[]> {
  const { rules, ruleSchema } = store.definition;
  if (rules === undefined) return [];
  if (faults.some(({ type }) => BLOCKING.has(type))) return [RULES_NOT_CHECKED];
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
