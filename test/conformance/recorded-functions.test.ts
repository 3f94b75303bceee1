// Requests made of recordings of upstream's functions, drawn by chance: what the function said, the whole server has to say over HTTP. An embedded
// virtual cluster is asked, with one custom resource that has a field for each recorded schema.
// Recordings: the testdata folders beside the functions, made with Kubernetes 1.32.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type PlatformAnswer,
  type RunningPlatform,
  startPlatform,
} from "../../packages/platform/src/testing/running-platform.ts";

const REQUESTS = Number(process.env["RECORDED_REQUESTS"] ?? 150);
const SEED = Number(process.env["TEST_SEED"]);
const IN_FLIGHT = 4;

const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const MAPS = `${DEMO}/api/v1/namespaces/default/configmaps`;
const RBAC = `${DEMO}/apis/rbac.authorization.k8s.io/v1`;
const RECORDS = `${DEMO}/apis/recorded.example.com/v1/records`;
const MERGE_PATCH = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";

type Recorded = { readonly id: string; readonly kind?: string; readonly [member: string]: any };
type Cause = { readonly field: string; readonly message: string };
/** Resolves with what is wrong, or with nothing. */
type Comparison = { readonly id: string; compare(): Promise<unknown> };

let platform: RunningPlatform;
let comparisons: readonly Comparison[];

beforeAll(async () => {
  platform = await startPlatform();
  const demo = { path: "namespaces/p-default/virtualclusterinstances/demo" };
  await platform.until(demo, ({ body }) => body?.status?.phase === "Ready");
  comparisons = await comparisonsOfAll();
});
afterAll(() => platform[Symbol.asyncDispose]());

async function recordings(path: string): Promise<readonly Recorded[]> {
  return JSON.parse(await readFile(new URL(`../../packages/${path}`, import.meta.url), "utf8")).cases;
}

let count = 0;
const newName = (): string => `r-${++count}`;
const withQuery = (path: string, query: object): string =>
  `${path}?${Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join("&")}`;

const post = (path: string, body: unknown): Promise<PlatformAnswer> => platform.send({ path, body });
const patch = (path: string, type: string, body: unknown): Promise<PlatformAnswer> =>
  platform.send({ method: "PATCH", path, body, headers: { "content-type": type } });
const told = ({ status, body, text }: PlatformAnswer): string => `${status} ${body?.message ?? text.slice(0, 300)}`;

/** Causes that the answer has beyond, or short of, those of upstream. */
function difference(
  answer: PlatformAnswer,
  expected: readonly Cause[],
  isBeside: (cause: Cause) => boolean = () => false,
): unknown {
  const all: readonly Cause[] = answer.body?.details?.causes ?? [];
  const isRefused = answer.status >= 400;
  const causes = all.filter((cause) => !isBeside(cause));
  const texts = (list: readonly Cause[]) => list.map(({ field, message }) => `${field}: ${message}`).toSorted();
  const [found, wanted] = [texts(causes), texts(expected.filter((cause) => !isBeside(cause)))];
  if (isRefused === all.length > 0 && JSON.stringify(found) === JSON.stringify(wanted)) return undefined;
  return { answered: told(answer), found, wanted };
}

async function comparisonsOfAll(): Promise<readonly Comparison[]> {
  return [
    ...(await labelSelectors()),
    ...(await fieldSelectors()),
    ...(await objectMeta()),
    ...(await names()),
    ...(await listOptions()),
    ...(await jsonPatches()),
    ...(await mergePatches()),
    ...(await schemas()),
    ...(await rules()),
  ];
}

const comparisonsOf = (
  cases: readonly Recorded[],
  compare: (recorded: Recorded) => Promise<unknown>,
): readonly Comparison[] => cases.map((recorded) => ({ id: recorded.id, compare: () => compare(recorded) }));

