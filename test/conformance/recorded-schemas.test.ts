// Results of upstream's functions for schemas, checked against an embedded virtual cluster over HTTP: one CustomResourceDefinition for each recorded schema,
// and one create for each value. `recorded-functions.test.ts` has the same schemas as fields of one definition, among much else.
// Recordings: the testdata folder beside the functions, made with k8s.io/apiextensions-apiserver 0.32.1.

import { readFile } from "node:fs/promises";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  type PlatformAnswer,
  type RunningPlatform,
  startPlatform,
} from "../../packages/platform/src/testing/running-platform.ts";

type Schema = { readonly [member: string]: any };
type Fault = { readonly field: string; readonly message: string };
type Recorded = {
  readonly id: string;
  readonly kind: "schemaValidation" | "prune" | "default" | "pruneNulls" | "listType";
  readonly schema: Schema;
  readonly value: unknown;
  readonly errors: readonly Fault[];
  readonly out?: unknown;
  readonly isResourceRoot: boolean;
  readonly unknownFieldPaths?: readonly string[] | undefined;
};

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const CRDS = `${CLUSTER}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
const GROUP = "recorded.example.com";
const IN_FLIGHT = 8;
const PATIENCE = { timeout: 60_000, interval: 100 };

async function recordings(file: string): Promise<readonly Recorded[]> {
  const url = new URL(`../../packages/apimachinery/src/schema/testdata/${file}.json`, import.meta.url);
  const { cases } = JSON.parse(await readFile(url, "utf8"));
  return cases.map(({ in: input, object, value, errors, trackUnknownFieldPaths, unknownFieldPaths, ...rest }: any) => ({
    isResourceRoot: false,
    ...rest,
    value: value ?? object ?? input,
    errors: errors ?? [],
    unknownFieldPaths: trackUnknownFieldPaths ? (unknownFieldPaths ?? []) : undefined,
  }));
}

const files = ["13a-schema-validation", "13b-pruning", "13c-defaulting", "13d-list-set-map"];
const cases = (await Promise.all(files.map(recordings))).flat();

/** Completed with the types that a definition needs and the functions do not, as the values have them. */
function structural(schema: Schema, values: readonly any[]): Schema {
  const { type, properties, items, additionalProperties, ...rest } = schema;
  const objects = values.filter((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  const members = (name: string) => objects.flatMap((value) => (name in value ? [value[name]] : []));
  const listed = values.filter(Array.isArray).flat();
  const isList = type === "array" || items !== undefined;
  const inner = {
    ...rest,
    ...(properties === undefined
      ? {}
      : { properties: mapMembers(properties, (each, name) => structural(each, members(name))) }),
    ...(isList ? { items: structural(items ?? {}, listed) } : {}),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: structural(additionalProperties, objects.flatMap(Object.values)) }
      : additionalProperties === undefined
        ? {}
        : { additionalProperties }),
  };
  // The functions give these two types at once.
  if (Array.isArray(type)) return { ...inner, "x-kubernetes-int-or-string": true };
  // Only values of this kind can have a default of another type.
  const isEither = typeof schema["default"] === "string" && values.some((value) => typeof value === "number");
  if (isEither) return { ...inner, "x-kubernetes-int-or-string": true };
  const known = type ?? typeOf(schema, values);
  return known === undefined ? { ...inner, "x-kubernetes-preserve-unknown-fields": true } : { ...inner, type: known };
}

/** Undefined for values of several types. */
function typeOf({ properties, additionalProperties, items }: Schema, values: readonly any[]): string | undefined {
  if (properties !== undefined || additionalProperties !== undefined) return "object";
  if (items !== undefined) return "array";
  const types = new Set(values.filter((value) => value !== null).map(typeOfValue));
  return types.size === 1 ? [...types][0] : undefined;
}

const typeOfValue = (value: unknown): string =>
  Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;

const mapMembers = (object: Schema, map: (value: any, name: string) => unknown): Schema =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value, name)]));

/** By its id: its definition's number. Equal schemas have one definition. */
const definitionOf = new Map<string, number>();
const manifests: object[] = [];
const numbers = new Map<string, number>();
for (const { id, schema, value, isResourceRoot } of cases) {
  const completed = structural(schema, [value]);
  const root = isResourceRoot ? completed : { type: "object", properties: { value: completed } };
  const text = JSON.stringify(root);
  const number = numbers.get(text) ?? manifests.length;
  if (!numbers.has(text)) {
    numbers.set(text, number);
    const names = { group: GROUP, kind: `Schema${number}`, plural: `schemas${number}s` };
    manifests.push(definitionManifest(names, definitionVersion("v1", root)));
  }
  definitionOf.set(id, number);
}

let platform: RunningPlatform;
const refusals = new Map<number, PlatformAnswer>();
const answers = new Map<string, PlatformAnswer>();

async function inFlight<T>(all: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = all.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

beforeAll(async () => {
  platform = await startPlatform();
  await vi.waitFor(async () => expect((await platform.send({ path: CRDS })).status).toBe(200), PATIENCE);
  await inFlight([...manifests.entries()], async ([number, body]) => {
    const made = await platform.send({ path: CRDS, body });
    if (made.status !== 201) refusals.set(number, made);
  });
  await vi.waitFor(async () => {
    const { body } = await platform.send({ path: `${CLUSTER}/apis/${GROUP}/v1` });
    expect(body?.resources?.length).toBe(manifests.length - refusals.size);
  }, PATIENCE);
  await inFlight(cases, async ({ id, value, isResourceRoot }) => {
    const number = definitionOf.get(id) as number;
    if (refusals.has(number)) return;
    const whole: any = isResourceRoot ? value : { value };
    const body = {
      ...whole,
      apiVersion: `${GROUP}/v1`,
      kind: `Schema${number}`,
      metadata: { ...whole.metadata, name: id, namespace: undefined },
    };
    const path = `${CLUSTER}/apis/${GROUP}/v1/schemas${number}s?dryRun=All&fieldValidation=Warn`;
    answers.set(id, await platform.send({ path, body }));
  });
});
afterAll(() => platform?.[Symbol.asyncDispose]());

/** Schemas that no definition may have, with the message of the refusal. */
const REFUSED: { readonly [id: string]: string } = {
  "13a-schema-validation-0056": "properties[field].pattern: Invalid value",
  "13a-schema-validation-0064":
    "properties[k1].default: Required value: this property is in x-kubernetes-list-map-keys",
  "13b-pruning-0013": "properties[c].additionalProperties: Forbidden: additionalProperties cannot be set to false",
  "13d-list-set-map-0039": "x-kubernetes-list-map-keys[0]: Invalid value",
};

/** Where an API says more than the function alone, which looks at one thing only. */
const BEYOND: { readonly [id: string]: readonly Fault[] } = {
  // Rules are asked, too.
  "13a-schema-validation-0066": [
    { field: "value.field[0].x", message: "Invalid value: \"string\": failed rule: self == 'x'" },
  ],
  // Defaults come before validation.
  "13c-defaulting-0005": [
    {
      field: "value[0]",
      message: 'Invalid value: "null": value[0] in body must be of type object: "null"',
    },
  ],
};

/** As the function has it, with the path at which the schema stands in its definition. */
function faultsOf({ kind, errors, isResourceRoot }: Recorded): readonly Fault[] {
  const at = (field: string): string =>
    field === "" ? "value" : field.startsWith("[") ? `value${field}` : `value.${field}`;
  if (kind === "listType") return errors.map((fault) => ({ ...fault, field: fault.field.replace(/^root/, "value") }));
  if (isResourceRoot) return errors;
  return errors.flatMap(({ field, message }) => {
    // Members that are null, and may not be, are dropped before anything is validated. Items are not.
    if (message.endsWith(': "null"') && !field.endsWith("]")) return [];
    const quoted = message.replace(/: "([^"]*)" must validate/, (_, name) => `: "${at(name)}" must validate`);
    return [
      {
        field: field === "<nil>" ? field : at(field),
        message: quoted.replace(`${field} in body`, `${at(field)} in body`),
      },
    ];
  });
}

const textsOf = (faults: readonly Fault[]): readonly string[] =>
  faults.map(({ field, message }) => `${field}: ${message}`).toSorted();

/** Fields that metadata does not have are dropped from it, in embedded resources as well, whatever the schema says. */
const withoutUnknownMetadata = (value: any): any =>
  Array.isArray(value)
    ? value.map(withoutUnknownMetadata)
    : typeof value === "object" && value !== null
      ? mapMembers(value, (each, name) => {
          const { unspecified: _, ...known } = name === "metadata" ? each : { unspecified: undefined };
          return withoutUnknownMetadata(name === "metadata" ? known : each);
        })
      : value;

test("definitions are made of all schemas but those that upstream's API refuses, too", () => {
  const refused = cases.flatMap(({ id }) => (refusals.has(definitionOf.get(id) as number) ? [id] : []));
  expect(refused.toSorted()).toEqual(Object.keys(REFUSED).toSorted());
  for (const id of refused) expect(refusals.get(definitionOf.get(id) as number)?.text, id).toContain(REFUSED[id]);
});

const asked = cases.filter(({ id }) => !(id in REFUSED));

test(`${asked.length} values are judged as upstream's functions judge them`, () => {
  const differences = asked.flatMap((recorded) => {
    const { status, body } = answers.get(recorded.id) as PlatformAnswer;
    const said: readonly Fault[] = body?.details?.causes ?? [];
    // That function looks at lists alone.
    const found = recorded.kind === "listType" ? said.filter(({ message }) => message.startsWith("Duplicate")) : said;
    const wanted = textsOf([...faultsOf(recorded), ...(BEYOND[recorded.id] ?? [])]);
    const isSame =
      JSON.stringify(textsOf(found)) === JSON.stringify(wanted) && (status === 201) === (said.length === 0);
    return isSame ? [] : [{ id: recorded.id, status, found: textsOf(found), wanted }];
  });
  expect(differences).toEqual([]);
});

const shaped = asked.filter(({ id, out }) => out !== undefined && !(id in BEYOND));

test.each(shaped.map((recorded) => [recorded.id, recorded] as const))(
  "%s: prunes and sets defaults alike",
  (id, { out, isResourceRoot, unknownFieldPaths }) => {
    const { body, warnings } = answers.get(id) as PlatformAnswer;
    const { kind: _k, apiVersion: _a, metadata: _m, ...members } = isResourceRoot ? (out as Schema) : { value: out };
    expect(body).toMatchObject(withoutUnknownMetadata(members));
    if (isResourceRoot) return;
    expect(body.value).toEqual(withoutUnknownMetadata(out));
    if (unknownFieldPaths !== undefined) {
      expect(warnings).toEqual(unknownFieldPaths.map((path) => `unknown field "value${path}"`));
    }
  },
);
