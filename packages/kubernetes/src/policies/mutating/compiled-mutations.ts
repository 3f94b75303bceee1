// The compiled expressions of a MutatingAdmissionPolicy.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go, pkg/cel/mutation/typeresolver.go

import type { Steps } from "@postern/apimachinery/steps/steps";
import { type FieldError, indexPath } from "@postern/apimachinery/validation/field-error";
import type { CelType } from "@postern/cel/cel-type";
import type { CelMessages } from "@postern/cel/check-cel";
import { type CompiledPolicy, compileExpression, compilePolicy } from "../compiled-policy.ts";
import type { CompiledExpression } from "../evaluate-expression.ts";
import type { MutatingPolicy } from "./mutating-admission-policy.ts";

export type Mutation = CompiledExpression & { readonly text: string; readonly patchType: PatchType };
export type CompiledMutations = Pick<CompiledPolicy, "matchConditions" | "variables"> & {
  readonly mutations: readonly Mutation[];
};

/** The type of a patch, the member that has its expression, and the type of that. */
export const PATCH_TYPES = {
  ApplyConfiguration: { member: "applyConfiguration", type: "Object" },
  JSONPatch: { member: "jsonPatch", type: "list(JSONPatch)" },
} as const;
type PatchType = keyof typeof PATCH_TYPES;

const DYN: CelType = { kind: "dyn" };
const STRING: CelType = { kind: "string" };
const PATCH_FIELDS: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ["op", STRING],
  ["path", STRING],
  ["from", STRING],
  ["value", DYN],
]);

/** Objects are of `Object`, or of a path of fields from there; any field is known. */
const patchMessages: CelMessages = (name) => {
  if (name === "JSONPatch") return (field) => PATCH_FIELDS.get(field);
  return name === "Object" || name.startsWith("Object.") ? () => DYN : undefined;
};

export const isPatchType = (text: string): text is PatchType => Object.hasOwn(PATCH_TYPES, text);

/** Mutations know the name also in a policy without variables. */
const NO_VARIABLES: CelType = { kind: "object", fields: new Map() };

/** A step for each expression. */
export function* compileMutations(
  { spec = {} }: MutatingPolicy,
  hasParams = true,
): Steps<{ readonly compiled: CompiledMutations; readonly faults: readonly FieldError[] }> {
  const { variables = [], matchConditions = [], mutations = [] } = spec;
  const named = yield* compilePolicy({ spec: { variables, matchConditions } }, hasParams);
  const faults = [...named.faults];
  const compiled: Mutation[] = [];
  for (const [index, mutation] of mutations.entries()) {
    const { patchType } = mutation;
    if (!isPatchType(patchType)) continue;
    const { member, type } = PATCH_TYPES[patchType];
    const text = mutation[member]?.expression ?? "";
    if (text.trim() === "") continue;
    yield;
    const path = `${indexPath("spec.mutations", index)}.${member}.expression`;
    const expression = compileExpression(
      text,
      path,
      {
        wanted: [],
        exactly: type,
        messages: patchMessages,
        place: "policy",
        known: named.known ?? NO_VARIABLES,
        hasParams,
      },
      faults,
    );
    if (expression !== undefined) compiled.push({ patchType, text, expression });
  }
  const { matchConditions: conditions, variables: compiledVariables } = named.compiled;
  return {
    compiled: { matchConditions: conditions, variables: compiledVariables, mutations: compiled },
    faults,
  };
}