async function labelSelectors(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/selectors/testdata/label-selectors.json");
  return [
    ...comparisonsOf(
      cases.filter(({ kind }) => kind === "parse"),
      async ({ input, error }) => {
        const answer = await platform.send({ path: withQuery(MAPS, { labelSelector: input }) });
        const isSame =
          error === undefined ? answer.status === 200 : answer.status === 400 && answer.body.message === error;
        return isSame ? undefined : { input, answered: told(answer), error };
      },
    ),
    ...comparisonsOf(
      // The selector that selects nothing has no text of its own.
      cases.filter(({ kind, selector }) => kind === "match" && selector !== ""),
      async ({ selector, labels, matches }) => {
        const name = newName();
        const made = await post(MAPS, { metadata: { name, labels } });
        // Selectors know labels that no object may have.
        if (made.status === 422) return undefined;
        const query = { labelSelector: selector, fieldSelector: `metadata.name=${name}` };
        const answer = await platform.send({ path: withQuery(MAPS, query) });
        return (answer.body.items?.length === 1) === matches ? undefined : { selector, labels, answered: told(answer) };
      },
    ),
  ];
}

async function fieldSelectors(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/selectors/testdata/field-selectors.json");
  const known = /^metadata\.(name|namespace)$/;
  return comparisonsOf(
    cases.filter(({ kind }) => kind === "parse"),
    async ({ input, error, requirements = [] }) => {
      const answer = await platform.send({ path: withQuery(MAPS, { fieldSelector: input }) });
      const isKnown = requirements.every(({ field }: any) => known.test(field));
      const isSame =
        error === undefined
          ? answer.status === (isKnown ? 200 : 400)
          : answer.status === 400 && answer.body.message === error;
      return isSame ? undefined : { input, answered: told(answer), error, requirements };
    },
  );
}

async function objectMeta(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/validation/testdata/06a-objectmeta.json");
  // Metadata that a create takes from the client; the rest is the server's own.
  const taken = new Set(["name", "generateName", "labels", "annotations", "finalizers", "creationTimestamp"]);
  const wanted = cases.filter(
    ({ kind, nameFn, meta }) =>
      kind === "create" && nameFn === "NameIsDNSSubdomain" && Object.keys(meta).every((member) => taken.has(member)),
  );
  return comparisonsOf(wanted, async ({ meta, errors }) => {
    const isNamed = "name" in meta || "generateName" in meta;
    // Each may be drawn more than once. Where the name is what is asked about, nothing is stored.
    const metadata = isNamed && errors.length === 0 && meta.name === "test" ? { ...meta, name: newName() } : meta;
    const answer = await post(`${MAPS}?dryRun=All`, { metadata });
    const expected = errors
      // Of a cluster-scoped kind; the name of ours is in a namespace.
      .filter(({ field }: any) => field !== "metadata.namespace" && field !== "field.namespace")
      .map(({ field, message }: any) => ({ field: field.replace(/^field\./, "metadata."), message }));
    // A name generated from a bad prefix is bad as well; the recorded function was not called with it.
    const isGenerated = !("name" in meta);
    return difference(
      answer,
      expected,
      ({ field }) => isGenerated && "generateName" in meta && field === "metadata.name",
    );
  });
}

async function names(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/validation/testdata/06b-string-validators.json");
  const asBody: { readonly [fn: string]: (value: string) => readonly [path: string, field: string, body: object] } = {
    IsDNS1123Subdomain: (name) => [MAPS, "metadata.name", { metadata: { name } }],
    "path.IsValidPathSegmentName": (name) => [`${RBAC}/clusterroles`, "metadata.name", { metadata: { name } }],
    IsQualifiedName: (key) => [MAPS, "metadata.labels", { metadata: { name: "keyed", labels: { [key]: "" } } }],
    IsValidLabelValue: (value) => [MAPS, "metadata.labels", { metadata: { name: "valued", labels: { key: value } } }],
    IsConfigMapKey: (key) => [MAPS, `data[${key}]`, { metadata: { name: "filled" }, data: { [key]: "" } }],
  };
  return comparisonsOf(
    cases.filter(({ fn, value }) => fn in asBody && value !== ""),
    async ({ fn, value, errors }) => {
      const [path, field, body] = asBody[fn]?.(value) ?? ["", "", {}];
      const answer = await post(`${path}?dryRun=All`, body);
      const quoted = answer.body?.details?.causes?.map(({ message }: any) =>
        message.replace(/^Invalid value: "(?:[^"\\]|\\.)*": /, ""),
      );
      const fields = new Set(answer.body?.details?.causes?.map(({ field: at }: any) => at));
      const isSame =
        errors.length === 0
          ? answer.status === 201
          : answer.status === 422 &&
            quoted?.toSorted().join("\n") === errors.toSorted().join("\n") &&
            fields.has(field);
      return isSame ? undefined : { fn, value, answered: told(answer), errors };
    },
  );
}

