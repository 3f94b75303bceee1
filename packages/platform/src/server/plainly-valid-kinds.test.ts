import { findingsOfWalks } from "@postern/apimachinery/schema/testing/findings-of-walks";
import { valuesOf } from "@postern/apimachinery/schema/testing/values-of-schema";
import { createSchemaValidator } from "@postern/apimachinery/schema/validation/validate-schema";
import { createTestCluster } from "@postern/kubernetes/builtin/testing/test-cluster";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createTenancy } from "./testing/tenancy.ts";

it("an object of any kind that passes the quick check is unchanged and valid", async () => {
  await using tenancy = await createTenancy();
  await using cluster = await createTestCluster();
  const definitions = [...tenancy.definitions(), ...cluster.port.resources.all.map(({ definition }) => definition)];
  expect(definitions.length).toBeGreaterThan(30);
  let plain = 0;
  for (const { kind, schema } of definitions) {
    const { isPlain } = createSchemaValidator(schema);
    fc.assert(
      fc.property(valuesOf(schema), (value) => {
        if (!isPlain(value)) return;
        plain++;
        expect(findingsOfWalks(value, schema), kind).toEqual([]);
      }),
      { numRuns: 60 },
    );
  }
  expect(plain).toBeGreaterThan(definitions.length);
});
