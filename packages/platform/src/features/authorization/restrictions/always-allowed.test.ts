import { describe, expect, it, test } from "vitest";
import { inner, intoCluster, intoSpace, intoVirtualCluster, management, names, path } from "../testing/memory-world.ts";
import { alwaysAllowedRules, isAlwaysAllowed } from "./always-allowed.ts";

const AUTHENTICATION = "authentication.k8s.io";
const AUTHORIZATION = "authorization.k8s.io";

describe("paths that every valid key allows", () => {
  const roots = ["/api", "/apis", "/healthz", "/livez", "/openapi", "/readyz"];
  test.each([...roots, ...roots.flatMap((root) => [`${root}/`, `${root}/x`, `${root}/x/y`]), "/version", "/version/"])(
    "%s",
    (open) => {
      for (const verb of ["get", "head"]) expect(isAlwaysAllowed(path(open, verb), names)).toBe(true);
      for (const verb of ["post", "put", "delete", "options", ""]) {
        expect(isAlwaysAllowed(path(open, verb), names)).toBe(false);
      }
      for (const proxied of [intoCluster("c", path(open).inner), intoVirtualCluster("a", "v", path(open).inner)]) {
        expect(isAlwaysAllowed(proxied, names)).toBe(false);
      }
    },
  );

  test.each([
    "",
    "/",
    "/ap",
    "/apix",
    "/apisx",
    "/healthzz",
    "/livezx",
    "/readyzx",
    "/openapix",
    "/version/x",
    "/versionx",
    "/metrics",
    "/x/api",
    "x/api/",
    "/API",
  ])("and '%s' is none of them", (closed) => expect(isAlwaysAllowed(path(closed), names)).toBe(false));
});

describe("resources that every valid key allows", () => {
  const open = [
    [names.managementGroup, "selves"],
    [names.managementGroup, "selfsubjectaccessreviews"],
    [AUTHENTICATION, "selfsubjectreviews"],
    [AUTHORIZATION, "selfsubjectaccessreviews"],
    [AUTHORIZATION, "selfsubjectrulesreviews"],
  ] as const;

  test.each(open)("%s %s", (apiGroup, resource) => {
    const create = { verb: "create", apiGroup, resource };
    expect(isAlwaysAllowed(management(create), names)).toBe(true);
    for (const parts of [{ verb: "get" }, { verb: "introspect" }, { subresource: "x" }, { namespace: "p-a" }]) {
      expect(isAlwaysAllowed(management({ ...create, ...parts }), names)).toBe(false);
    }
    expect(isAlwaysAllowed(intoVirtualCluster("a", "v", create), names)).toBe(false);
    expect(isAlwaysAllowed({ ...intoSpace("a", "s"), inner: inner(create) }, names)).toBe(false);
  });

  it("and none beside them, also not of the one group in the other", () => {
    const groups = [names.managementGroup, names.storageGroup, AUTHENTICATION, AUTHORIZATION, "", "*"];
    const resources = [...open.map(([, resource]) => resource), "subjectaccessreviews", "tokenreviews", "users", "*"];
    const opened = groups.flatMap((apiGroup) =>
      [...new Set(resources)]
        .filter((resource) => isAlwaysAllowed(management({ verb: "create", apiGroup, resource }), names))
        .map((resource) => [apiGroup, resource]),
    );
    expect(opened).toEqual(open);
  });
});

it("is equivalent to rules of a role", () => {
  const create = (group: string, resource: string) => ({
    verbs: ["create"],
    apiGroups: [group],
    resources: [resource],
    resourceNames: [],
    nonResourceURLs: [],
  });
  const paths = ["/api", "/apis", "/healthz", "/livez", "/openapi", "/readyz"].flatMap((root) => [root, `${root}/*`]);
  expect(alwaysAllowedRules(names)).toEqual([
    {
      verbs: ["get", "head"],
      apiGroups: [],
      resources: [],
      resourceNames: [],
      nonResourceURLs: [...paths, "/version", "/version/"],
    },
    create(names.managementGroup, "selves"),
    create(names.managementGroup, "selfsubjectaccessreviews"),
    create(AUTHENTICATION, "selfsubjectreviews"),
    create(AUTHORIZATION, "selfsubjectaccessreviews"),
    create(AUTHORIZATION, "selfsubjectrulesreviews"),
    { ...create("apiextensions.k8s.io", "customresourcedefinitions"), verbs: ["list"] },
  ]);
});
