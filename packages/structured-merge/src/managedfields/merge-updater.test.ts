// Scenarios of structured-merge-diff v6.4.2, merge/*_test.go.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { describe, expect, it } from "vitest";
import { EMPTY_FIELD_SET, type FieldSet, recursiveDifference } from "../fieldpath/field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { mergeValues } from "../typed/merge-values.ts";
import { extractItems } from "../typed/remove-items.ts";
import { schemaFromNotation } from "../typed/testing/schema-from-notation.ts";
import { DEDUCED, type TypedSchema } from "../typed/typed-schema.ts";
import { TypedValueError } from "../typed/typed-value-error.ts";
import { validateValue } from "../typed/validate-value.ts";
import { MergeConflictError } from "./merge-conflict-error.ts";
import { createMergeUpdater, type MergeUpdater } from "./merge-updater.ts";
import schemas from "./testdata/merge-scenario-schemas.json" with { type: "json" };
import scenarios from "./testdata/merge-scenarios.json" with { type: "json" };
import type { Owners } from "./versioned-set.ts";

type Scenario = any;

function schemaOf(scenario: Scenario): TypedSchema {
  if (scenario.schemaless) return DEDUCED;
  const type: any = Object.values(scenario.types)[0];
  return schemaFromNotation((schemas as any)[type.smdSchemaRef], type.typeRef.namedType);
}

/** Upstream's own filter in merge/ignore_test.go leaves `.obj` out. */
function trackOf(scenario: Scenario): (set: FieldSet) => FieldSet {
  const ignored: any = scenario.ignoreFilter ? { "f:obj": {} } : Object.values(scenario.ignoredFields ?? {})[0];
  const set = ignored === undefined ? EMPTY_FIELD_SET : parseFieldsV1(ignored);
  return (tracked) => recursiveDifference(tracked, set);
}

const describeOwners = (owners: Owners) =>
  Object.fromEntries(
    [...owners].map(([id, { apiVersion, applied, set }]) => [id, { apiVersion, applied, fields: toFieldsV1(set) }]),
  );

describe("merge updater", () => {
  it.each(scenarios.cases as Scenario[])("follows upstream: $id", (scenario) => {
    let schema = schemaOf(scenario);
    const track = trackOf(scenario);
    let updater: MergeUpdater = createMergeUpdater({ schema, track });
    let live: JsonValue = {};
    let untouched = true;
    let owners: Owners = new Map();

    const apply = (step: any, applied: JsonValue, force: boolean): void => {
      const { manager, apiVersion } = step;
      const result = updater.apply({ live, applied, owners, manager, apiVersion, force });
      owners = result.owners;
      if (result.object !== undefined) live = result.object;
      untouched = false;
    };

    const run = (step: any): void => {
      const { op, manager, apiVersion, object } = step;
      switch (op) {
        case "changeSchema": {
          const type: any = Object.values(scenario.types)[0];
          schema = schemaFromNotation(step.schema, type.typeRef.namedType);
          updater = createMergeUpdater({ schema, track });
          return;
        }
        case "update":
          validateValue(object, schema, { allowDuplicates: true });
          owners = updater.update({ live, next: object, owners, manager, apiVersion });
          live = object;
          untouched = false;
          return;
        case "extractApply": {
          validateValue(object, schema);
          const owned = owners.get(manager)?.set ?? EMPTY_FIELD_SET;
          apply(step, mergeValues(extractItems(live, owned, schema), object, schema), true);
          return;
        }
        default:
          validateValue(object, schema);
          apply(step, object, op === "forceApply");
      }
    };

    for (const step of scenario.steps) {
      const { expect: expected } = step;
      if (expected.conflicts !== undefined) {
        let conflict: unknown;
        try {
          run(step);
        } catch (error) {
          conflict = error;
        }
        expect(conflict).toBeInstanceOf(MergeConflictError);
        expect((conflict as Error).message).toBe(expected.conflictMessage);
      } else if (expected.error !== undefined) {
        expect(() => run(step)).toThrow(TypedValueError);
        expect(() => run(step)).toThrow(expected.error);
      } else run(step);
      expect(untouched && expected.live === null ? null : live).toEqual(expected.live);
      expect(describeOwners(owners)).toEqual(
        Object.fromEntries(
          Object.entries<any>(expected.managers).map(([id, owned]) => [
            id,
            { ...owned, fields: toFieldsV1(parseFieldsV1(owned.fields)) },
          ]),
        ),
      );
    }
  });
});
