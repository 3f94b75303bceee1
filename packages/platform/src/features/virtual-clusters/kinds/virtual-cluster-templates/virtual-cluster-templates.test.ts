import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy, userOf } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy({
    authorizer: {
      authorize: ({ user, verb }) => ({
        verdict: user.name.startsWith("bob") && (verb === "update" || verb === "restrict") ? "no-opinion" : "allow",
        reason: "",
      }),
    },
  });
});
afterEach(async () => {
  expect(tenancy.errors).toEqual([]);
  await tenancy[Symbol.asyncDispose]();
});

const PATH = "namespaces/p-default/virtualclusterinstances";
const TEMPLATES = "virtualclustertemplates";
const MERGE = { "content-type": "application/merge-patch+json" };

const parameters = [
  { variable: "team", required: true, validation: "^[a-z]+$", invalidation: "^kube" },
  { variable: "size.count", type: "number", min: 1, max: 9, defaultValue: "3" },
  { variable: "color", options: ["red", "blue"] },
  { variable: "text", type: "multiline" },
];
const objects = [
  "apiVersion: v1",
  "kind: ConfigMap",
  'metadata: {name: "{{ .Values.team }}", namespace: default}',
  'data: {count: "{{.Values.size.count}}", color: "{{ .Values.color }}", in: "{{ .Values.example.project }}", kept: "{{ other }}"}',
].join("\n");
const template = { objects, workloads: "stored", accessPoint: { ingress: { enabled: true } } };

const make = (name: string, spec: object) => tenancy.create(TEMPLATES, { metadata: { name }, spec });
const instantiate = (name: string, spec: object, user = userOf("alice")) =>
  tenancy.create(PATH, { metadata: { name }, spec }, user);
const read = async (path: string) => (await tenancy.request({ url: `/apis/${GROUP}/v1/${path}` })).body;
const patch = async (path: string, spec: object, user = userOf("alice")) =>
  (await tenancy.request({ method: "PATCH", url: `/apis/${GROUP}/v1/${path}`, headers: MERGE, body: { spec }, user }))
    .body;
const configMap = (cluster: string, name: string) =>
  tenancy.inside(cluster, { url: `/api/v1/namespaces/default/configmaps/${name}` });

