// What definitions compile to, shared by all API surfaces that serve a definition of the same text.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";
import { definitionsFromCrd } from "./definition-from-crd.ts";

export type CompiledDefinition = Disposable & {
  /** Equal for definitions that are the same. */
  readonly text: string;
  readonly definitions: readonly ResourceDefinition[];
};

export type CompiledDefinitions = {
  /** Kept until all who took it have disposed of it. Throws ApiError 422 for a schema that is not structural. */
  take(definition: CustomResourceDefinition): CompiledDefinition;
  /** How many different ones there are. */
  readonly size: number;
};

export function createCompiledDefinitions(): CompiledDefinitions {
  const byText = new Map<string, { readonly definitions: readonly ResourceDefinition[]; users: number }>();
  return {
    take(definition) {
      const text = stringifyJson(definition.spec);
      const compiled = byText.get(text) ?? { definitions: definitionsFromCrd(definition), users: 0 };
      byText.set(text, compiled);
      compiled.users++;
      let isTaken = true;
      return {
        text,
        definitions: compiled.definitions,
        [Symbol.dispose]() {
          if (!isTaken) return;
          isTaken = false;
          compiled.users--;
          if (compiled.users === 0) byText.delete(text);
        },
      };
    },
    get size() {
      return byText.size;
    },
  };
}
