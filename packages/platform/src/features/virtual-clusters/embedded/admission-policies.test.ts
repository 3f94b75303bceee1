import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MAPS = "/api/v1/namespaces/default/configmaps";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/** May write policies and ConfigMaps, and read one Secret by its name. */
const author = { name: "author", groups: [] };

let host: EmbeddedHost;
const post = async (url: string, body: object, user?: { name: string; groups: string[] }) =>
  (await host.request("one", { method: "POST", url, body, ...(user === undefined ? {} : { user }) })).body;

beforeAll(async () => {
  host = await createEmbeddedHost();
  await host.setUp("one");
  const rules = [
    { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["limits"], verbs: ["get"] },
  ];
  await post(`${RBAC}/clusterroles`, { metadata: { name: "author" }, rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "author" };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "author" }];
  await post(`${RBAC}/clusterrolebindings`, { metadata: { name: "author" }, roleRef, subjects });
  await host.settled("one");
});
afterAll(async () => {
  expect(host.errors).toEqual([]);
  await host[Symbol.asyncDispose]();
});

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
const policy = (name: string, spec: object) => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
});
const binding = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { policyName: name, validationActions: ["Deny"], ...spec },
});
const readsSecrets = {
  paramKind: { apiVersion: "v1", kind: "Secret" },
  validations: [{ expression: "false", messageExpression: "string(params.data)" }],
};

describe("the parameters of a policy", () => {
  it("are of a kind of which its author may read all", async () => {
    await expect(post(POLICIES, policy("reads", readsSecrets), author)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(
        'spec.paramKind: Forbidden: user "author" must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
      ),
    });
    const known = { ...readsSecrets, paramKind: { apiVersion: "v1", kind: "ConfigMap" } };
    await post(POLICIES, policy("changes", known), author);
    const patch = { headers: { "content-type": "application/merge-patch+json" }, user: author };
    const url = `${POLICIES}/changes`;
    await expect(
      host.request("one", { method: "PATCH", url, ...patch, body: { spec: { paramKind: { kind: "Secret" } } } }),
    ).rejects.toMatchObject({ code: 422 });
    await host.request("one", { method: "PATCH", url, ...patch, body: { spec: { failurePolicy: "Ignore" } } });
  });

  it("are objects that the author of the binding may read", async () => {
    await post(POLICIES, policy("bound", readsSecrets));
    const bind = (name: string, paramRef: object) =>
      post(BINDINGS, { ...binding("bound", { paramRef }), metadata: { name } }, author);
    const found = { parameterNotFoundAction: "Deny" };
    await expect(bind("other", { ...found, name: "other", namespace: "default" })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining('spec.paramRef: Forbidden: user "author" does not have "get" permission'),
    });
    for (const paramRef of [{ selector: {} }, { name: "other" }]) {
      await expect(bind("any", { ...found, ...paramRef })).rejects.toMatchObject({ code: 422 });
    }
    await bind("own", { ...found, name: "limits", namespace: "default" });
    await expect(
      post(
        BINDINGS,
        { metadata: { name: "yet-to-come" }, spec: { ...binding("later").spec, paramRef: { ...found, name: "x" } } },
        author,
      ),
    ).rejects.toMatchObject({ code: 422 });
    await host.request("one", { method: "DELETE", url: `${BINDINGS}/own` });
  });
});

