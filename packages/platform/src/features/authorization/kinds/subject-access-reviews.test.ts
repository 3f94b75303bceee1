// Reviews of users for a control plane: it learns the answer, and no roles of other projects.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const RBAC_GROUP = "rbac.authorization.k8s.io";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
  for (const name of ["jane", "auditor"]) await made("users", { metadata: { name }, spec: {} });
  await made("projects", { metadata: { name: "secret" }, spec: {} });
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
  await made(`${RBAC}/namespaces/p-secret/roles`, { metadata: { name: "merger" }, rules: [rule] });
  await made(`${RBAC}/namespaces/p-secret/rolebindings`, {
    metadata: { name: "acquires-acme" },
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: "merger" },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: "jane" }],
  });
});
afterAll(() => platform[Symbol.asyncDispose]());

async function made(path: string, body: object): Promise<any> {
  const answer = await platform.send({ path, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}
const keyOf = async (spec: object): Promise<string> => (await made("ownedaccesskeys", { metadata: {}, spec })).spec.key;

async function mayJane(key?: string): Promise<any> {
  const resourceAttributes = { verb: "get", resource: "secrets", namespace: "p-secret", name: "x" };
  const answer = await platform.send({ path: REVIEWS, key, body: { spec: { user: "jane", resourceAttributes } } });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.status;
}
const MAY_ASK = { verbs: ["create"], apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"] };
const bindAuditor = async (name: string, rules: readonly object[]): Promise<void> => {
  await made(`${RBAC}/clusterroles`, { metadata: { name }, rules });
  await made(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: "auditor" }],
  });
};

it("a control plane, a key for one, and a user who may only ask get the answer without its reason", async () => {
  const demo = "namespaces/p-default/virtualclusterinstances/demo/accesskey";
  const controlPlane = (await platform.send({ path: demo })).body.accessKey;
  expect(controlPlane).toBeTypeOf("string");
  const scope = { roles: [{ role: "vcluster" }] };
  const forControlPlane = await keyOf({ user: "admin", scope });
  const auditor = await keyOf({ user: "auditor" });
  await bindAuditor("asks", [MAY_ASK]);
  for (const key of [controlPlane, forControlPlane, auditor]) expect(await mayJane(key)).toEqual({ allowed: true });
});

it("who may list the bindings of all projects learns the reason", async () => {
  const reason = expect.stringContaining('RoleBinding "acquires-acme/p-secret"');
  expect(await mayJane()).toEqual({ allowed: true, reason });
  const auditor = await keyOf({ user: "auditor" });
  const bindings = (resource: string) => ({ verbs: ["list"], apiGroups: [RBAC_GROUP], resources: [resource] });
  await bindAuditor("lists-some", [MAY_ASK, bindings("rolebindings")]);
  expect(await mayJane(auditor)).toEqual({ allowed: true });
  await bindAuditor("lists-others", [bindings("clusterrolebindings")]);
  expect(await mayJane(auditor)).toEqual({ allowed: true, reason });
});
