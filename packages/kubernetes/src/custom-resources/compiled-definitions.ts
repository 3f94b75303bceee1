// Compiled definitions, shared by all API surfaces with a definition of the same text.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { APIEXTENSIONS_GROUP, type CustomResourceDefinition } from "./custom-resource-definition.ts";
import { type CompiledCrd, compileCrd } from "./definition-from-crd.ts";
import { validateDefaults } from "./validate-defaults.ts";

export type CompiledDefinition = Disposable & {
  /** Equal for definitions that are the same. */
  readonly text: string;
  readonly definitions: readonly ResourceDefinition[];
};

export type CompiledDefinitions = {
  /** Errors in all versions: schemas that are not structural, rules that do not compile, and invalid defaults. */
  faultsOf(definition: CustomResourceDefinition): Steps<readonly FieldError[]>;
  /** Kept until all users have disposed it. Throws ApiError 422 if there are errors with which it cannot be served. */
  take(definition: CustomResourceDefinition): CompiledDefinition;
  /** Number of different definitions in use. */
  readonly size: number;
};

/** A definition is compiled when it is validated, and used a moment later: this many are kept in between. */
const MAX_RECENT = 8;

/** The text is that of the first one, so that a thousand clusters share it. */
type Taken = Pick<CompiledDefinition, "text" | "definitions"> & { users: number };

export function createCompiledDefinitions(): CompiledDefinitions {
  const taken = new Map<string, Taken>();
  const recent = new Map<string, CompiledCrd>();

  function* compile(definition: CustomResourceDefinition, text: string): Steps<CompiledCrd> {
    const known = taken.get(text);
    if (known !== undefined) return { definitions: known.definitions, faults: [], isServable: true, schemas: [] };
    const compiled = recent.get(text) ?? (yield* compileCrd(definition));
    recent.delete(text);
    recent.set(text, compiled);
    const [oldest] = recent.keys();
    if (recent.size > MAX_RECENT && oldest !== undefined) recent.delete(oldest);
    return compiled;
  }

  return {
    *faultsOf(definition) {
      const { faults, schemas } = yield* compile(definition, stringifyJson(definition.spec));
      const ofDefaults: FieldError[] = [];
      // Does not apply to definitions in use: stored definitions are served as they are.
      for (const { schema, path } of schemas) ofDefaults.push(...(yield* validateDefaults(schema, path)));
      return [...faults, ...ofDefaults];
    },
    take(definition) {
      const text = stringifyJson(definition.spec);
      const { definitions, faults, isServable } = runSteps(compile(definition, text));
      if (!isServable) {
        const kind = { group: APIEXTENSIONS_GROUP, kind: definition.kind };
        throw invalidObjectError(kind, definition.metadata.name ?? "", faults);
      }
      const entry = taken.get(text) ?? { text, definitions, users: 0 };
      taken.set(text, entry);
      recent.delete(text);
      entry.users++;
      let isTaken = true;
      return {
        text: entry.text,
        definitions: entry.definitions,
        [Symbol.dispose]() {
          if (!isTaken) return;
          isTaken = false;
          entry.users--;
          if (entry.users === 0) taken.delete(text);
        },
      };
    },
    get size() {
      return taken.size;
    },
  };
}
