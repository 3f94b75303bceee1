import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { size: { type: "integer", default: 1, minimum: 0 }, color: { type: "string" } },
      "x-kubernetes-validations": [{ rule: "!has(self.color) || self.color != 'grey'", message: "no grey" }],
    },
    status: { type: "object", properties: { phase: { type: "string" } } },
  },
};

const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: name === "v1",
  schema: { openAPIV3Schema: schema },
  subresources: { status: {} },
  additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  ...more,
});

const crd = (names: object = {}, spec: object = {}) => {
  const all = { plural: "widgets", kind: "Widget", shortNames: ["wd"], ...names };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${all.plural}.example.com` },
    spec: { group: "example.com", names: all, scope: "Namespaced", versions: [version("v1")], ...spec },
  };
};

async function withCrd(host: EmbeddedHost, body: object = crd(), uid = "one") {
  const made = await host.request(uid, { method: "POST", url: CRDS, body });
  expect(made.status).toBe(201);
  await host.settled(uid);
  return (await host.request(uid, { url: `${CRDS}/${made.body.metadata.name}` })).body;
}

const conditionsOf = (definition: any) =>
  Object.fromEntries(
    definition.status.conditions.map(({ type, status, reason }: any) => [type, `${status} ${reason}`]),
  );

const refusal = async (call: Promise<unknown>) => {
  const error: any = await call.then(
    () => expect.fail("was accepted"),
    (reason: unknown) => reason,
  );
  return { code: error.code, text: error.message };
};

describe("a CustomResourceDefinition in an embedded cluster", () => {
  it("is established, and its resource is served, found and described", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const definition = await withCrd(host);
    expect(conditionsOf(definition)).toEqual({
      NamesAccepted: "True NoConflicts",
      Established: "True InitialNamesAccepted",
    });
    expect(definition.metadata.generation).toBe(1);
    expect(definition.status).toMatchObject({
      storedVersions: ["v1"],
      acceptedNames: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    });
    const made = await host.request("one", {
      method: "POST",
      url: WIDGETS,
      body: { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" }, spec: { lost: 1 } },
    });
    expect(made.body.spec).toEqual({ size: 1 });
    const { body: found } = await host.request("one", { url: "/apis/example.com/v1" });
    expect(found.resources.map(({ name }: any) => name)).toEqual(["widgets", "widgets/status"]);
    const { body: openApi } = await host.request("one", { url: "/openapi/v3/apis/example.com/v1" });
    expect(JSON.stringify(openApi)).toContain("com.example.v1.Widget");
    const faulty = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "b" }, spec: { color: "grey" } };
    expect(await refusal(host.request("one", { method: "POST", url: WIDGETS, body: faulty }))).toMatchObject({
      code: 422,
      text: expect.stringContaining("no grey"),
    });
    expect(host.errors).toEqual([]);
  });

  it("is served before it is established, and found when that is stored", async () => {
    const storage = createMemoryStorage();
    const written = deferred<void>();
    const release = deferred<void>();
    const update = storage.update.bind(storage);
    storage.update = async (key, ...rest) => {
      if (key.includes("customresourcedefinitions")) {
        written.resolve();
        await release.promise;
      }
      return update(key, ...rest);
    };
    await using host = await createEmbeddedHost(storage);
    await host.setUp("one");
    await host.request("one", { method: "POST", url: CRDS, body: crd() });
    await written.promise;
    const made = await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "a" } } });
    expect(made.status).toBe(201);
    const groupsOf = async () => (await host.request("one", { url: "/apis" })).body.groups.map(({ name }: any) => name);
    expect(await groupsOf()).not.toContain("example.com");
    release.resolve();
    await host.settled("one");
    expect(await groupsOf()).toContain("example.com");
    const { body: definition } = await host.request("one", { url: `${CRDS}/widgets.example.com` });
    expect(conditionsOf(definition).Established).toBe("True InitialNamesAccepted");
  });

  it("takes no kind of the server, also where it was established before the server had the kind", async () => {
    const storage = createMemoryStorage();
    const [name, lease] = [
      "leases.coordination.k8s.io",
      { metadata: { name: "held" }, spec: { leaseDurationSeconds: 0 } },
    ];
    const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const definition = crd({ plural: "leases", kind: "Lease", shortNames: [] }, { group: "coordination.k8s.io" });
    const metadata = { name, annotations: { "api-approved.kubernetes.io": "unapproved, for a test" } };
    const validated = async (host: EmbeddedHost) =>
      expect(await refusal(host.request("one", { method: "POST", url: leases, body: lease }))).toMatchObject({
        code: 422,
        text: expect.stringContaining("must be greater than 0"),
      });
    {
      await using host = await createEmbeddedHost(storage);
      await host.setUp("one");
      const made = await withCrd(host, { ...definition, metadata });
      expect(conditionsOf(made)).toMatchObject({
        NamesAccepted: "False ListKindConflict",
        Established: "False NotAccepted",
      });
      await validated(host);
    }
    // As a release without the kind has stored it.
    const stored = (await storage.list("/registry/")).entries.find(({ key }) => key.endsWith(`/${name}`));
    const { key = "", value = "", revision = 0 } = stored ?? {};
    const text = Buffer.from(value).toString().replaceAll('"status":"False"', '"status":"True"');
    await storage.update(key, Buffer.from(text), revision);
    expect(text).not.toContain('"False"');
    await using host = await createEmbeddedHost(storage);
    await host.settled("one");
    await validated(host);
    const { body } = await host.request("one", { url: `${CRDS}/${name}` });
    expect(conditionsOf(body).Established).toBe("False NotAccepted");
  });

  // As upstream, whose paths of columns may have it; Argo CD and Crossplane write labels this way.
  it.each([".metadata.labels.app\\.kubernetes\\.io/name", ".metadata.labels.example/name", ".metadata.labels['a/b']"])(
    "takes a column of the path %s",
    async (jsonPath) => {
      await using host = await createEmbeddedHost();
      await host.setUp("one");
      const additionalPrinterColumns = [{ name: "Label", type: "string", jsonPath }];
      await withCrd(host, crd({}, { versions: [version("v1", { additionalPrinterColumns })] }));
      const labels = { "app.kubernetes.io/name": "x", "example/name": "x", "a/b": "x" };
      await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "a", labels } } });
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const { body } = await host.request("one", { url: WIDGETS, headers });
      expect(body.rows.map(({ cells }: any) => cells)).toEqual([["a", "x"]]);
    },
  );

  it("lists objects as a Table with many columns, each once", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const additionalPrinterColumns = Array.from({ length: 100 }, (_, i) => ({
      name: `C${i}`,
      type: "string",
      jsonPath: ".spec",
    }));
    await withCrd(host, crd({}, { versions: [version("v1", { additionalPrinterColumns })] }));
    const names = Array.from({ length: 4 }, (_, i) => `w${String(i).padStart(2, "0")}`);
    for (const name of names) {
      const body = { metadata: { name }, spec: { color: "red" } };
      await host.request("one", { method: "POST", url: WIDGETS, body });
    }
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const { body } = await host.request("one", { url: WIDGETS, headers });
    expect(body.rows.map(({ cells }: any) => cells[0])).toEqual(names);
    expect(body.rows[0].cells).toHaveLength(101);
  });

  it.each([
    [
      "5,000 columns",
      {
        additionalPrinterColumns: Array.from({ length: 5000 }, (_, i) => ({
          name: `C${i}`,
          type: "string",
          jsonPath: ".spec",
        })),
      },
      "additionalPrinterColumns: Too many: 5000: must have at most 100 items",
    ],
    [
      "all descendants in a filter",
      { additionalPrinterColumns: [{ name: "C", type: "string", jsonPath: ".spec.a[?(@........x)]" }] },
      "additionalPrinterColumns[0].jsonPath",
    ],
    ["no schema", { schema: undefined }, "schemas are required"],
  ])("refuses %s", async (_, changes, text) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const body = crd({}, { versions: [version("v1", changes)] });
    expect(await refusal(host.request("one", { method: "POST", url: CRDS, body }))).toEqual({
      code: 422,
      text: expect.stringContaining(text),
    });
  });

  // Plain booleans of Go, which are false where they are absent.
  it.each([
    ["served", { served: undefined }, { served: false, storage: true }],
    ["served as null", { served: null }, { served: false, storage: true }],
  ])("takes a version without %s as one that is not", async (_, changes, expected) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const versions = [version("v1", changes), version("v2", { storage: undefined })];
    const definition = await withCrd(host, crd({}, { versions }));
    expect(definition.spec.versions[0]).toMatchObject(expected);
    expect(definition.spec.versions[1]).toMatchObject({ served: true, storage: false });
    expect(await refusal(host.request("one", { url: WIDGETS }))).toMatchObject({ code: 404 });
  });

  it("needs a version that is stored", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const body = crd({}, { versions: [version("v1", { storage: undefined })] });
    expect(await refusal(host.request("one", { method: "POST", url: CRDS, body }))).toEqual({
      code: 422,
      text: expect.stringContaining("must have exactly one version marked as storage version"),
    });
  });

  it("keeps other fields beside declared ones where additionalProperties is true, and may not name their schema", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const openAPIV3Schema = (additionalProperties: unknown) => ({
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } }, additionalProperties } },
    });
    const withSchema = (additionalProperties: unknown) =>
      crd({}, { versions: [version("v1", { schema: { openAPIV3Schema: openAPIV3Schema(additionalProperties) } })] });
    for (const additionalProperties of [false, { type: "string" }]) {
      const body = withSchema(additionalProperties);
      expect(await refusal(host.request("one", { method: "POST", url: CRDS, body }))).toEqual({
        code: 422,
        text: expect.stringContaining("additionalProperties and properties are mutual exclusive"),
      });
    }
    await withCrd(host, withSchema(true));
    const spec = { size: 1, other: { a: ["b"] } };
    const { body } = await host.request("one", {
      method: "POST",
      url: WIDGETS,
      body: { metadata: { name: "a" }, spec },
    });
    expect(body.spec).toEqual(spec);
    const faulty = { metadata: { name: "b" }, spec: { ...spec, size: "x" } };
    expect(await refusal(host.request("one", { method: "POST", url: WIDGETS, body: faulty }))).toMatchObject({
      code: 422,
    });
  });

  it("serves its objects again after the cluster was stopped", async () => {
    const storage = createMemoryStorage();
    await using host = await createEmbeddedHost(storage);
    await host.setUp("one");
    await withCrd(host);
    await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "a" } } });
    await host.clusters.stop("one");
    expect((await host.request("one", { url: `${WIDGETS}/a` })).body.metadata.name).toBe("a");
  });

  it("takes its objects along, and takes no new ones meanwhile", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await withCrd(host);
    const held = { metadata: { name: "held", finalizers: ["example.com/hold"] } };
    await host.request("one", { method: "POST", url: WIDGETS, body: held });
    await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "free" } } });
    await host.request("one", { method: "DELETE", url: `${CRDS}/widgets.example.com` });
    await host.settled("one");
    const { body: terminating } = await host.request("one", { url: `${CRDS}/widgets.example.com` });
    expect(conditionsOf(terminating).Terminating).toBe("True InstanceDeletionInProgress");
    const { body: left } = await host.request("one", { url: WIDGETS });
    expect(left.items.map(({ metadata }: any) => metadata.name)).toEqual(["held"]);
    const late = { method: "POST", url: WIDGETS, body: { metadata: { name: "late" } } };
    expect((await refusal(host.request("one", late))).code).toBe(405);
    const patch = {
      method: "PATCH",
      url: `${WIDGETS}/held`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { finalizers: null } },
    };
    await host.request("one", patch);
    await host.settled("one");
    expect((await refusal(host.request("one", { url: `${CRDS}/widgets.example.com` }))).code).toBe(404);
    expect((await host.request("one", { url: WIDGETS })).status).toBe(404);
    expect(host.errors).toEqual([]);
    await withCrd(host);
    expect((await host.request("one", { url: WIDGETS })).body.items).toEqual([]);
  });

  it("gets no name that another one has, until that one gives it up", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await withCrd(host);
    const second = await withCrd(host, crd({ plural: "gadgets", kind: "Gadget", shortNames: ["wd"] }));
    expect(conditionsOf(second)).toEqual({
      NamesAccepted: "False ShortNamesConflict",
      Established: "False NotAccepted",
    });
    expect((await refusal(host.request("one", { url: "/apis/example.com/v1/gadgets" }))).code).toBe(404);
    await host.request("one", { method: "DELETE", url: `${CRDS}/widgets.example.com` });
    await host.settled("one");
    const { body } = await host.request("one", { url: `${CRDS}/gadgets.example.com` });
    expect(conditionsOf(body)).toMatchObject({
      NamesAccepted: "True NoConflicts",
      Established: expect.stringMatching("True"),
    });
  });

  it("never takes the place of a built-in kind", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const body = {
      ...crd({ plural: "roles", kind: "Role", shortNames: [] }, { group: "rbac.authorization.k8s.io" }),
      metadata: {
        name: "roles.rbac.authorization.k8s.io",
        annotations: { "api-approved.kubernetes.io": "unapproved, a test" },
      },
    };
    const made = await withCrd(host, body);
    expect(conditionsOf(made)).toEqual({
      NamesAccepted: "False ListKindConflict",
      Established: "False NotAccepted",
      KubernetesAPIApprovalPolicyConformant: "False UnapprovedAnnotation",
    });
    const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    expect((await host.request("one", { url: roles })).body.kind).toBe("RoleList");
  });

  it("changes its schema and its versions while its objects stay", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const definition = await withCrd(host);
    await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "a" }, spec: { size: 5 } } });
    const put = (body: object) => host.request("one", { method: "PUT", url: `${CRDS}/widgets.example.com`, body });
    const versions = [version("v1", { storage: false }), version("v2", { storage: true })];
    const { body: changed } = await put({ ...definition, spec: { ...definition.spec, versions } });
    expect(changed.status.storedVersions).toEqual(["v1", "v2"]);
    expect(changed.metadata.generation).toBe(2);
    await host.settled("one");
    const { body: read } = await host.request("one", { url: `${WIDGETS.replace("v1", "v2")}/a` });
    expect(read).toMatchObject({ apiVersion: "example.com/v2", spec: { size: 5 } });
    const { body: current } = await host.request("one", { url: `${CRDS}/widgets.example.com` });
    const only = { ...current, spec: { ...current.spec, versions: [version("v2", { storage: true })] } };
    expect(await refusal(put(only))).toEqual({
      code: 422,
      text: expect.stringContaining('status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions'),
    });
    for (const [field, value] of [
      ["scope", "Cluster"],
      ["group", "example.org"],
    ] as const) {
      const { text } = await refusal(put({ ...current, spec: { ...current.spec, [field]: value } }));
      expect(text).toContain(`spec.${field}: Invalid value: "${value}": field is immutable`);
    }
  });

  it.each<[what: string, body: object, fault: string]>([
    [
      "another name",
      { ...crd(), metadata: { name: "x.example.com" } },
      'metadata.name: Invalid value: "x.example.com"',
    ],
    ["no group with a dot", crd({}, { group: "example" }), 'spec.group: Invalid value: "example": should be a domain'],
    ["an unknown scope", crd({}, { scope: "World" }), 'spec.scope: Unsupported value: "World"'],
    [
      "no version that is stored",
      crd({}, { versions: [version("v2")] }),
      "exactly one version marked as storage version",
    ],
    [
      "an unknown conversion",
      crd({}, { conversion: { strategy: "Magic" } }),
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    [
      "a conversion by nobody",
      crd({}, { conversion: { strategy: "Webhook" } }),
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ],
    [
      "a webhook at two places",
      crd(
        {},
        {
          conversion: {
            strategy: "Webhook",
            webhook: {
              clientConfig: { url: "https://a", service: { name: "a", namespace: "b" } },
              conversionReviewVersions: ["v1"],
            },
          },
        },
      ),
      "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
    ],
    [
      "reviews of no known version",
      crd(
        {},
        {
          conversion: {
            strategy: "Webhook",
            webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v7"] },
          },
        },
      ),
      'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1',
    ],
    [
      "a webhook that is not used",
      crd({}, { conversion: { strategy: "None", webhook: { clientConfig: { url: "https://a" } } } }),
      "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
    ],
    [
      "a schema that is not structural",
      crd({}, { versions: [version("v1", { schema: { openAPIV3Schema: { properties: { a: {} } } } })] }),
      "spec.versions[0].schema.openAPIV3Schema",
    ],
    [
      "a group of the community without approval",
      { ...crd({}, { group: "x.k8s.io" }), metadata: { name: "widgets.x.k8s.io" } },
      "metadata.annotations[api-approved.kubernetes.io]: Required value",
    ],
    ["a faulty plural", { ...crd({ plural: "Widgets" }) }, 'spec.names.plural: Invalid value: "Widgets"'],
  ])("is refused with %s", async (_what, body, fault) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const { code, text } = await refusal(host.request("one", { method: "POST", url: CRDS, body }));
    expect(code).toBe(422);
    expect(text).toContain(fault);
  });

  it("is nothing to another cluster, and compiled once where two have the same", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.setUp("two");
    await withCrd(host);
    expect((await host.request("two", { url: WIDGETS })).status).toBe(404);
    await withCrd(host, crd(), "two");
    await host.request("one", { method: "POST", url: WIDGETS, body: { metadata: { name: "mine" } } });
    expect((await host.request("two", { url: WIDGETS })).body.items).toEqual([]);
    await host.request("one", { method: "DELETE", url: `${CRDS}/widgets.example.com` });
    await host.settled("one");
    expect((await host.request("two", { url: WIDGETS })).status).toBe(200);
  });
});

describe("OpenAPI of CustomResourceDefinitions", () => {
  const NAME = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

  it("has the fields of definitions, and of schemas in themselves", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const { body } = await host.request("one", { url: "/openapi/v3/apis/apiextensions.k8s.io/v1" });
    const { schemas } = body.components;
    const typeOf = (type: string) =>
      schemas[`io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.${type}`].properties;
    const status = typeOf("CustomResourceDefinitionStatus");
    expect(Object.keys(status)).toEqual(["conditions", "acceptedNames", "storedVersions"]);
    const { versions } = typeOf("CustomResourceDefinitionSpec");
    expect(versions.items.allOf[0].$ref).toMatch(/\.CustomResourceDefinitionVersion$/);
    expect(typeOf("CustomResourceValidation").openAPIV3Schema.allOf).toEqual([
      { $ref: `#/components/schemas/${NAME}` },
    ]);
    const { properties } = schemas[NAME];
    expect(properties.not.allOf).toEqual([{ $ref: `#/components/schemas/${NAME}` }]);
    expect(properties.properties.additionalProperties.allOf).toEqual([{ $ref: `#/components/schemas/${NAME}` }]);
    expect(Object.keys(properties)).toHaveLength(44);
    expect(properties["x-kubernetes-validations"].items.properties).toHaveProperty("optionalOldSelf");
    const v2 = (await host.request("one", { url: "/openapi/v2", headers: { accept: "application/json" } })).body;
    expect(v2.definitions[NAME].properties.not.$ref).toBe(`#/definitions/${NAME}`);
  });
});