describe("the variable authorizer", () => {
  it("reports what the user of the request may do", async () => {
    const validations = [
      {
        expression:
          "authorizer.group('').resource('secrets').namespace('default').name('limits').check('get').allowed()",
        message: "may not read limits",
      },
      {
        expression: "object.metadata.name != 'admins' || authorizer.path('/anything').check('get').allowed()",
        message: "not for all",
      },
      {
        expression:
          "!authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('list').allowed()",
        message: "the account may",
      },
      { expression: "authorizer.requestResource.check('create').allowed()", message: "not even this" },
      {
        expression: "object.metadata.name != 'faulty' || authorizer.group('').resource(' ').check('get').allowed()",
      },
    ];
    await post(POLICIES, policy("access", { validations }));
    await post(BINDINGS, binding("access"));
    await post(MAPS, { metadata: { name: "by-author" } }, author);
    await expect(post(MAPS, { metadata: { name: "admins" } }, author)).rejects.toThrow("not for all");
    await post(MAPS, { metadata: { name: "admins" } });
    await expect(post(MAPS, { metadata: { name: "faulty" } })).rejects.toThrow("resource must not be empty");
    const editor = { name: "ed", groups: ["example:role:view"] };
    await post(`${RBAC}/namespaces/default/rolebindings`, {
      metadata: { name: "ed" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ed" }],
    });
    await post(MAPS, { metadata: { name: "by-ed" } }, editor);
    await host.request("one", { method: "DELETE", url: `${BINDINGS}/access` });
  });

  it("is not known to message expressions, and its answers have types", async () => {
    const faulty = (spec: object) => expect(post(POLICIES, policy("faulty", spec))).rejects;
    await faulty({
      validations: [{ expression: "false", messageExpression: "authorizer.path('/x').check('get').reason()" }],
    }).toThrow("undeclared reference to 'authorizer'");
    await faulty({ validations: [{ expression: "authorizer.group('').allowed()" }] }).toThrow(
      "found no matching overload for 'allowed' applied to 'kubernetes.authorization.GroupCheck.()'",
    );
    await faulty({ validations: [{ expression: "authorizer.group('')" }] }).toThrow("must evaluate to bool");
  });
});

describe("the match policy", () => {
  const versions = ["v1", "v2"].map((name) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties: { size: { type: "integer" } } } },
  }));
  const things = (version: string) => `/apis/example.com/${version}/things`;
  const ofV1 = { apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["things"] };
  const validations = [{ expression: "false", messageExpression: "object.apiVersion + ' as ' + request.kind.version" }];
  const make = (version: string) => post(things(version), { metadata: { name: "a" } });
  const apply = async (matchConstraints: object, matchResources: object = {}) => {
    for (const url of [`${POLICIES}/versions`, `${BINDINGS}/versions`]) {
      await host.request("one", { method: "DELETE", url }).catch(() => {});
    }
    await post(POLICIES, policy("versions", { matchConstraints, validations }));
    await post(BINDINGS, binding("versions", { matchResources }));
  };

  it("brings requests in other versions before a policy as objects of the version that it names", async () => {
    const names = { plural: "things", kind: "Thing" };
    await post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "things.example.com" },
      spec: { group: "example.com", scope: "Cluster", names, versions },
    });
    await host.settled("one");
    await apply({ resourceRules: [ofV1] });
    await expect(make("v2")).rejects.toThrow("denied request: example.com/v1 as v1");
    await apply({ resourceRules: [ofV1], matchPolicy: "Equivalent" }, { resourceRules: [ofV1] });
    await expect(make("v2")).rejects.toThrow("denied request: example.com/v1 as v1");
    await apply({ resourceRules: [{ ...ofV1, apiVersions: ["*"] }] });
    await expect(make("v2")).rejects.toThrow("denied request: example.com/v2 as v2");
  });

  it.each([
    ["Exact", { resourceRules: [ofV1], matchPolicy: "Exact" }, {}],
    ["Exact of a binding", { resourceRules: [ofV1] }, { resourceRules: [ofV1], matchPolicy: "Exact" }],
    ["left out", { resourceRules: [{ ...ofV1, apiVersions: ["*"] }], excludeResourceRules: [ofV1] }, {}],
  ])("%s: a request in another version is let through", async (_what, constraints, resources) => {
    await apply(constraints, resources);
    expect((await make("v2")).metadata.name).toBe("a");
    await host.request("one", { method: "DELETE", url: `${things("v2")}/a` });
  });
});

describe("the status of a policy", () => {
  const warningsOf = async (name: string) => {
    await host.settled("one");
    const { status, metadata } = (await host.request("one", { url: `${POLICIES}/${name}` })).body;
    expect(status.observedGeneration).toBe(metadata.generation);
    return status.typeChecking.expressionWarnings;
  };

  it("names what does not fit the types of the objects", async () => {
    const matchConstraints = {
      resourceRules: [{ ...rule, apiGroups: ["apps"], resources: ["deployments", "statefulsets"] }, rule],
    };
    const variables = [{ name: "replicas", expression: "object.spec.replicas" }];
    const validations = [
      { expression: "object.spec.replicas > 1" },
      { expression: "object.metadata.labels.app == 'a' && object.metadata.name.size() > 1" },
      { expression: "variables.replicas > '1'" },
    ];
    await post(POLICIES, policy("typed", { matchConstraints, variables, validations, failurePolicy: "Ignore" }));
    expect(await warningsOf("typed")).toEqual([
      {
        fieldRef: "spec.validations[0].expression",
        warning:
          "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'\n | object.spec.replicas > 1\n | ......^\n",
      },
      {
        fieldRef: "spec.validations[2].expression",
        warning: ["Deployment", "StatefulSet"]
          .map(
            (kind) =>
              `apps/v1, Kind=${kind}: ERROR: <input>:1:20: found no matching overload for '_>_' applied to '(int, string)'\n | variables.replicas > '1'\n | ...................^\n`,
          )
          .join("\n"),
      },
    ]);
  });

  it("reports nothing where all types match or are unknown", async () => {
    await post(POLICIES, policy("fits", { validations: [{ expression: "object.data.size() > 0" }] }));
    expect(await warningsOf("fits")).toBeUndefined();
    const matchConstraints = { resourceRules: [{ ...rule, apiGroups: ["*"], resources: ["*"] }] };
    await post(POLICIES, policy("wild", { matchConstraints, validations: [{ expression: "object.nothing == 1" }] }));
    expect(await warningsOf("wild")).toBeUndefined();
  });
});