async function listOptions(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/validation/testdata/06d-list-options.json");
  // Whether watches may begin with a list: here they may.
  const wanted = cases.filter(({ watchList, options, errors }) => watchList && !(options.watch && errors.length === 0));
  return comparisonsOf(wanted, async ({ options, errors }) => {
    const query = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== "" && value !== 0));
    const answer = await platform.send({ path: withQuery(MAPS, query) });
    // Versions and tokens that the server does not know are refused for other reasons, once the options are in order.
    if (errors.length === 0) return answer.status === 422 ? { options, answered: told(answer) } : undefined;
    return difference(answer, errors);
  });
}

async function jsonPatches(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/patch/testdata/json-patch.json");
  const inside = (pointer: unknown): unknown => (typeof pointer === "string" ? `/doc${pointer}` : pointer);
  // At the root upstream's library treats some operations otherwise.
  const isBelowRoot = ({ patch: operations }: Recorded): boolean =>
    Array.isArray(operations) &&
    operations.every(
      ({ path, from }: any) => path !== "" && from !== "" && /^\//.test(path ?? "/") && /^\//.test(from ?? "/"),
    );
  return comparisonsOf(cases.filter(isBelowRoot), async ({ doc, patch: operations, k8s }) => {
    const name = newName();
    const made = await post(RECORDS, {
      apiVersion: "recorded.example.com/v1",
      kind: "Record",
      metadata: { name },
      doc,
    });
    if (made.status !== 201) return { doc, answered: told(made) };
    const moved = operations.map(({ path, from, ...rest }: any) => ({
      ...rest,
      ...(path === undefined ? {} : { path: inside(path) }),
      ...(from === undefined ? {} : { from: inside(from) }),
    }));
    const answer = await patch(`${RECORDS}/${name}`, JSON_PATCH, moved);
    if (!k8s.ok)
      return answer.status >= 400 && answer.status < 500 ? undefined : { doc, moved, answered: told(answer), k8s };
    return answer.status === 200 && sameJson(answer.body.doc, k8s.result)
      ? undefined
      : { doc, moved, answered: told(answer), got: answer.body?.doc, k8s };
  });
}

async function mergePatches(): Promise<readonly Comparison[]> {
  const cases = await recordings("apimachinery/src/patch/testdata/merge-patch.json");
  const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
  const wanted = cases.filter(({ doc, patch: change, k8s }) => k8s.ok && isObject(doc) && isObject(change));
  return comparisonsOf(wanted, async ({ doc, patch: change, k8s }) => {
    const name = newName();
    await post(RECORDS, { apiVersion: "recorded.example.com/v1", kind: "Record", metadata: { name }, doc });
    const answer = await patch(`${RECORDS}/${name}`, MERGE_PATCH, { doc: change });
    return answer.status === 200 && sameJson(answer.body.doc, k8s.result)
      ? undefined
      : { doc, change, answered: told(answer), got: answer.body?.doc, k8s };
  });
}

