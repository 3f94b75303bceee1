// Definitions that are stored, with rules that would not be taken any more.

import { runSteps } from "@postern/apimachinery/steps/steps";
import { expect, it } from "vitest";
import { createCompiledDefinitions } from "./compiled-definitions.ts";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

const definition = (rule: string) =>
  ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { size: { type: "string" } } } },
              "x-kubernetes-validations": [{ rule, message: "is refused" }],
            },
          },
        },
      ],
    },
    // Only the fields that compiling looks at.
  }) as unknown as CustomResourceDefinition;

const AT = "spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0].rule";

it.each([
  ["a constant that cannot be converted", "int('abc') == 3", "program instantiation failed: type conversion error"],
  [
    "a pattern that cannot be compiled",
    "self.spec.size.find('[') == ''",
    "program instantiation failed: error parsing",
  ],
  ["a format that does not fit", "'%d'.format(['x']) == ''", "compilation failed: ERROR: <input>:1:14: error during"],
  [
    "a list of several types",
    "[dyn(1), 2].size() == 2",
    "compilation failed: ERROR: <input>:1:10: expected type 'dyn'",
  ],
  ["a rule that costs too much", "self.spec.size.contains(self.spec.size)", "estimated rule cost"],
])("a new definition with %s is refused, a stored one is served with its rule", (_name, rule, why) => {
  const compiled = createCompiledDefinitions();
  const faults = runSteps(compiled.faultsOf(definition(rule)));
  expect(faults[0]?.field).toBe(AT);
  expect(faults[0]?.message).toContain(why);
  using taken = compiled.take(definition(rule));
  expect(taken.definitions.map(({ rules }) => typeof rules)).toEqual(["function"]);
  expect(runSteps(compiled.faultsOf(definition(rule)))).toEqual([]);
});

it("a stored definition with a rule that cannot be evaluated is not served", () => {
  const compiled = createCompiledDefinitions();
  expect(() => compiled.take(definition("self.nobody == 1"))).toThrow("undefined field 'nobody'");
});