describe("an instance of a template", () => {
  it("is made from it, with its parameters and their defaults filled in", async () => {
    await make("web", { parameters, template });
    const spec = { templateRef: { name: "web" }, parameters: "team: blues\ncolor: red\nunknown: x\n" };
    await instantiate("one", spec);
    await tenancy.settled();
    const { status } = await read(`${PATH}/one`);
    expect(status).toMatchObject({ phase: "Ready", virtualCluster: { workloads: "stored" } });
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: "TemplateApplied", status: "True" }));
    const data = { count: "3", color: "red", in: "default", kept: "{{ other }}" };
    expect(await configMap("one", "blues")).toMatchObject({ status: 200, body: { data } });
  });

  it("follows the template and its own parameters, unless it is synchronized once", async () => {
    await make("web", { parameters, template });
    await instantiate("one", { templateRef: { name: "web" }, parameters: "team: blues" });
    await instantiate("once", { templateRef: { name: "web", syncOnce: true }, parameters: "team: blues" });
    await tenancy.settled();
    await patch(`${PATH}/one`, { parameters: "team: reds" });
    await patch(`${TEMPLATES}/web`, { template: { objects: objects.replace("count:", "number:") } });
    await tenancy.settled();
    expect(await configMap("one", "reds")).toMatchObject({ body: { data: { number: "3" } } });
    expect((await read(`${PATH}/once`)).status.virtualCluster.objects).toContain("count:");
  });

  it("has its patterns tried for so many steps together", async () => {
    // Each takes a while for a long value; one of them is within the limit.
    const slow = Array.from({ length: 100 }, (_, index) => ({
      variable: `p${index}`,
      defaultValue: "a".repeat(4_000),
      validation: "(a?){100}b",
    }));
    await make("slow", { parameters: slow, template: {} });
    await expect(instantiate("one", { templateRef: { name: "slow" } })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("takes too long"),
    });
  });

  it("has hundreds of parameters of one group filled in", async () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      variable: `group.p${index}`,
      defaultValue: `v${index}`,
    }));
    await make("wide", {
      parameters: many,
      template: { objects: "# {{ .Values.group.p0 }} {{ .Values.group.p499 }}" },
    });
    await instantiate("one", { templateRef: { name: "wide" } });
    await tenancy.settled();
    expect((await read(`${PATH}/one`)).status.virtualCluster.objects).toBe("# v0 v499");
  });

  it.each([
    ["", "spec.parameters.team: Required value"],
    ["team: BLUES", 'must match "^[a-z]+$"'],
    ["team: kubes", 'must not match "^kube"'],
    ["team: [a]", "must be a single value"],
    ["team: a\nsize: {count: 10}", "must be no more than 9"],
    ["team: a\nsize: {count: 0}", "must be no less than 1"],
    ["team: a\nsize: {count: many}", "must be a number"],
    ["team: a\ncolor: green", "must be one of red, blue"],
    ["- a", "must be a YAML mapping"],
    ["team: {", "spec.parameters: Invalid value"],
    ['team: a\ncolor: "red\\nkind: Secret"', "must have no line breaks"],
  ])("is refused with parameters %j", async (text, fault) => {
    await make("web", { parameters, template });
    const refused = instantiate("one", { templateRef: { name: "web" }, parameters: text });
    await expect(refused).rejects.toMatchObject({ code: 422, message: expect.stringContaining(fault) });
  });

  it("is refused with a text that takes long to read (security book 44)", async () => {
    await make("web", { parameters, template });
    for (const [text, limit] of [
      [`team: a\ntext: ${"x".repeat(8_192)}`, 8_192],
      [JSON.stringify({ team: "a", text: "x".repeat(65_536) }), 65_536],
    ] as const) {
      const refused = instantiate("one", { templateRef: { name: "web" }, parameters: text });
      const message = expect.stringContaining(`text is longer than ${limit} characters`);
      await expect(refused).rejects.toMatchObject({ code: 422, message });
    }
  });

  it("has long documents of its objects read in a thread, as short ones are here", async () => {
    const long = (name: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {text: "${"x".repeat(20_000)}"}`;
    await instantiate("one", { template: { objects: `${long("first")}\n---\n${long("second")}` } });
    await instantiate("two", { template: { objects: `${long("first")}\n---\n${long("[")}` } });
    const applied = async (name: string) =>
      (await read(`${PATH}/${name}`)).status?.conditions?.find(
        ({ type }: { type: string }) => type === "ObjectsApplied",
      );
    await expect.poll(() => applied("one")).toMatchObject({ status: "True" });
    await expect
      .poll(() => applied("two"))
      .toMatchObject({
        status: "False",
        message: expect.stringMatching(/^line 6: /),
      });
    for (const name of ["first", "second"]) expect((await configMap("one", name)).status).toBe(200);
  });

  it("is refused where the template expands beyond the size limit", async () => {
    await make("web", { parameters, template: { objects: "{{ .Values.text }}".repeat(100) } });
    const refused = instantiate("one", {
      templateRef: { name: "web" },
      parameters: JSON.stringify({ team: "a", text: "x".repeat(60_000) }),
    });
    await expect(refused).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("characters of parameters"),
    });
  });

  it("waits for a missing template, and stays unchanged when the template is deleted", async () => {
    await instantiate("early", { templateRef: { name: "web" }, parameters: "team: blues" });
    await tenancy.settled();
    expect((await read(`${PATH}/early`)).status).toMatchObject({ phase: "Pending", reason: "TemplateNotApplied" });
    await make("web", { parameters, template });
    await tenancy.settled();
    expect((await read(`${PATH}/early`)).status.phase).toBe("Ready");
    await tenancy.request({ method: "DELETE", url: `/apis/${GROUP}/v1/${TEMPLATES}/web` });
    await tenancy.settled();
    const { status } = await read(`${PATH}/early`);
    expect(status).toMatchObject({ phase: "Ready", virtualCluster: { workloads: "stored" } });
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: "TemplateApplied",
        status: "False",
        message: 'there is no VirtualClusterTemplate "web"',
      }),
    );
  });

  it("takes the newest of the versions that it allows", async () => {
    const versions = ["1.2.0", "1.10.1", "2.0.0"].map((version) => ({
      version,
      template: { objects: `# ${version}` },
    }));
    await make("web", { versions });
    const of = async (name: string, version?: string) => {
      await instantiate(name, { templateRef: { name: "web", ...(version && { version }) } });
      await tenancy.settled();
      return (await read(`${PATH}/${name}`)).status.virtualCluster?.objects;
    };
    expect(await of("a")).toBe("# 2.0.0");
    expect(await of("b", "1.x.x")).toBe("# 1.10.1");
    expect(await of("c", "1.2")).toBe("# 1.2.0");
    expect(await of("d", "3")).toBeUndefined();
  });

  it("is not changed without full permissions inside", async () => {
    await make("web", { parameters, template });
    await instantiate("one", { templateRef: { name: "web" }, parameters: "team: blues" });
    await expect(patch(`${PATH}/one`, { parameters: "team: reds" }, userOf("bob"))).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining("spec.templateRef is applied with all permissions in the virtual cluster"),
    });
  });
});

