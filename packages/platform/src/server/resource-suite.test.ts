// Runs the suite of every resource on what the platform registers, in memory; test/conformance/ runs it on the other stores.

import { singularOf } from "@postern/apiserver/registry/resource-definition";
import { afterAll, describe, expect, it } from "vitest";
import { openManagementSuiteSurface } from "../testing/management-suite-surface.ts";
import { startPlatform } from "../testing/running-platform.ts";
import { caseOf, describeResources, RESOURCE_CASES } from "./testing/resource-cases.ts";

/** Only what is registered is looked at here: each case opens its own. */
const registered = await openManagementSuiteSurface();
afterAll(() => registered[Symbol.asyncDispose]());

const GROUP = "management.postern";

/** They are answered at once: there is nothing to read or to change. */
const ANSWERED = [
  `selves.${GROUP}`,
  `selfsubjectaccessreviews.${GROUP}`,
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectreviews.authentication.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "tokenreviews.authentication.k8s.io",
];

/** Kubernetes does not describe it either. */
const UNDESCRIBED = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent.type";

describe("the resources of the platform", () => {
  const nameOf = ({ group, plural }: { readonly group: string; readonly plural: string }) => `${plural}.${group}`;
  const answered = registered.definitions.filter(({ submit }) => submit !== undefined);

  it("is answered without being stored here alone", () => {
    expect(answered.map(nameOf).toSorted()).toEqual(ANSWERED.toSorted());
  });

  it("has a case for each resource that is stored, and none for another", () => {
    const stored = registered.definitions.filter(
      (definition) => !answered.includes(definition) && definition.verbs?.includes("create") !== false,
    );
    expect(Object.keys(RESOURCE_CASES).toSorted()).toEqual(stored.map(caseOf).toSorted());
  });

  it("has names that mean one resource each, short ones among them", () => {
    // Names of a resource that kubectl accepts, without its group.
    const names = registered.definitions.flatMap((definition) => [
      ...new Set([definition.plural, singularOf(definition), ...(definition.shortNames ?? [])]),
    ]);
    const ambiguous = names.filter((name, index) => names.indexOf(name) !== index);
    // Served in both groups, as existing clients expect; kubectl takes the first.
    expect(ambiguous).toEqual(["events", "event", "ev", "selfsubjectaccessreviews", "selfsubjectaccessreview"]);
    const short = registered.definitions.flatMap(({ plural, shortNames = [] }) =>
      shortNames.map((name) => `${name} ${plural}`),
    );
    expect(short.toSorted()).toEqual([
      "ak accesskeys",
      "areq accessrequests",
      "crd customresourcedefinitions",
      "crds customresourcedefinitions",
      "ev events",
      "ev events",
      "kcg kubeconfiggenerators",
      "ns namespaces",
      "oak ownedaccesskeys",
      "proj projects",
      "spi spaceinstances",
      "svc services",
      "vci virtualclusterinstances",
    ]);
  });

  it("describes every field", async () => {
    await using platform = await startPlatform();
    const { body } = await platform.send({ path: "/openapi/v2" });
    const definitions = Object.entries<any>(body.definitions);
    // `kubectl explain` prints nothing for these.
    const fields = definitions.flatMap(([name, definition]) =>
      Object.entries<any>(definition.properties ?? {})
        .filter(([, { description = "" }]) => description === "")
        .map(([field]) => `${name}.${field}`),
    );
    expect(fields).toEqual([UNDESCRIBED]);
    const kinds = definitions.flatMap(([, each]) => each["x-kubernetes-group-version-kind"] ?? []);
    const isDescribed = ({ group, kind }: { readonly group: string; readonly kind: string }): boolean =>
      kinds.some((each: any) => each.group === group && each.kind === kind);
    expect(registered.definitions.filter((each) => !isDescribed(each)).map(nameOf)).toEqual([]);
  });
});

describeResources(registered.definitions, openManagementSuiteSurface);
