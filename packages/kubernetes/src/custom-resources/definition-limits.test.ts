import { oneStep, runSteps } from "@postern/apimachinery/steps/steps";
import { describe, expect, it } from "vitest";
import { definitionManifest, definitionVersion } from "./testing/definition-manifest.ts";
import { validateDefinitionUpdate, validateNewDefinition } from "./validate-custom-resource-definition.ts";

const checks = { faultsOf: () => oneStep(() => []) };
const names = { group: "example.com", kind: "Widget", plural: "widgets" };
const version = (name: string, changes: object = {}) => ({
  ...definitionVersion(name, { type: "object" }),
  storage: name === "v1",
  ...changes,
});
const faultsOf = (...versions: object[]): readonly string[] =>
  runSteps(validateNewDefinition(definitionManifest(names, ...versions) as any, checks)).map(
    ({ field, message }) => `${field}: ${message}`,
  );
const columns = (count: number, jsonPath = ".spec.a") =>
  Array.from({ length: count }, (_, i) => ({ name: `C${i}`, type: "string", jsonPath }));

/** Every field below `.spec` is a text. */
const selectable = (count: number) => ({
  selectableFields: Array.from({ length: count }, (_, i) => ({ jsonPath: `.spec.f${i}` })),
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", additionalProperties: { type: "string" } } },
    },
  },
});

describe("a CustomResourceDefinition is refused with", () => {
  it.each<[string, object[], RegExp]>([
    [
      "5,000 columns",
      [version("v1", { additionalPrinterColumns: columns(5_000) })],
      /^spec\.additionalPrinterColumns: .*5000.*at most 100 items/,
    ],
    [
      "101 columns in its second version",
      [version("v1"), version("v2", { additionalPrinterColumns: columns(101) })],
      /^spec\.versions\[1\]\.additionalPrinterColumns: .*at most 100 items/,
    ],
    [
      "21 versions",
      Array.from({ length: 21 }, (_, i) => version(`v${i + 1}`)),
      /^spec\.versions: .*21.*at most 20 items/,
    ],
    ["9 selectable fields", [version("v1", selectable(9))], /^spec\.selectableFields: .*at most 8 items/],
    [
      "all descendants in a filter",
      [version("v1", { additionalPrinterColumns: columns(1, ".spec.a[?(@........x)]") })],
      /additionalPrinterColumns\[0\]\.jsonPath: .*must not contain "\.\."/,
    ],
    [
      "all descendants in a comparison",
      [version("v1", { additionalPrinterColumns: columns(1, ".spec.a[?(@..x=='..')]") })],
      /must not contain "\.\."/,
    ],
    [
      "a long column path",
      [version("v1", { additionalPrinterColumns: columns(1, `.${"a".repeat(1_100)}`) })],
      /jsonPath: .*must have at most 1024 characters/,
    ],
    [
      "a column path of many steps",
      [version("v1", { additionalPrinterColumns: columns(1, ".a".repeat(65)) })],
      /jsonPath: .*must have at most 64 steps/,
    ],
    [
      "a selectable path of many steps",
      [version("v1", { selectableFields: [{ jsonPath: ".a".repeat(65) }] })],
      /selectableFields\[0\]\.jsonPath: .*must have at most 64 steps/,
    ],
    ...(["specReplicasPath", "statusReplicasPath", "labelSelectorPath"] as const).map(
      (name): [string, object[], RegExp] => [
        `a long ${name}`,
        [
          version("v1", {
            subresources: {
              scale: {
                specReplicasPath: ".spec.n",
                statusReplicasPath: ".status.n",
                [name]: `.s${name.slice(1, 2) === "p" ? "pec" : "tatus"}${".a".repeat(65)}`,
              },
            },
          }),
        ],
        new RegExp(`subresources\\.scale\\.${name}: .*must have at most 64 steps`),
      ],
    ),
  ])("%s", (_, versions, expected) => expect(faultsOf(...versions)).toContainEqual(expect.stringMatching(expected)));
});

it("accepts as many columns, versions and fields as the limits allow", () => {
  const versions = Array.from({ length: 20 }, (_, i) =>
    version(`v${i + 1}`, {
      additionalPrinterColumns: columns(100, ".status.conditions[?(@.type=='a..b')].status"),
      ...selectable(8),
    }),
  );
  expect(faultsOf(...versions)).toEqual([]);
});

it("does not hold versions from before the limits to them until they change", () => {
  const old = definitionManifest(names, version("v1", { additionalPrinterColumns: columns(200) })) as any;
  const before = { ...old, status: { storedVersions: ["v1"] } };
  const relabelled = { ...before, metadata: { ...before.metadata, labels: { a: "b" } } };
  expect(runSteps(validateDefinitionUpdate(relabelled, before, checks))).toEqual([]);
  const grown = {
    ...before,
    spec: { ...before.spec, versions: [version("v1", { additionalPrinterColumns: columns(201) })] },
  };
  expect(runSteps(validateDefinitionUpdate(grown, before, checks))).toHaveLength(1);
});
