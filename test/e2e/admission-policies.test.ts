// ValidatingAdmissionPolicies inside an embedded virtual cluster, with a real kubectl. Texts are those of kube-apiserver 1.32.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let kubectl: KubectlSession;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ kubectl } = await clusters.open("demo"));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const rules = (operations = "[CREATE, UPDATE]") =>
  `{resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ${operations}, resources: [configmaps]}]}`;

const policy = (name: string, spec: string, binding = "validationActions: [Deny]") => `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ${name}}
spec:
${spec.trim().replace(/^/gm, "  ")}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: ${name}-binding}
spec:
  policyName: ${name}
${binding.replace(/^/gm, "  ")}
`;

const literal = (name: string, ...data: readonly string[]) =>
  ["create", "configmap", name, ...data.map((each) => `--from-literal=${each}`)].join(" ");

test("a policy refuses what does not hold, in every way of writing, and lets the rest through", async () => {
  const text = policy(
    "sizes",
    `
matchConstraints: ${rules()}
variables: [{name: size, expression: "has(object.data) && 'size' in object.data ? int(object.data.size) : 0"}]
validations:
  - expression: variables.size <= 5
  - expression: "!('color' in variables.data) || variables.data.color != 'red'"
    messageExpression: "'no ' + variables.data.color + ' for ' + request.userInfo.username.substring(0, 1) + ' in ' + namespaceObject.metadata.name"
    reason: Forbidden
`.replace("variables: [", 'variables: [{name: data, expression: "object.?data.orValue({})"}, '),
  );
  expect(await kubectl.run("apply -f -", text)).toMatch(/policy.*created\n.*binding.*created/);
  expect(await kubectl.fails(literal("big", "size=6"))).toContain(
    `configmaps "big" is forbidden: ValidatingAdmissionPolicy 'sizes' with binding 'sizes-binding' denied request: failed expression: variables.size <= 5`,
  );
  await kubectl.run(literal("small", "size=5"));
  expect(await kubectl.fails('patch configmap small -p {"data":{"size":"9"}}')).toContain("failed expression");
  expect(await kubectl.fails(`${literal("red", "color=red")} --dry-run=server`)).toContain(
    "denied request: no red for a in default",
  );
  const applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {size: '7'}\n";
  expect(await kubectl.fails("apply --server-side -f -", applied)).toContain("failed expression");
  // An object that cannot be judged is refused as well, with the reason.
  expect(await kubectl.fails(literal("odd", "size=many"))).toMatch(
    /expression 'variables.size <= 5' resulted in error: /,
  );
  expect(await kubectl.run("get validatingadmissionpolicies")).toMatch(
    /NAME +VALIDATIONS +PARAMKIND +AGE\nsizes +2 +<unset> /,
  );
  await kubectl.run("delete validatingadmissionpolicybinding sizes-binding");
  await kubectl.run(literal("big", "size=6"));
});

test("bindings bring parameters along, and choose what is meant", async () => {
  await kubectl.run(literal("limits", "most=2"));
  await kubectl.run("create namespace strict");
  await kubectl.run("label namespace strict strict=yes");
  const text = policy(
    "few-keys",
    `
paramKind: {apiVersion: v1, kind: ConfigMap}
matchConstraints: ${rules()}
matchConditions: [{name: not-kube, expression: "!object.metadata.name.startsWith('kube-')"}]
validations: [{expression: "size(object.data) <= int(params.data.most)", message: too many keys}]
`,
    `validationActions: [Deny]
paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
matchResources: {namespaceSelector: {matchLabels: {strict: "yes"}}}`,
  );
  await kubectl.run("apply -f -", text);
  await kubectl.run(literal("many", "a=1", "b=2", "c=3"));
  expect(await kubectl.fails(`${literal("many", "a=1", "b=2", "c=3")} -n strict`)).toContain(
    "denied request: too many keys",
  );
  await kubectl.run(`${literal("two", "a=1", "b=2")} -n strict`);
  await kubectl.run(`${literal("kube-many", "a=1", "b=2", "c=3")} -n strict`);
  await kubectl.run("delete configmap limits");
  expect(await kubectl.fails(`${literal("one", "a=1")} -n strict`)).toContain(
    "no params found for policy binding with `Deny`",
  );
  await kubectl.run("delete validatingadmissionpolicy few-keys");
  await kubectl.run(`${literal("one", "a=1")} -n strict`);
});

test("policies warn, look at deletions, and at objects of custom resources", async () => {
  const warn = policy(
    "warn",
    `matchConstraints: ${rules()}\nvalidations: [{expression: "false", message: careful}]`,
    "validationActions: [Warn, Audit]",
  );
  await kubectl.run("apply -f -", warn);
  const { code, stderr } = await kubectl(literal("warned").split(" "));
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(
      "Validation failed for ValidatingAdmissionPolicy 'warn' with binding 'warn-binding': careful",
    ),
  ]);
  const keep = policy(
    "keep",
    `matchConstraints: ${rules("[DELETE]")}\nvalidations: [{expression: "oldObject.metadata.name != 'warned'", message: it stays}]`,
  );
  await kubectl.run("apply -f -", keep);
  expect(await kubectl.fails("delete configmap warned")).toContain("denied request: it stays");
  await kubectl.run(
    "apply -f -",
    `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`,
  );
  await kubectl.run("wait --for=condition=Established crd/boats.example.com --timeout=30s");
  await kubectl.run(
    "apply -f -",
    policy(
      "boats",
      `
matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}
validations: [{expression: "object == null || object.spec.length > 0.5 && object.spec.ports.all(p, p in ['left', 'right'])"}]`,
    ),
  );
  const boat = (spec: string) => `apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: b}\nspec: ${spec}\n`;
  expect(await kubectl.fails("create -f -", boat("{length: 3, ports: [top]}"))).toContain(
    "failed expression: object == null",
  );
  await kubectl.run("create -f -", boat("{length: 3, ports: [left]}"));
});

test("an expression that does not compile is refused when it is written", async () => {
  const bad = (expression: string) =>
    kubectl.fails(
      "apply -f -",
      policy("bad", `matchConstraints: ${rules()}\nvalidations: [{expression: "${expression}"}]`),
    );
  expect(await bad("object.")).toContain("spec.validations[0].expression: Invalid value");
  expect(await bad("nothing > 1")).toContain("undeclared reference to 'nothing'");
  expect(await bad("variables.x")).toContain("undeclared reference to 'variables'");
  expect(await bad("'text'")).toContain("must evaluate to bool");
});

test("an endless expression fails its own request, and no other", async () => {
  const list = `[${Array.from({ length: 60 }, (_, index) => index).join(",")}]`;
  const nested = ["a", "b", "c", "d", "e", "f"].reduceRight((inner, name) => `${list}.all(${name}, ${inner})`, "true");
  await kubectl.run(
    "apply -f -",
    policy("slow", `matchConstraints: ${rules()}\nvalidations: [{expression: "${nested}"}]`),
  );
  expect(await kubectl.fails(literal("slow"))).toContain("cost limit exceeded");
  await kubectl.run("delete validatingadmissionpolicybinding slow-binding");
});