describe("a project", () => {
  const restrict = (spec: object) => patch("projects/default", spec);

  it("shows the templates that it may use, and refuses others", async () => {
    await make("web", { template });
    await make("other", { template });
    const names = async () =>
      (await read("projects/default/templates")).virtualClusterTemplates.map((each: any) => each.metadata.name);
    expect(await names()).toEqual(["other", "web"]);
    await restrict({ allowedTemplates: [{ kind: "VirtualClusterTemplate", name: "web", isDefault: true }] });
    expect(await names()).toEqual(["web"]);
    expect((await read("projects/default/templates")).defaultVirtualClusterTemplate).toBe("web");
    await expect(instantiate("one", { templateRef: { name: "other" } })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining('may not use template "other"'),
    });
  });

  it("requires a template without the verb restrict", async () => {
    await make("web", { template: { workloads: "stored" } });
    await restrict({ requireTemplate: { disabled: false } });
    const refusal = { code: 403, message: expect.stringContaining("requires a template") };
    await expect(instantiate("one", {}, userOf("bob"))).rejects.toMatchObject(refusal);
    const both = { templateRef: { name: "web" }, template: {} };
    await expect(instantiate("one", both, userOf("bob"))).rejects.toMatchObject(refusal);
    await instantiate("one", { templateRef: { name: "web" } }, userOf("bob"));
    await instantiate("two", {});
  });
});

it.each([
  [{ parameters: [{ variable: "a", validation: "(" }] }, "spec.parameters[0].validation"],
  [{ parameters: [{ variable: "a..b" }] }, "spec.parameters[0].variable"],
  [{ parameters: [{ variable: "a" }, { variable: "a" }] }, "spec.parameters[1].variable: Duplicate value"],
  [{ parameters: [{ variable: "a".repeat(254) }] }, "spec.parameters[0].variable: Too long"],
  [
    { versions: [{ version: "1.0.0", parameters: Array.from({ length: 501 }, (_, at) => ({ variable: `p${at}` })) }] },
    "spec.versions[0].parameters: Too many: 501: must have at most 500 items",
  ],
  [{ parameters: [{ variable: "__proto__" }] }, "spec.parameters[0].variable"],
  [{ parameters: [{ variable: "n" }] }, 'spec.parameters[0].variable: Invalid value: "n": YAML reads n as false'],
  [
    { parameters: [{ variable: "app.y" }] },
    'spec.parameters[0].variable: Invalid value: "app.y": YAML reads y as true',
  ],
  [{ versions: [{ version: "1.2.0", parameters: [{ variable: "010" }] }] }, "YAML reads 010 as 8"],
  [{ versions: [{ version: "1.2" }] }, "spec.versions[0].version"],
])("a template that no instance could use is refused: %j", async (spec, field) => {
  await expect(make("web", spec)).rejects.toMatchObject({ code: 422, message: expect.stringContaining(field) });
});