async function schemas(): Promise<readonly Comparison[]> {
  const folder = "apimachinery/src/schema/testdata";
  const validated = await recordings(`${folder}/13a-schema-validation.json`);
  const lists = await recordings(`${folder}/13d-list-set-map.json`);
  const fieldOf = ({ id }: Recorded): string => `c${id.replaceAll("-", "")}`;
  // Rules are compared elsewhere: with one of them, every refusal says that it was not looked at.
  const isPlain = ({ schema }: Recorded): boolean => !JSON.stringify(schema).includes("x-kubernetes-validations");
  const plain = [...validated, ...lists].filter(isPlain);
  const all = new Map(plain.map((recorded) => [fieldOf(recorded), recorded.schema]));
  // Recordings have schemas that no definition may have: the refusals say which.
  for (;;) {
    const properties = { ...Object.fromEntries(all), doc: { "x-kubernetes-preserve-unknown-fields": true } };
    const answer = await post(`${DEMO}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, definition(properties));
    if (answer.status === 201) break;
    const causes: readonly { readonly field: string }[] = answer.body?.details?.causes ?? [];
    const refused = causes.flatMap(({ field }) => /properties\[(c\w+)\]/.exec(field)?.[1] ?? []);
    if (refused.length === 0) throw new Error(told(answer));
    for (const field of refused) all.delete(field);
  }
  await platform.until({ path: RECORDS }, ({ status }) => status === 200);
  const isServed = (recorded: Recorded): boolean => all.has(fieldOf(recorded));
  const send = (recorded: Recorded, value: unknown): Promise<PlatformAnswer> =>
    post(`${RECORDS}?dryRun=All`, {
      apiVersion: "recorded.example.com/v1",
      kind: "Record",
      metadata: { name: "checked" },
      [fieldOf(recorded)]: value,
    });
  // A create drops nulls that a field does not take, before it is checked.
  const hasNull = (value: unknown): boolean => JSON.stringify(value)?.includes("null") ?? true;
  // Of what is wrong with a combination as a whole upstream says no field.
  const isBelowRoot = ({ errors }: Recorded): boolean => errors.every(({ field }: Cause) => field !== "<nil>");
  return [
    ...comparisonsOf(
      validated.filter((recorded) => isServed(recorded) && !hasNull(recorded["value"]) && isBelowRoot(recorded)),
      async (recorded) => {
        const at = fieldOf(recorded);
        const errors = recorded["errors"].map(({ field, message }: any) => ({
          field: field === "" ? at : `${at}.${field}`,
          message: message.replace(`${field} in body`, `${at}.${field} in body`),
        }));
        return difference(await send(recorded, recorded["value"]), errors);
      },
    ),
    ...comparisonsOf(lists.filter(isServed), async (recorded) => {
      const errors = recorded["errors"].map(({ field, message }: any) => ({
        field: field.replace(/^root/, fieldOf(recorded)),
        message,
      }));
      // The function looks at lists alone.
      const answer = await send(recorded, recorded["object"]);
      return difference(answer, errors, ({ message }) => !message.startsWith("Duplicate value"));
    }),
  ];
}

const definition = (properties: object) =>
  definitionManifest(
    { group: "recorded.example.com", kind: "Record", plural: "records" },
    definitionVersion("v1", { type: "object", properties }),
  );

async function rules(): Promise<readonly Comparison[]> {
  const cases = await recordings("apiserver/src/authorization/rbac/testdata/07a-rbac-rule-allows.json");
  return comparisonsOf(cases, async ({ rule, attributes, allowed }) => {
    const name = newName();
    const made = await post(`${RBAC}/clusterroles`, { metadata: { name }, rules: [rule] });
    // Some rules are recorded that no role may have.
    if (made.status === 422) return undefined;
    await post(`${RBAC}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
    });
    const { verb, apiGroup, resource, subresource, namespace, name: object, path, resourceRequest } = attributes;
    const asked = resourceRequest
      ? { resourceAttributes: { verb, group: apiGroup, resource, subresource, namespace, name: object } }
      : { nonResourceAttributes: { verb, path } };
    const review = `${DEMO}/apis/authorization.k8s.io/v1/subjectaccessreviews`;
    const answer = await post(review, { spec: { user: name, ...asked } });
    return answer.body?.status?.allowed === allowed
      ? undefined
      : { rule, asked, allowed, answered: answer.text.slice(0, 400) };
  });
}

const sameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (value: any): any =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
      ? Object.fromEntries(
          Object.keys(value)
            .toSorted()
            .map((key) => [key, sorted(value[key])]),
        )
      : value;

test(`${REQUESTS} requests, seed ${SEED}, are answered as upstream's functions answered`, {
  timeout: 60_000 + REQUESTS * 100,
}, async () => {
  const random = randomNumbers(SEED);
  const faults = new Map<string, unknown>();
  const kinds = new Map<string, number>();
  let left = REQUESTS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { id, compare } = comparisons[random(comparisons.length)] as Comparison;
      kinds.set(id.slice(0, 3), (kinds.get(id.slice(0, 3)) ?? 0) + 1);
      const fault = await compare();
      if (fault !== undefined) faults.set(id, fault);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  expect([...faults].map(([id, fault]) => `${id} ${JSON.stringify(fault)}`).join("\n")).toBe("");
  expect(kinds.size).toBeGreaterThan(5);
});
